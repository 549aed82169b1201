//===- LowMemory.h - memory before time -------------------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace spmdc {

/// Attribute of a module that exceeds its memory budget otherwise. The partitioner then prefers memory to time: an
/// array of which the iterations of a loop read parts is not held in front of the loop as more than its shard.
inline constexpr llvm::StringLiteral kLowMemoryAttrName = "spmd.holds_little";

} // namespace spmdc
