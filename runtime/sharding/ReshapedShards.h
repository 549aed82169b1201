//===- ReshapedShards.h - shards of one array in two shapes -----*- C++ -*-===//
//
// A reshape keeps the order of elements. A device's shards in the two shapes are therefore runs of consecutive
// elements, and comparing the runs gives the elements that the shards share:
//
//   f32[3, 8@a], a=4, device 1    elements 2 3, 10 11 and 18 19
//   f32[24@a], device 1           elements 6 to 11: the device holds two of them
//
// That holds for each group of dimensions with as many elements in both shapes. From f32[6, 4] to f32[3, 2, 4] the
// groups are 6 -> 3, 2 and 4 -> 4.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include <algorithm>

namespace spmd {

/// Dimensions [sourceBegin, sourceEnd) of the source shape and [targetBegin, targetEnd) of the target shape.
struct ReshapedDims {
  size_t sourceBegin = 0, sourceEnd = 0, targetBegin = 0, targetEnd = 0;
};

/// Splits the dimensions of two shapes of equal, non-zero element counts into groups that are as small as possible.
std::vector<ReshapedDims> groupReshapedDims(const std::vector<int64_t> &source, const std::vector<int64_t> &target);

/// Elements that are consecutive both in the row-major order of some dimensions and in a device's shard of them.
struct ShardRun {
  int64_t start = 0; ///< Index among all elements of the dimensions.
  int64_t place = 0; ///< Index in the shard, which is padded.
  int64_t size = 0;
};

/// Returns the runs of dimensions [begin, end) that the device at these mesh coordinates (one per axis) owns, in order.
std::vector<ShardRun> listRuns(const MeshShape &mesh, const ShardedShape &array, size_t begin, size_t end,
                               const std::vector<int64_t> &coordinates);

/// Returns an upper bound of the number of runs per device.
int64_t countRuns(const MeshShape &mesh, const ShardedShape &array, size_t begin, size_t end);

/// Calls visit(index in the source shard, index in the target shard, size) for all elements that two shards share.
template <typename Visit>
void forEachOverlap(const std::vector<ShardRun> &source, const std::vector<ShardRun> &target, Visit &&visit) {
  for (size_t i = 0, j = 0; i < source.size() && j < target.size();) {
    const ShardRun &from = source[i], &to = target[j];
    int64_t begin = std::max(from.start, to.start);
    int64_t fromEnd = from.start + from.size, toEnd = to.start + to.size, end = std::min(fromEnd, toEnd);
    if (begin < end)
      visit(from.place + begin - from.start, to.place + begin - to.start, end - begin);
    i += fromEnd <= toEnd;
    j += toEnd <= fromEnd;
  }
}

} // namespace spmd
