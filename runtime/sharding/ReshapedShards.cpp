//===- ReshapedShards.cpp - shards of one array in two shapes -------------===//

#include "runtime/sharding/ReshapedShards.h"

#include "runtime/sharding/MeshCoordinates.h"

namespace spmd {

std::vector<ReshapedDims> groupReshapedDims(const std::vector<int64_t> &source, const std::vector<int64_t> &target) {
  std::vector<ReshapedDims> groups;
  for (size_t i = 0, j = 0; i < source.size() || j < target.size();) {
    ReshapedDims group{i, i, j, j};
    int64_t in = i < source.size() ? source[i++] : 1, out = j < target.size() ? target[j++] : 1;
    while (in != out)
      in < out ? in *= source[i++] : out *= target[j++];
    group.sourceEnd = i;
    group.targetEnd = j;
    groups.push_back(group);
  }
  return groups;
}

std::vector<ShardRun> listRuns(const MeshShape &mesh, const ShardedShape &array, size_t begin, size_t end,
                               const std::vector<int64_t> &coordinates) {
  std::vector<ShardRange> ranges;
  std::vector<int64_t> local;
  for (size_t d = begin; d < end; ++d) {
    ranges.push_back(ownedRange(mesh, array.shape[d], axesOf(array, d), coordinates));
    local.push_back(localDimSize(array.shape[d], sizesOf(mesh, axesOf(array, d))));
    if (ranges.back().size == 0)
      return {};
  }
  // A run covers the inner dimensions that the shard has in full size, and extends along the dimension before them.
  size_t rank = ranges.size(), outer = rank;
  ShardRun run{0, 0, 1};
  int64_t stride = 1, localStride = 1;
  std::vector<int64_t> strides(rank), localStrides(rank), index(rank);
  for (size_t d = rank; d-- > 0;) {
    int64_t size = array.shape[begin + d];
    if (outer == d + 1 && run.size == stride && stride == localStride) {
      run.size *= ranges[d].size;
      outer = d;
    }
    run.start += ranges[d].start * stride;
    strides[d] = stride;
    localStrides[d] = localStride;
    stride *= size;
    localStride *= local[d];
  }
  std::vector<ShardRun> runs;
  while (true) {
    runs.push_back(run);
    size_t d = outer;
    for (; d > 0; --d) {
      run.start += strides[d - 1];
      run.place += localStrides[d - 1];
      if (++index[d - 1] < ranges[d - 1].size)
        break;
      run.start -= index[d - 1] * strides[d - 1];
      run.place -= index[d - 1] * localStrides[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0)
      return runs;
  }
}

int64_t countRuns(const MeshShape &mesh, const ShardedShape &array, size_t begin, size_t end) {
  int64_t runs = 1, outer = 1;
  for (size_t d = begin; d < end; ++d) {
    int64_t local = localDimSize(array.shape[d], sizesOf(mesh, axesOf(array, d)));
    if (local != array.shape[d])
      runs = outer;
    outer *= local;
  }
  return runs;
}

} // namespace spmd
