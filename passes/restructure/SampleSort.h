//===- SampleSort.h - sample sort along sharded dimensions ------*- C++ -*-===//
//
// Sorting by regular sampling (Shi and Schaeffer, Parallel sorting by regular sampling, 1992), in which every device
// ends with as many elements as it began with. With P shards of m elements:
//
//   1. every device sorts its shard and takes K samples, m / K elements apart             one small all_gather
//   2. every K-th of all samples is a splitter: each device finds how many of its elements sort before each splitter
//      (between two of its samples), and sends the counts to all                          one small all_gather
//   3. sends the elements between two splitters to their device                           one all_to_all
//   4. sorts the elements that it has received
//   5. and evens out shards: a splitter is off by P * m / 2K elements at most             halos, from both sides
//
// Every element is sent once, directly to its device or a neighbour of it. An all_to_all sends equal numbers to all
// devices: if the shards have similar distributions, as random data have, these are m / P and a small margin. After
// step 2 all devices know whether that suffices; if not (all elements of a shard belong to one other device), a branch
// runs another sort. Sorted data suffice, because elements that stay do not count.
//
// Elements arrive sorted by device, and each device's by position. So the sort is stable without positions, which are
// sent only if they are results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/restructure/ShardedSort.h"

namespace spmdc {

/// The parameters of one sample sort, and its predicted price.
struct SampleSort {
  ShardedSort &shardedSort;
  int64_t samples = 0; ///< Of each shard.
  Price price = {};    ///< For data that are spread over the shards.
  Price toBranch = {}; ///< The part of the price before the branch.

  int64_t getShardSize() const { return shardedSort.shardSize; }
  /// The largest distance of two samples.
  int64_t getStep() const { return (getShardSize() + samples - 1) / samples; }
  /// The largest error of a splitter.
  int64_t getHalo() const { return shardedSort.numShards * getShardSize() / (2 * samples); }
  /// The most elements that a device can have received.
  int64_t getMost() const { return getShardSize() + 2 * getHalo(); }
  /// The number of elements that one device can send to another one.
  int64_t getCapacity() const;
};

/// The cheapest sample sort of the acceptable ones, over the number of samples; nothing if shards are too small.
std::optional<SampleSort> planSampleSort(ShardedSort &shardedSort, ReshardPlanner &planner,
                                         llvm::function_ref<bool(const SampleSort &)> isAcceptable);

/// Replaces the sort, and the operations that take elements by it. Returns the sort that runs for data that are not
/// spread.
ArgsortOp buildSampleSort(const SampleSort &sort);

} // namespace spmdc
