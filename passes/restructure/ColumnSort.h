//===- ColumnSort.h - columnsort along sharded dimensions -------*- C++ -*-===//
//
// Leighton's columnsort (Tight bounds on the complexity of parallel sorting, 1985): the shards of a sharded dimension
// are the columns of a matrix, and the destination of an element does not depend on its value. With P shards of m
// elements:
//
//   1. every device sorts its shard
//   2. and deals its elements: i goes to device i mod P                       one all_to_all
//   3. sorts the elements that it received
//   4. and sends them back: device j gets rows j, j + P, ...                  one all_to_all
//   5. sorts its shard again: elements in a wrong shard are now near its ends
//   6. and sorts the end of each shard with the start of the next             halos, there and back
//
// After 4 all elements are sorted except a run of less than P * P (by the 0-1 principle: the columns of 3 differ by
// at most P in their number of zeros). So 6 needs halos of P * P elements, and shards of twice that. Each element is
// sent about twice; a gather sends it P - 1 times, and every device sorts all elements.
//
// Elements are sent with their positions, which decide between equals, and with the other arrays that the sort takes.
// Smaller shards are padded with filler that sorts last.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/restructure/ShardedSort.h"

namespace spmdc {

/// The parameters of one columnsort.
struct ColumnSort {
  ShardedSort &shardedSort;
  int64_t shardSize = 0; ///< Elements of a shard, padding included.
  /// Whether positions are sent, too: if they are results, or if equal elements can be told apart.
  bool hasPositions = true;
  Price price = {};

  /// How many elements at the end of a shard may belong to the next one.
  int64_t getHalo() const { return shardedSort.numShards * shardedSort.numShards; }
};

/// The columnsort that replaces `shardedSort`, with its predicted price; nothing if shards would be mostly padding.
std::optional<ColumnSort> planColumnSort(ShardedSort &shardedSort, ReshardPlanner &planner);

/// Replaces the sort, and the operations that take elements by its result.
void buildColumnSort(const ColumnSort &sort);

} // namespace spmdc
