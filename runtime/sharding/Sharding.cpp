//===- Sharding.cpp - meshes, shardings, and owned ranges -----------------===//

#include "runtime/sharding/Sharding.h"

#include <algorithm>

namespace spmd {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

int64_t MeshShape::deviceCount() const {
  int64_t count = 1;
  for (const MeshAxis &axis : axes)
    count *= axis.size;
  return count;
}

int MeshShape::indexOf(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return static_cast<int>(i);
  return -1;
}

std::vector<int64_t> MeshShape::coordinates(int64_t device) const {
  std::vector<int64_t> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = device % axes[i].size;
    device /= axes[i].size;
  }
  return result;
}

int64_t MeshShape::deviceAt(const std::vector<int64_t> &coordinates) const {
  int64_t device = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    device = device * axes[i].size + coordinates[i];
  return device;
}

int64_t AxisRef::sizeIn(const MeshShape &mesh) const {
  if (!isFullAxis())
    return size;
  int index = mesh.indexOf(name);
  return index < 0 ? 1 : mesh.axes[index].size;
}

int64_t AxisRef::coordinateIn(const MeshShape &mesh, const std::vector<int64_t> &coordinates) const {
  int index = mesh.indexOf(name);
  if (index < 0)
    return 0;
  if (isFullAxis())
    return coordinates[index];
  int64_t minor = mesh.axes[index].size / (preSize * size);
  return coordinates[index] / minor % size;
}

std::string AxisRef::str() const {
  if (isFullAxis())
    return name;
  return name + ":(" + std::to_string(preSize) + ")" + std::to_string(size);
}

std::string quotedNames(const std::vector<AxisRef> &axes) {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "'" : ", '") + axis.str() + "'";
  return text;
}

std::string Sharding::str() const {
  size_t last = dims.size();
  while (last > 0 && dims[last - 1].empty())
    --last;
  // P(a, _) of a matrix keeps one `_`, so that the rank is visible.
  if (last > 0)
    last = dims.size();
  std::string text = "P(";
  for (size_t d = 0; d < last; ++d) {
    if (d)
      text += ", ";
    const auto &axes = dims[d];
    if (axes.empty()) {
      text += "_";
    } else if (axes.size() == 1) {
      text += axes[0].str();
    } else {
      text += "(";
      for (size_t i = 0; i < axes.size(); ++i)
        text += (i ? ", " : "") + axes[i].str();
      text += ")";
    }
  }
  text += ")";
  if (!unreduced.empty()) {
    text += " unreduced(";
    for (size_t i = 0; i < unreduced.size(); ++i)
      text += (i ? ", " : "") + unreduced[i].str();
    text += ")";
  }
  return text;
}

bool Sharding::isFullyReplicated() const {
  return unreduced.empty() && std::all_of(dims.begin(), dims.end(), [](const auto &axes) { return axes.empty(); });
}

int64_t localDimSize(int64_t n, const std::vector<int64_t> &axisSizes) {
  for (int64_t size : axisSizes)
    n = ceilDiv(n, size);
  return n;
}

ShardRange shardRange(int64_t n, const std::vector<int64_t> &axisSizes, const std::vector<int64_t> &coordinates) {
  int64_t start = 0, owned = n, piece = n;
  for (size_t i = 0; i < axisSizes.size(); ++i) {
    piece = ceilDiv(piece, axisSizes[i]);
    int64_t offset = coordinates[i] * piece;
    int64_t available = std::max<int64_t>(0, owned - offset);
    start += std::min(offset, owned);
    owned = std::min(piece, available);
  }
  return {start, owned};
}

std::vector<int64_t> sizesOf(const MeshShape &mesh, const std::vector<AxisRef> &axes) {
  std::vector<int64_t> sizes;
  for (const AxisRef &axis : axes)
    sizes.push_back(axis.sizeIn(mesh));
  return sizes;
}

std::vector<int64_t> localShape(const MeshShape &mesh, const std::vector<int64_t> &globalShape,
                                const Sharding &sharding) {
  std::vector<int64_t> result = globalShape;
  for (size_t d = 0; d < result.size() && d < sharding.dims.size(); ++d)
    result[d] = localDimSize(result[d], sizesOf(mesh, sharding.dims[d]));
  return result;
}

ShardRange ownedRange(const MeshShape &mesh, int64_t n, const std::vector<AxisRef> &axes,
                      const std::vector<int64_t> &coordinates) {
  std::vector<int64_t> positions;
  for (const AxisRef &axis : axes)
    positions.push_back(axis.coordinateIn(mesh, coordinates));
  return shardRange(n, sizesOf(mesh, axes), positions);
}

std::vector<ShardRange> ownedRanges(const MeshShape &mesh, const std::vector<int64_t> &globalShape,
                                    const Sharding &sharding, int64_t device) {
  std::vector<int64_t> coordinates = mesh.coordinates(device);
  std::vector<ShardRange> result;
  for (size_t d = 0; d < globalShape.size(); ++d)
    result.push_back(ownedRange(mesh, globalShape[d],
                                d < sharding.dims.size() ? sharding.dims[d] : std::vector<AxisRef>(), coordinates));
  return result;
}

std::vector<int64_t> groupOf(const MeshShape &mesh, const std::vector<AxisRef> &axes, int64_t device) {
  std::vector<int64_t> sizes = sizesOf(mesh, axes);
  std::vector<int64_t> base = mesh.coordinates(device);
  // Clear this device's position along the axes, then count through all positions, the first axis major.
  std::vector<int64_t> strides(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    int index = mesh.indexOf(axes[i].name);
    if (index < 0)
      continue;
    strides[i] = axes[i].isFullAxis() ? 1 : mesh.axes[index].size / (axes[i].preSize * axes[i].size);
    base[index] -= axes[i].coordinateIn(mesh, base) * strides[i];
  }
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  std::vector<int64_t> group;
  for (int64_t position = 0; position < count; ++position) {
    std::vector<int64_t> coordinates = base;
    int64_t rest = position;
    for (size_t i = axes.size(); i-- > 0;) {
      int index = mesh.indexOf(axes[i].name);
      if (index >= 0)
        coordinates[index] += rest % sizes[i] * strides[i];
      rest /= sizes[i];
    }
    group.push_back(mesh.deviceAt(coordinates));
  }
  return group;
}

} // namespace spmd
