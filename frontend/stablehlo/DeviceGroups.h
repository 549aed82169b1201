//===- DeviceGroups.h - groups of devices as mesh axes ----------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include <optional>
#include <vector>

namespace spmdc::stablehlo {

using DeviceList = std::vector<int64_t>;

/// The axes and parts of axes, major to minor, over which groups of device numbers extend: the devices of a group
/// differ in their coordinates along these axes alone, and are in their order. Each device of the mesh is in one group.
/// Nullopt if the groups are not of this form.
///
///   mesh a=8: [[0, 1, 2, 3], [4, 5, 6, 7]] is a:(2)4, [[0, 4], [1, 5], [2, 6], [3, 7]] is a:(1)2.
std::optional<std::vector<spmd::AxisRef>> findGroupAxes(const spmd::MeshShape &mesh, llvm::ArrayRef<DeviceList> groups);

/// Groups of positions over some axes, which are the same for all coordinates along the other axes.
struct AxisGroups {
  std::vector<std::string> axes;
  std::vector<DeviceList> groups;
};

/// Groups of device numbers as groups of positions along the fewest axes. Groups may have any sizes, and leave out
/// devices. Nullopt if a number is not one of a device, or occurs twice.
std::optional<AxisGroups> findAxisGroups(const spmd::MeshShape &mesh, llvm::ArrayRef<DeviceList> groups);

/// Pairs (source, target) of positions over some axes.
struct AxisPairs {
  std::vector<std::string> axes;
  std::vector<int64_t> pairs; ///< source, target, source, target, ...
};

/// Pairs of device numbers as pairs of positions along the fewest axes, the same for all coordinates along the others.
/// Nullopt if a number is not one of a device.
std::optional<AxisPairs> findPairAxes(const spmd::MeshShape &mesh, llvm::ArrayRef<std::pair<int64_t, int64_t>> pairs);

} // namespace spmdc::stablehlo
