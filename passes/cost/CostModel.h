//===- CostModel.h - what a choice costs ------------------------*- C++ -*-===//
//
// The one place that turns bytes, steps and operations into seconds: the partitioner weighs its choices with it, and
// `inspect` and `explain` print its predictions. A model is data (docs/explain.md): the rates of the links along each
// mesh axis, and of one device's arithmetic and memory. It is read from a file (`--cost-model`), measured
// (`spmdc devices --measure`), or the default: a core of a server CPU whose peers are on the same host.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace spmdc {

/// What a sequence of collectives costs. Ordered: bytes on the wire first (those along slow links count for more), then
/// general exchanges (a named collective is preferred where it sends no more), then steps, then memory.
struct CollectiveCost {
  double wireBytes = 0;  ///< Sent by all devices together: a whole number, so that equal costs compare equal.
  double linkBytes = 0;  ///< The same, as the bytes that would take as long along axes without rates of their own.
  int64_t exchanges = 0; ///< How many of the steps are general exchanges.
  int64_t steps = 0;     ///< Collectives that synchronise; local slices are free.
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
  /// Of a part of it, or of several.
  CollectiveCost scaledBy(double factor) const {
    CollectiveCost scaled = *this;
    scaled.wireBytes *= factor;
    scaled.linkBytes *= factor;
    scaled.latencySeconds *= factor;
    return scaled;
  }
};

/// Of the links along one mesh axis.
struct LinkRates {
  double latencyMicroseconds = 10; ///< Of one step of a collective, however little it sends.
  double bytesPerSecond = 5e9;     ///< That one device sends.
  /// How much of a transfer runs while the device computes, from 0 to 1. None by default: between devices that share
  /// memory, whoever computes copies.
  double overlap = 0;
  bool operator==(const LinkRates &) const = default;
  /// Of links along two axes: as slow as the slower.
  LinkRates with(const LinkRates &other) const {
    return {std::max(latencyMicroseconds, other.latencyMicroseconds), std::min(bytesPerSecond, other.bytesPerSecond),
            std::min(overlap, other.overlap)};
  }
  /// One step of a collective in which each device sends so many bytes.
  double stepSeconds(double bytes) const { return latencyMicroseconds / 1e6 + bytes / bytesPerSecond; }
  /// Of such a time, what runs under a computation.
  double hiddenSeconds(double transfer, double computation) const { return overlap * std::min(transfer, computation); }
};

/// What the partitioner's choices make least.
enum class Goal {
  Time, ///< What the model predicts.
  Bytes ///< Sent by the devices, however often they repeat one another's work for it; those along slow axes count more.
};

struct CostModel {
  /// The JSON form has no more.
  static constexpr size_t kMaxBytes = size_t(1) << 20;
  /// Times that differ by less, of their own size, are alike: fewer bytes decide.
  static constexpr double kAlike = 0.02;

  LinkRates link;                        ///< Along axes that have no rates of their own.
  std::map<std::string, LinkRates> axes; ///< By name of the axis.
  double flopsPerSecond = 1e11;          ///< Of one device in a contraction.
  double memoryPerSecond = 1e10;         ///< Bytes that one device reads and writes.
  Goal goal = Goal::Time;
  bool operator==(const CostModel &) const = default;

  /// The default for programs that are compiled for GPUs: an H100 whose peers are connected by NVLink.
  static CostModel ofGpu();

  /// The model that choices are priced with: by the goal of bytes, work and waiting cost nothing.
  CostModel ofChoices() const;

  /// Of a collective over these axes (parts of axes count as the axis): as slow as the slowest of them.
  LinkRates ratesOf(const std::vector<std::string> &axisNames) const;

  /// How often the devices of a group wait for one another: twice in an all_reduce (to reduce, and to gather what was
  /// reduced), once in every other collective.
  static int64_t stepsOf(std::string_view collective);

  /// One collective: steps times latency, and the bytes that one device sends at the bandwidth.
  double collectiveSeconds(std::string_view collective, const std::vector<std::string> &axisNames,
                           double wireBytesPerDevice) const;

  /// Local work: as long as its arithmetic or its memory traffic takes, whichever is longer.
  double computeSeconds(double contractionFlops, double memoryBytes) const;

  /// The order of lines that are so long: keys with their positions, read and written for each time that a line
  /// doubles.
  double orderSeconds(double elements, double line) const;

  /// What one collective costs, of which all devices together send so much.
  CollectiveCost costOf(std::string_view collective, const std::vector<std::string> &axisNames, double wireBytes,
                        double peakBytes) const;
  CollectiveCost costOf(std::string_view collective, const LinkRates &rates, double wireBytes, double peakBytes) const;
  /// Of the fastest axis of a mesh: as how many bytes along the others one byte along it counts.
  double leastWeight(const spmd::MeshShape &mesh) const;

  /// A sequence of collectives.
  double seconds(const CollectiveCost &cost, int64_t deviceCount) const {
    return cost.linkBytes / static_cast<double>(deviceCount) / link.bytesPerSecond + cost.latencySeconds;
  }

  /// The rates that explain measured collectives best: least squares of the relative errors. Latency and bandwidth need
  /// samples of different sizes.
  struct Sample {
    int64_t steps = 1;
    double wireBytesPerDevice = 0, seconds = 0;
  };
  static LinkRates fit(const std::vector<Sample> &samples);

  /// Reads the JSON form. On a mistake nothing, and `error` says which at its place (`costs.json:3: error: ...`).
  static std::optional<CostModel> parse(std::string_view text, const std::string &fileName, std::string &error);

  /// `time` or `bytes`; nothing for any other text.
  static std::optional<Goal> parseGoal(std::string_view text);

  /// The JSON form, keys in a fixed order.
  std::string str() const;
  /// The same without links, for a machine where nothing is known of them.
  std::string deviceStr() const;

  /// The model that a module's partitioning is to be weighed with (its attribute `spmd.cost_model`, the JSON form), or
  /// the default.
  static CostModel of(mlir::ModuleOp module);
  /// Notes the model on a module; the default leaves no trace.
  void attachTo(mlir::ModuleOp module) const;
};

} // namespace spmdc
