//===- LowMemory.h - memory comes before time -----------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace spmdc {

/// Set on a module whose devices are to hold as little as they can, since a budget of memory is exceeded otherwise: an
/// array of which the iterations of a loop read parts is then not held in front of the loop as more than its shard.
inline constexpr llvm::StringLiteral kLowMemoryAttrName = "spmd.holds_little";

} // namespace spmdc
