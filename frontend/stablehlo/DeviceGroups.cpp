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

/// Whether each device of the mesh, or at most each, is in one group.
static bool areDisjoint(int64_t devices, llvm::ArrayRef<DeviceList> groups, bool mustCover) {
  std::set<int64_t> seen;
  for (const DeviceList &group : groups)
    for (int64_t device : group)
      if (device < 0 || device >= devices || !seen.insert(device).second)
        return false;
  return !mustCover || static_cast<int64_t>(seen.size()) == devices;
}

/// `count` numbers that are `stride` apart as axes, which are added to `axes`, minor to major: parts of an axis of this
/// stride, and of the more major axes if the numbers go on there. False if they are no parts of axes.
static bool addAxes(const spmd::MeshShape &mesh, int64_t stride, int64_t count, std::vector<spmd::AxisRef> &axes) {
  int64_t behind = 1; // The product of the sizes of the axes behind this one: the distance of its neighbours.
  for (size_t i = mesh.axes.size(); i-- > 0 && count > 1; behind *= mesh.axes[i].size) {
    int64_t size = mesh.axes[i].size;
    if (stride >= behind * size)
      continue;
    int64_t inner = stride / behind; // The part of the axis that is more minor than these numbers.
    if (stride % behind || size % inner)
      return false;
    int64_t taken = std::min(count, size / inner);
    if (count % taken || size / inner % taken)
      return false;
    bool isFull = taken == size;
    axes.push_back({mesh.axes[i].name, isFull ? 1 : size / (inner * taken), isFull ? 0 : taken});
    count /= taken;
    stride = behind * size;
  }
  return count == 1;
}

std::optional<std::vector<spmd::AxisRef>> findGroupAxes(const spmd::MeshShape &mesh,
                                                        llvm::ArrayRef<DeviceList> groups) {
  if (groups.empty() || groups.front().empty() || !areDisjoint(countDevices(mesh), groups, /*mustCover=*/true))
    return std::nullopt;
  // The numbers of a group, less the first one, are 0, s, 2 s, ... up to a multiple that breaks the rule: the same
  // again from there, and so on.
  const DeviceList &first = groups.front();
  std::vector<spmd::AxisRef> axes;
  for (size_t block = 1; block < first.size();) {
    int64_t stride = first[block] - first[0];
    size_t count = 2;
    while (count * block < first.size() && first[count * block] == first[0] + static_cast<int64_t>(count) * stride)
      ++count;
    if (stride <= 0 || !addAxes(mesh, stride, static_cast<int64_t>(count), axes))
      return std::nullopt;
    block *= count;
  }
  std::reverse(axes.begin(), axes.end());
  for (const DeviceList &group : groups)
    if (group.empty() || spmd::groupOf(mesh, axes, group.front()) != group)
      return std::nullopt;
  return axes;
}

std::optional<AxisGroups> findAxisGroups(const spmd::MeshShape &mesh, llvm::ArrayRef<DeviceList> groups) {
  if (!areDisjoint(countDevices(mesh), groups, /*mustCover=*/false))
    return std::nullopt;
  std::vector<size_t> all, changed;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    all.push_back(axis);
    if (llvm::any_of(groups, [&](const DeviceList &group) {
          return llvm::any_of(group, [&](int64_t device) {
            return coordinatesOf(mesh, device)[axis] != coordinatesOf(mesh, group.front())[axis];
          });
        }))
      changed.push_back(axis);
  }
  // Every device along the other axes must have the same groups.
  auto along = [&](llvm::ArrayRef<size_t> axes) {
    std::map<DeviceList, int64_t> counts;
    for (const DeviceList &group : groups) {
      DeviceList positions;
      for (int64_t device : group)
        positions.push_back(positionOf(mesh, axes, coordinatesOf(mesh, device)));
      ++counts[positions];
    }
    return counts;
  };
  int64_t others = countDevices(mesh);
  for (size_t axis : changed)
    others /= mesh.axes[axis].size;
  bool isAlike = llvm::all_of(along(changed), [&](const auto &group) { return group.second == others; });
  AxisGroups result;
  for (size_t axis : isAlike ? changed : all)
    result.axes.push_back(mesh.axes[axis].name);
  for (const auto &[group, count] : along(isAlike ? changed : all))
    result.groups.push_back(group);
  return result;
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
