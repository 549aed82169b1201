//===- LowMemory.h - memory before time -------------------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace spmdc {

/// Attribute of a module that would exceed its memory budget without it. The partitioner then prefers memory to time:
/// it does not gather an array before a loop of which each iteration reads a part.
inline constexpr llvm::StringLiteral kLowMemoryAttrName = "spmd.low_memory";

} // namespace spmdc
