//===- DeviceGroups.h - groups of devices as mesh axes ----------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include <optional>
#include <vector>

namespace spmdc::stablehlo {

/// The axes, major to minor, over which groups of device numbers extend: the devices of a group differ in their
/// coordinates along these axes alone, and are in their order. Each device of the mesh is in one group. Nullopt if the
/// groups are not of this form.
std::optional<std::vector<std::string>> findGroupAxes(const spmd::MeshShape &mesh,
                                                      llvm::ArrayRef<std::vector<int64_t>> groups);

/// Pairs (source, target) of positions over some axes.
struct AxisPairs {
  std::vector<std::string> axes;
  std::vector<int64_t> pairs; ///< source, target, source, target, ...
};

/// Pairs of device numbers as pairs of positions along the fewest axes, the same for all coordinates along the others.
/// Nullopt if a number is not one of a device.
std::optional<AxisPairs> findPairAxes(const spmd::MeshShape &mesh, llvm::ArrayRef<std::pair<int64_t, int64_t>> pairs);

} // namespace spmdc::stablehlo
