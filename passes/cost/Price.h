//===- Price.h - what strategies and programs cost --------------*- C++ -*-===//
//
// The two quantities on which all decisions of the partitioner are based. A CollectiveCost counts what devices send: it
// does not depend on rates, so that equal communication compares equal. A Price adds it to computation, in seconds by
// the cost model (CostModel::price), and keeps the bytes, which decide where two times are alike.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

namespace spmdc {

/// The cost of a sequence of collectives. Costs are ordered by bytes on the wire (weighted by the speed of the links),
/// then by the number of spmd.exchange operations (so that another collective wins ties), then by steps, then by
/// memory.
struct CollectiveCost {
  double wireBytes = 0;  ///< Sent by all devices together: an integer, so that equal costs compare equal.
  double linkBytes = 0;  ///< The bytes that would take as long as `wireBytes` at the default rate `CostModel::link`.
  int64_t exchanges = 0; ///< Number of spmd.exchange operations.
  int64_t steps = 0;     ///< Number of collectives, without local slices. An all_reduce counts once (CostModel::stepsOf
                         ///< counts its two waits).
  double peakBytes = 0;  ///< Largest operand and result of one step, on one device.
  double latencySeconds = 0;

  bool operator<(const CollectiveCost &other) const {
    return std::tie(linkBytes, exchanges, steps, peakBytes) <
           std::tie(other.linkBytes, other.exchanges, other.steps, other.peakBytes);
  }
  CollectiveCost operator+(const CollectiveCost &other) const {
    return {wireBytes + other.wireBytes,
            linkBytes + other.linkBytes,
            exchanges + other.exchanges,
            steps + other.steps,
            peakBytes > other.peakBytes ? peakBytes : other.peakBytes,
            latencySeconds + other.latencySeconds};
  }
  /// Adds one spmd.exchange of so many bytes, over links of the default rate; none if there is nothing to send.
  void addExchange(double bytes) {
    wireBytes += bytes;
    linkBytes += bytes;
    exchanges += bytes > 0;
    steps += bytes > 0;
  }
  /// Whether bytes and exchanges are no more than the other's, and one of the two is less.
  bool isLessInBoth(const CollectiveCost &other) const {
    return linkBytes <= other.linkBytes && exchanges <= other.exchanges &&
           (linkBytes < other.linkBytes || exchanges < other.exchanges);
  }
  /// The cost of a fraction of the bytes, or of several executions. Counts of steps stay.
  CollectiveCost scaledBy(double factor) const {
    CollectiveCost scaled = *this;
    scaled.wireBytes *= factor;
    scaled.linkBytes *= factor;
    scaled.latencySeconds *= factor;
    return scaled;
  }
};

/// The predicted time of an operation or a program with its communication, on the device that takes longest.
struct Price {
  double seconds = 0;
  double linkBytes = 0; ///< CollectiveCost::linkBytes: sent by all devices together, weighted by the speed of links.

  /// Two predicted times that differ by less than this fraction count as equal: then the bytes decide.
  static constexpr double kAlike = 0.02;

  /// Whether it takes less time, or about as long and fewer bytes.
  bool isBetterThan(const Price &other) const {
    bool isAlike = std::abs(seconds - other.seconds) <= kAlike * std::max(seconds, other.seconds);
    return isAlike && linkBytes != other.linkBytes ? linkBytes < other.linkBytes : seconds < other.seconds;
  }

  Price &operator+=(const Price &other) {
    seconds += other.seconds;
    linkBytes += other.linkBytes;
    return *this;
  }
  Price &operator-=(const Price &other) { return *this += other * -1; }
  /// The price of several executions.
  Price operator*(double count) const { return {count * seconds, count * linkBytes}; }
};

} // namespace spmdc
