//===- CollectiveMatmulCost.h - what a product around a ring costs ----------*- C++ -*-===//
//
// A product whose operand is gathered, or whose partial sums are reduced and scattered, can run in as many pieces as
// the group has devices: while each device multiplies with one piece, the next one comes from its neighbour (Wang et
// al., "Overlap Communication with Dependent Computation via Decomposition", ASPLOS 2023). Pieces go round one way, or
// half of them each way, which sends the same bytes in half the steps.
//
// A transfer of t seconds and a computation of c seconds at once take c + t - overlap * min(c, t); t is the latency and
// the bytes at the bandwidth, as for every collective.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CostModel.h"

namespace spmdc {

enum class CollectiveMatmulKind { None, One, Both };

/// `one way`, `both ways`; empty for none.
std::string_view collectiveMatmulKindName(CollectiveMatmulKind way);

/// What the pieces of a ring cost, in seconds and bytes.
struct CollectiveMatmulWork {
  bool isScatter = false;
  int64_t devices = 1;
  LinkRates rates;
  double pieceBytes = 0;    ///< That a device sends along one way in one step.
  double wholeProduct = 0;  ///< The product in one.
  double pieceProduct = 0;  ///< The product with one piece, cutting its operand and storing its result included.
  double addition = 0;      ///< Of what arrived to a device's own partial sum; in a scatter.
  double once = 0;          ///< Before the first step.
  double otherProducts = 0; ///< Under which the collective, as one, would run anyway.
};

/// Seconds from when the operands are there until the result is.
struct CollectiveMatmulTime {
  double computation = 0; ///< Of all steps.
  double exposed = 0;     ///< Of transfers: what does not run under a computation.
  double total() const { return computation + exposed; }
};

/// By one collective, or around a ring. Both ways need three devices, a ring at least two.
CollectiveMatmulTime collectiveMatmulTime(const CollectiveMatmulWork &work, CollectiveMatmulKind way);

/// The way that takes the least time; of those that take the same, the first in the order of `CollectiveMatmulKind`.
CollectiveMatmulKind chooseCollectiveMatmulKind(const CollectiveMatmulWork &work);

} // namespace spmdc
