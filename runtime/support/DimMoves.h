//===- DimMoves.h - arrays that are made of the elements of others -*- C++ -*-===//
//
// What an exchange does along each dimension, and what follows from that for the devices of a mesh. Devices are counted
// by the axes that matter to a dimension, never one by one: a mesh may have very many.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Sharding.h"

#include <optional>

namespace spmd {

/// How a dimension of one array is made of a dimension of another: its element i is the other's element
/// shift + i * stride, where begin <= i < end and there is one; zero elsewhere. A negative stride goes backwards.
///
/// With a `length` each device's piece of the target is a window of so many elements, and windows may overlap: element
/// j of window w, which is element i = w * length + j, is the other's element shift + w * step + j * stride.
struct DimMove {
  int64_t shift = 0, stride = 1;
  int64_t begin = 0, end = 0;
  int64_t length = 0, step = 0;
  bool operator==(const DimMove &) const = default;

  /// Which element of the other it is, if there is one.
  int64_t sourceOf(int64_t i) const {
    return length == 0 ? shift + i * stride : shift + i / length * step + i % length * stride;
  }
  /// The same for the elements of the window that element i is in, as if there were no others.
  DimMove inWindowOf(int64_t i) const;
};

/// Which elements of the target, of those it owns (in one window), come from a range of the source.
ShardRange movedRange(const DimMove &move, const ShardRange &source, const ShardRange &target);

/// A sharded array.
struct ShardedShape {
  std::vector<int64_t> shape;
  Sharding sharding;
};

/// How many elements of the target the devices together do not hold as elements of the source. Without moves the target
/// is the source under another sharding.
double missingElements(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                       const std::vector<DimMove> &moves = {});

/// Where in its own piece of the source each device finds its whole piece of the target, padding included, if that is
/// the same for all devices: the first element, for each dimension.
std::optional<std::vector<int64_t>> getLocalStarts(const MeshShape &mesh, const ShardedShape &source,
                                                   const ShardedShape &target, const std::vector<DimMove> &moves);

} // namespace spmd
