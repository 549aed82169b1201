//===- OpCost.h - costs of operations in a kernel ---------------*- C++ -*-===//
//
// One unit is about a vectorised addition of one element. The figures decide which operations are fused, kept and
// computed again; only their order of magnitude matters.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Cost of one element of this value, given its operands. `isLoad`: it is read from memory.
double getOpCost(mlir::Value value, bool isLoad);
/// Cost of writing one element of this value.
double getStoreCost(mlir::Value value);

/// Cost of a kernel launch.
inline constexpr double kLaunchCost = 3000;
/// The least work that is worth a further thread.
inline constexpr double kGrainWork = 40000;
/// A value of at least this cost is kept for later stages rather than computed again.
inline constexpr double kCacheCost = 4;
/// Cost of a stage-local cache for each element and stage.
inline constexpr double kCacheTraffic = 1;

} // namespace spmdc
