//===- DeviceGroups.cpp - groups of devices as mesh axes ------------------===//

#include "frontend/stablehlo/DeviceGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace spmdc::stablehlo {

static int64_t countDevices(const spmd::MeshShape &mesh) {
  int64_t count = 1;
  for (const spmd::MeshAxis &axis : mesh.axes)
    count *= axis.size;
  return count;
}

/// The coordinates of a device, one for each axis.
static std::vector<int64_t> coordinatesOf(const spmd::MeshShape &mesh, int64_t device) {
  std::vector<int64_t> coordinates(mesh.axes.size());
  for (size_t axis = mesh.axes.size(); axis-- > 0;) {
    coordinates[axis] = device % mesh.axes[axis].size;
    device /= mesh.axes[axis].size;
  }
  return coordinates;
}

/// The position along axes of these numbers.
static int64_t positionOf(const spmd::MeshShape &mesh, llvm::ArrayRef<size_t> axes,
                          llvm::ArrayRef<int64_t> coordinates) {
  int64_t position = 0;
  for (size_t axis : axes)
    position = position * mesh.axes[axis].size + coordinates[axis];
  return position;
}

std::optional<std::vector<std::string>> findGroupAxes(const spmd::MeshShape &mesh,
                                                      llvm::ArrayRef<std::vector<int64_t>> groups) {
  int64_t devices = countDevices(mesh);
  std::set<int64_t> seen;
  for (const std::vector<int64_t> &group : groups)
    for (int64_t device : group)
      if (device < 0 || device >= devices || !seen.insert(device).second)
        return std::nullopt;
  if (groups.empty() || static_cast<int64_t>(seen.size()) != devices)
    return std::nullopt;
  // In the first group, an axis begins to change at the position that is the product of the sizes of the axes behind
  // it: the later, the more major.
  std::vector<int64_t> first = coordinatesOf(mesh, groups.front().front());
  std::map<size_t, size_t, std::greater<>> axesByChange;
  std::set<size_t> known;
  for (auto [position, device] : llvm::enumerate(groups.front()))
    for (auto [axis, coordinate] : llvm::enumerate(coordinatesOf(mesh, device)))
      if (coordinate != first[axis] && known.insert(axis).second)
        axesByChange[position] = axis;
  std::vector<size_t> axes;
  for (auto [position, axis] : axesByChange)
    axes.push_back(axis);
  for (const std::vector<int64_t> &group : groups) {
    if (group.size() != groups.front().size())
      return std::nullopt;
    std::vector<int64_t> start = coordinatesOf(mesh, group.front());
    for (auto [position, device] : llvm::enumerate(group)) {
      std::vector<int64_t> coordinates = coordinatesOf(mesh, device);
      if (positionOf(mesh, axes, coordinates) != static_cast<int64_t>(position))
        return std::nullopt;
      for (auto [axis, coordinate] : llvm::enumerate(coordinates))
        if (!llvm::is_contained(axes, axis) && coordinate != start[axis])
          return std::nullopt;
    }
  }
  std::vector<std::string> names;
  int64_t size = 1;
  for (size_t axis : axes) {
    names.push_back(mesh.axes[axis].name);
    size *= mesh.axes[axis].size;
  }
  return size == static_cast<int64_t>(groups.front().size()) ? std::optional(names) : std::nullopt;
}

std::optional<AxisPairs> findPairAxes(const spmd::MeshShape &mesh, llvm::ArrayRef<std::pair<int64_t, int64_t>> pairs) {
  int64_t devices = countDevices(mesh);
  std::set<size_t> changed;
  for (auto [source, target] : pairs) {
    if (source < 0 || source >= devices || target < 0 || target >= devices)
      return std::nullopt;
    std::vector<int64_t> from = coordinatesOf(mesh, source), to = coordinatesOf(mesh, target);
    for (size_t axis = 0; axis < from.size(); ++axis)
      if (from[axis] != to[axis])
        changed.insert(axis);
  }
  auto along = [&](const std::vector<size_t> &axes) {
    std::map<std::pair<int64_t, int64_t>, int64_t> counts;
    for (auto [source, target] : pairs)
      ++counts[{positionOf(mesh, axes, coordinatesOf(mesh, source)),
                positionOf(mesh, axes, coordinatesOf(mesh, target))}];
    return counts;
  };
  std::vector<size_t> axes(changed.begin(), changed.end()), all(mesh.axes.size());
  int64_t size = 1;
  for (size_t axis : axes)
    size *= mesh.axes[axis].size;
  // Every device along the other axes must take part alike.
  for (auto [pair, count] : along(axes))
    if (count != devices / size)
      axes.assign(llvm::seq<size_t>(0, all.size()).begin(), llvm::seq<size_t>(0, all.size()).end());
  AxisPairs result;
  for (size_t axis : axes)
    result.axes.push_back(mesh.axes[axis].name);
  for (auto [pair, count] : along(axes)) {
    result.pairs.push_back(pair.first);
    result.pairs.push_back(pair.second);
  }
  return result;
}

} // namespace spmdc::stablehlo
