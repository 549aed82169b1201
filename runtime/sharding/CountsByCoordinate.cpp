//===- CountsByCoordinate.cpp - counts of elements by mesh coordinates -----------===//

#include "runtime/sharding/CountsByCoordinate.h"

#include <algorithm>
#include <numeric>

namespace spmd {

/// Groups the indices of lists of axes: lists that share an axis, directly or through others, are in one group.
static std::vector<std::vector<size_t>> groupByAxes(const std::vector<std::vector<size_t>> &lists) {
  std::vector<size_t> groupOf(lists.size());
  std::iota(groupOf.begin(), groupOf.end(), 0);
  for (size_t d = 0; d < lists.size(); ++d)
    for (size_t e = 0; e < d; ++e) {
      const std::vector<size_t> &one = lists[d], &other = lists[e];
      bool share = std::find_first_of(one.begin(), one.end(), other.begin(), other.end()) != one.end();
      size_t old = groupOf[e];
      if (share)
        std::replace(groupOf.begin(), groupOf.end(), old, groupOf[d]);
    }
  std::vector<std::vector<size_t>> groups;
  for (size_t group = 0; group < lists.size(); ++group) {
    std::vector<size_t> members;
    for (size_t d = 0; d < lists.size(); ++d)
      if (groupOf[d] == group)
        members.push_back(d);
    if (!members.empty())
      groups.push_back(members);
  }
  return groups;
}

Counts sumOfProducts(const MeshShape &mesh, const std::vector<CountsByCoordinate> &parts) {
  std::vector<std::vector<size_t>> strides; ///< For each part, the stride of each mesh axis in `places`.
  std::vector<size_t> allAxes;
  for (const CountsByCoordinate &part : parts) {
    std::vector<size_t> &ofPart = strides.emplace_back(mesh.axes.size());
    size_t stride = 1;
    for (size_t i = part.axes.size(); i-- > 0; stride *= static_cast<size_t>(mesh.axes[part.axes[i]].size)) {
      ofPart[part.axes[i]] = stride;
      if (std::find(allAxes.begin(), allAxes.end(), part.axes[i]) == allAxes.end())
        allAxes.push_back(part.axes[i]);
    }
  }
  Counts sum;
  forEachCoordinates(mesh, allAxes, [&](const std::vector<int64_t> &coordinates) {
    Counts here{1, 1};
    for (size_t i = 0; i < parts.size(); ++i) {
      size_t at = 0;
      for (size_t axis : allAxes)
        at += strides[i][axis] * static_cast<size_t>(coordinates[axis]);
      here.needed *= parts[i].places[at].needed;
      here.held *= parts[i].places[at].held;
    }
    sum.needed += here.needed;
    sum.held += here.held;
  });
  return sum;
}

double countMissing(const MeshShape &mesh, const std::vector<std::vector<size_t>> &axesOfParts,
                    const std::function<Counts(const std::vector<size_t> &)> &countOf) {
  // Parts without a common axis are independent, so the sum over devices of a product is a product of sums.
  double needed = 1, held = 1;
  std::vector<bool> isCounted(mesh.axes.size());
  for (const std::vector<size_t> &parts : groupByAxes(axesOfParts)) {
    Counts counts = countOf(parts);
    needed *= counts.needed;
    held *= counts.held;
    for (size_t part : parts)
      for (size_t axis : axesOfParts[part])
        isCounted[axis] = true;
  }
  double replicas = 1;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (!isCounted[i])
      replicas *= static_cast<double>(mesh.axes[i].size);
  return replicas * (needed - held);
}

} // namespace spmd
