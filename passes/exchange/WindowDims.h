//===- WindowDims.h - windows along one dimension ---------------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <vector>

namespace spmdc {

/// How a dimension is sharded: shards of at most `shard` elements each.
struct ShardedDim {
  int64_t size = 0, shard = 0;
  std::vector<spmd::ShardRange> shards;
};

/// The range of each shard of a dimension that is sharded over axes of these sizes.
std::vector<spmd::ShardRange> listShardRanges(int64_t size, const std::vector<int64_t> &axisSizes);

ShardedDim getShardedDim(const spmd::MeshShape &mesh, ArrayType type, int64_t dim);

/// One dimension of an array of which each device reads a window, elements `stride` apart, to compute its shard of a
/// result. Windows begin where the shards of the result begin; an element of the result advances `step` elements of the
/// array.
struct WindowDim {
  /// Elements `begin` to `end - 1`; empty if `begin >= end`.
  struct Range {
    int64_t begin = 0, end = 0;
    bool isEmpty() const { return begin >= end; }
  };

  int64_t stride = 1;
  int64_t step = 0; ///< 0 if the result is not sharded.
  ShardedDim result;
  bool wraps = false;        ///< Indices are modulo the size of the array: its first element follows the last one.
  std::vector<Range> ranges; ///< The range that each shard of the result reads; at least one is not empty.

  int64_t getNumShards() const { return static_cast<int64_t>(ranges.size()); }
  /// The distance of the window of `shard` from the first window.
  int64_t getOffset(int64_t shard) const { return result.shards[shard].start * step; }

  /// The array's index of the first position of the first window; may be outside of the array.
  int64_t getFirst() const;
  /// Elements of a window.
  int64_t getLength() const;
  /// The move from the array to all windows, concatenated. Elements before the first one that any device reads, and
  /// after the last one, are not moved.
  spmd::DimMove getMove() const;

  /// Whether both can become one window: the windows of both start at the same distances from one another.
  bool canMerge(const WindowDim &other) const;
  /// Whether each shard of this result that reads elements begins at the same element of the array as the same shard of
  /// `other.result`.
  bool canFollowShardsOf(const WindowDim &other) const;
  /// Extends the windows so that they contain those of `other`.
  void add(const WindowDim &other);
};

} // namespace spmdc
