//===- CostModel.h - what a choice costs ------------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <tuple>

namespace spmdc {

/// What a sequence of collectives costs. Ordered: bytes on the wire first, then general exchanges (a named collective
/// is preferred where it sends no more), then steps, then memory.
struct CollectiveCost {
  double wireBytes = 0;  ///< Sent by all devices together: a whole number, so that equal costs compare equal.
  int64_t exchanges = 0; ///< How many of the steps are general exchanges.
  int64_t steps = 0;     ///< Collectives that synchronise; local slices are free.
  double peakBytes = 0;  ///< Largest operand and result of one step, on one device.

  bool operator<(const CollectiveCost &other) const {
    return std::tie(wireBytes, exchanges, steps, peakBytes) <
           std::tie(other.wireBytes, other.exchanges, other.steps, other.peakBytes);
  }
  CollectiveCost operator+(const CollectiveCost &other) const {
    return {wireBytes + other.wireBytes, exchanges + other.exchanges, steps + other.steps,
            peakBytes > other.peakBytes ? peakBytes : other.peakBytes};
  }
};

/// Rates that weigh communication against computation. The defaults are a core of a server CPU whose peers are on the
/// same host.
struct CostModel {
  double bytesPerSecond = 5e9;   ///< Of one device on the wire.
  double secondsPerStep = 1e-5;  ///< Latency of one collective.
  double flopsPerSecond = 1e11;  ///< Of one device in a contraction.
  double memoryPerSecond = 1e10; ///< Bytes one device reads and writes in element-wise work.

  double seconds(const CollectiveCost &cost, int64_t deviceCount) const {
    return cost.wireBytes / static_cast<double>(deviceCount) / bytesPerSecond +
           static_cast<double>(cost.steps) * secondsPerStep;
  }
};

} // namespace spmdc
