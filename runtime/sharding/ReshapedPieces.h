//===- ReshapedPieces.h - pieces of one array in two shapes -----*- C++ -*-===//
//
// A reshape keeps the order of elements, so what a device has of one shape and wants of another are runs of elements,
// that can be laid side by side:
//
//   f32[3, 8@a], a=4, device 1    elements 2 3, 10 11 and 18 19
//   f32[24@a], device 1           elements 6 to 11: two of them it has
//
// That is so for each group of dimensions that have as many elements together in both shapes. f32[6, 4] as f32[3, 2, 4]
// is a 6 that becomes 3 and 2, and a 4 that stays.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include <algorithm>

namespace spmd {

/// Dimensions begin to end - 1 of each shape.
struct ReshapedDims {
  size_t sourceBegin = 0, sourceEnd = 0, targetBegin = 0, targetEnd = 0;
};

/// All dimensions of two shapes that have as many elements, and not none, in groups as small as possible.
std::vector<ReshapedDims> groupReshapedDims(const std::vector<int64_t> &source, const std::vector<int64_t> &target);

/// Elements that follow one another in the row-major order of some dimensions, and in a device's piece of them.
struct PieceRun {
  int64_t start = 0; ///< Among all elements.
  int64_t place = 0; ///< In the piece, which is padded.
  int64_t size = 0;
};

/// What a place in the mesh (a coordinate for each axis) owns of dimensions begin to end - 1, in order.
std::vector<PieceRun> listRuns(const MeshShape &mesh, const ShardedShape &array, size_t begin, size_t end,
                               const std::vector<int64_t> &coordinates);

/// No device has more runs of these dimensions.
int64_t countRuns(const MeshShape &mesh, const ShardedShape &array, size_t begin, size_t end);

/// Calls visit(place in the source's piece, place in the target's, size) for all that two pieces have in common.
template <typename Visit>
void forEachOverlap(const std::vector<PieceRun> &source, const std::vector<PieceRun> &target, Visit &&visit) {
  for (size_t i = 0, j = 0; i < source.size() && j < target.size();) {
    const PieceRun &from = source[i], &to = target[j];
    int64_t begin = std::max(from.start, to.start);
    int64_t fromEnd = from.start + from.size, toEnd = to.start + to.size, end = std::min(fromEnd, toEnd);
    if (begin < end)
      visit(from.place + begin - from.start, to.place + begin - to.start, end - begin);
    i += fromEnd <= toEnd;
    j += toEnd <= fromEnd;
  }
}

} // namespace spmd
