//===- OpCost.h - what operations cost in a kernel --------------*- C++ -*-===//
//
// One unit is about a vectorised addition of one element. The figures decide what is fused, kept and computed again;
// only their order of magnitude matters.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// One element of this value, given its operands. `isLoad`: it is read from memory.
double getOpCost(mlir::Value value, bool isLoad);
/// Writing one element of this value.
double getStoreCost(mlir::Value value);

/// Starting one kernel.
inline constexpr double kLaunchCost = 3000;
/// Work that is worth giving to another thread.
inline constexpr double kGrainWork = 40000;
/// What costs at least this is kept for later stages rather than computed again,
inline constexpr double kStashCost = 4;
/// which costs this much an element and stage.
inline constexpr double kStashTraffic = 1;

} // namespace spmdc
