//===- SampleSort.h - orders along cut dimensions, of spread data -*- C++ -*-===//
//
// Sorting by regular sampling (Shi and Schaeffer, Parallel sorting by regular sampling, 1992), where every device ends
// with as many elements as it began with. Of P pieces of m elements,
//
//   1. every device sorts its piece and shows K elements of it, which stand m / K apart      one small all_gather
//   2. every K-th of all those is a border: each device finds how many of its elements come before each border, exactly
//      (they are between two of its samples), and tells the others                           one small all_gather
//   3. sends the elements between two borders to the device that they are of                 one all_to_all
//   4. sorts what it has got
//   5. and evens out: a border is off by P * m / 2K elements at most                         edges, from both sides
//
// Every element travels once, straight to where it belongs or beside it. An all_to_all sends equally many to each:
// where the pieces are alike, as those of random data are, these are m / P with a little to spare. Whether that is
// enough is known after 2, and the same on all devices; where it is not (pieces that belong to one other device as a
// whole), the program takes another way: a branch. What is already in order is enough: what stays does not count.
//
// Elements come in the order of their devices, and each device's in the order of their positions, so equals need
// nothing else to be told apart: positions travel only where they are asked for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/restructure/ShardedSort.h"

namespace spmdc {

struct SampleSort {
  ShardedSort &order;
  int64_t samples = 0;          ///< Of each piece.
  OperationPrice price = {};    ///< Of spread data.
  OperationPrice toBranch = {}; ///< What of that is for what comes before the branch.

  int64_t getPiece() const { return order.piece; }
  /// No two samples are further apart.
  int64_t getStep() const { return (getPiece() + samples - 1) / samples; }
  /// By how much a border may be off.
  int64_t getEdge() const { return order.pieces * getPiece() / (2 * samples); }
  /// The most that a device can have got.
  int64_t getMost() const { return getPiece() + 2 * getEdge(); }
  /// How many elements one device can send to another one.
  int64_t getRoom() const;
};

/// The sort of an order with as many samples as are cheapest, among those that are acceptable; none where pieces are
/// too small for that.
std::optional<SampleSort> planSampleSort(ShardedSort &order, ReshardPlanner &planner,
                                         llvm::function_ref<bool(const SampleSort &)> isAcceptable);

/// Puts it in place of the order, and of what takes elements by that. Returns the order for data that are not spread.
ArgsortOp buildSampleSort(const SampleSort &sort);

} // namespace spmdc
