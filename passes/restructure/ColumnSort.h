//===- ColumnSort.h - orders along cut dimensions -----------------*- C++ -*-===//
//
// Leighton's columnsort (Tight bounds on the complexity of parallel sorting, 1985): the pieces of a cut dimension are
// the columns of a matrix, and which element is sent where does not depend on what it is. Of P pieces of m elements,
//
//   1. every device sorts its piece
//   2. and deals it out: element i goes to device i mod P                         one all_to_all
//   3. sorts what it has been dealt
//   4. and takes that back: of device j rows j, j + P, ... of the whole           one all_to_all
//   5. sorts its piece again: now elements that are in the wrong piece are next to its ends
//   6. and sorts the last elements of each piece with the first of the next one   the edges, there and back
//
// After 4 everything is in order but for a run of less than P * P elements (by the 0-1 principle: the columns of 3
// differ by at most P in how many zeros they have), so 6 needs edges of P * P, and pieces twice as large. Each element
// travels about twice; gathered, it travels P - 1 times, and every device sorts everything.
//
// Elements carry their positions, which decide between equals, and other arrays that are taken in that order. Smaller
// pieces are padded with what is last in the order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/restructure/ShardedSort.h"

namespace spmdc {

/// An order that is made so.
struct ColumnSort {
  ShardedSort &order;
  int64_t piece = 0; ///< Elements of each, padding included.
  /// Whether positions travel, too: where they are asked for, or equal elements can be told apart.
  bool hasPositions = true;
  OperationPrice price = {};

  /// How many elements at the end of a piece may belong to the next one.
  int64_t getEdge() const { return order.pieces * order.pieces; }
};

/// The sort of an order, with what the cost model has it take; none where pieces would be little but padding.
std::optional<ColumnSort> planColumnSort(ShardedSort &order, ReshardPlanner &planner);

/// Puts it in place of the order, and of what takes elements by that.
void buildColumnSort(const ColumnSort &sort);

} // namespace spmdc
