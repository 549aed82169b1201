//===- CollectiveMatmulCost.h - the time of a collective matmul -*- C++ -*-===//
//
// A collective matmul splits a product with an all_gather of an operand, or with a reduce_scatter of its partial sums,
// into one product for each device of the group. While a device multiplies with one chunk, the next one arrives from
// its neighbour (Wang et al., "Overlap Communication with Dependent Computation via Decomposition", ASPLOS 2023). The
// ring has one direction or both; with both, each direction carries half of the chunks, which takes half the steps for
// the same bytes.
//
// A transfer of t seconds beside a computation of c seconds takes c + t - overlap * min(c, t) in total. As for every
// collective, t is the latency plus the bytes over the bandwidth.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CostModel.h"

namespace spmdc {

/// The ring of a collective matmul: none (one collective and one product), one direction, or both directions.
enum class RingDirections { None, One, Both };

/// `one way`, `both ways`; empty for None.
std::string_view ringDirectionsName(RingDirections way);

/// The parts of a collective matmul, in seconds unless a member says otherwise.
struct CollectiveMatmulWork {
  bool isScatter = false; ///< A product with a reduce_scatter; otherwise one with an all_gather.
  int64_t devices = 1;
  LinkRates rates;
  double chunkBytes = 0;    ///< Bytes that a device sends in one direction in one step.
  double fullProduct = 0;   ///< The product as one operation.
  double chunkProduct = 0;  ///< The product with one chunk, slicing its operand and storing its result included.
  double addition = 0;      ///< Adding a received chunk to the device's own partial sum; only in a scatter.
  double once = 0;          ///< Work before the first step.
  double otherProducts = 0; ///< Other products that can overlap with the collective if it stays one.
};

/// Seconds from the moment when the operands are ready until the result is.
struct CollectiveMatmulTime {
  double computation = 0; ///< Computation of all steps.
  double exposed = 0;     ///< Transfer time that does not overlap with computation.
  double total() const { return computation + exposed; }
};

/// The time with the given ring. Assumes at least two devices for One, and at least three for Both.
CollectiveMatmulTime collectiveMatmulTime(const CollectiveMatmulWork &work, RingDirections way);

/// The fastest kind; among equal times the first in the order of `RingDirections`.
RingDirections chooseRingDirections(const CollectiveMatmulWork &work);

} // namespace spmdc
