//===- ReshapedBoxes.cpp - boxes between shards of two shapes -------------===//

#include "runtime/collective/ReshapedBoxes.h"

#include "runtime/collective/BoxBuilder.h"
#include "runtime/sharding/ReshapedShards.h"

namespace spmd {
namespace {

/// Runs of elements of one size, equally far apart in source and target. Counted in elements.
struct RunRow {
  int64_t source = 0, target = 0, size = 0;
  int64_t count = 1, sourceStep = 0, targetStep = 0;

  bool tryAppend(int64_t nextSource, int64_t nextTarget, int64_t nextSize) {
    if (count == 1) {
      sourceStep = nextSource - source;
      targetStep = nextTarget - target;
    }
    if (nextSize != size || nextSource != source + count * sourceStep || nextTarget != target + count * targetStep)
      return false;
    ++count;
    return true;
  }
};

/// Returns the elements of a group of dimensions that two devices' shards have in common.
std::vector<RunRow> listRows(const MeshShape &mesh, const CollectiveDesc &desc, const ReshapedDims &dims, int64_t from,
                             int64_t to) {
  std::vector<RunRow> rows;
  forEachOverlap(
      listRuns(mesh, {desc.globalShape, desc.source}, dims.sourceBegin, dims.sourceEnd, mesh.coordinates(from)),
      listRuns(mesh, {desc.targetShape, desc.target}, dims.targetBegin, dims.targetEnd, mesh.coordinates(to)),
      [&](int64_t source, int64_t target, int64_t size) {
        if (rows.empty() || !rows.back().tryAppend(source, target, size))
          rows.push_back({source, target, size});
      });
  return rows;
}

/// Returns the byte stride of dimension `dim` - 1 of a row-major shape.
int64_t strideBefore(const std::vector<int64_t> &shape, size_t dim, int64_t elementBytes) {
  for (size_t d = dim; d < shape.size(); ++d)
    elementBytes *= shape[d];
  return elementBytes;
}

} // namespace

std::vector<Box> listReshapedBoxes(const MeshShape &mesh, const CollectiveDesc &desc, int64_t from, int64_t to) {
  const int64_t elementBytes = byteSize(desc.dtype);
  const std::vector<ReshapedDims> groups = groupReshapedDims(desc.globalShape, desc.targetShape);
  std::vector<std::vector<RunRow>> rows;
  for (const ReshapedDims &dims : groups)
    rows.push_back(listRows(mesh, desc, dims, from, to));
  std::vector<Box> boxes;
  BoxLoops loops;
  auto addBoxes = [&](auto &&next, size_t group, int64_t sourceOffset, int64_t targetOffset) -> void {
    if (group == groups.size()) {
      boxes.push_back(makeBox(/*peer=*/0, elementBytes, sourceOffset, targetOffset, loops));
      return;
    }
    int64_t sourceStride = strideBefore(desc.operandShape, groups[group].sourceEnd, elementBytes);
    int64_t targetStride = strideBefore(desc.resultShape, groups[group].targetEnd, elementBytes);
    const BoxLoops outer = loops;
    for (const RunRow &row : rows[group]) {
      loops.add(row.count, row.sourceStep * sourceStride, row.targetStep * targetStride);
      loops.add(row.size, sourceStride, targetStride);
      next(next, group + 1, sourceOffset + row.source * sourceStride, targetOffset + row.target * targetStride);
      loops = outer;
    }
  };
  addBoxes(addBoxes, 0, 0, 0);
  return boxes;
}

} // namespace spmd
