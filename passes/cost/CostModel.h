//===- CostModel.h - predicted times of communication and compute -*- C++ -*-===//
//
// Converts bytes, steps and FLOP to seconds. The partitioner compares strategies with these times, and `inspect` and
// `explain` print them. A model is data (docs/cost-model.md): the rates of the links along each mesh axis, and of one
// device's arithmetic and memory. It comes from a file (`--cost-model`), which `spmdc devices --measure` can write; the
// default describes a core of a server CPU whose peers are on the same host.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/Price.h"
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

/// The rates of the links along one mesh axis.
struct LinkRates {
  double latencyMicroseconds = 10; ///< Time of one step of a collective without data.
  double bytesPerSecond = 5e9;     ///< Send rate of one device.
  /// The fraction of a transfer, from 0 to 1, that can overlap with computation. 0 by default: between CPU devices that
  /// share memory, the threads that compute also copy.
  double overlap = 0;
  bool operator==(const LinkRates &) const = default;
  /// The rates of a collective over two axes: the slower of each.
  LinkRates with(const LinkRates &other) const {
    return {std::max(latencyMicroseconds, other.latencyMicroseconds), std::min(bytesPerSecond, other.bytesPerSecond),
            std::min(overlap, other.overlap)};
  }
  /// The time of one step of a collective in which each device sends `bytes`.
  double stepSeconds(double bytes) const { return latencyMicroseconds / 1e6 + bytes / bytesPerSecond; }
  /// The part of a transfer's time that overlaps with a computation.
  double hiddenSeconds(double transfer, double computation) const { return overlap * std::min(transfer, computation); }
};

/// The quantity that the partitioner minimizes.
enum class Goal {
  Time, ///< The predicted time.
  Bytes ///< Bytes on the wire, weighted by the speed of the links; devices may repeat one another's work for it.
};

struct CostModel {
  /// The maximal length of the JSON form.
  static constexpr size_t kMaxBytes = size_t(1) << 20;

  LinkRates link;                        ///< The rates of axes that are not in `axes`.
  std::map<std::string, LinkRates> axes; ///< By the name of the axis.
  double flopsPerSecond = 1e11;          ///< The rate of one device in a contraction.
  double memoryPerSecond = 1e10;         ///< Bytes that one device reads and writes.
  Goal goal = Goal::Time;
  bool operator==(const CostModel &) const = default;

  /// The default for programs that are compiled for GPUs: an H100 whose peers are connected by NVLink.
  static CostModel ofGpu();

  /// The model to compare strategies with: this one for Goal::Time; for Goal::Bytes a copy in which work and latency
  /// are nearly free.
  CostModel forGoal() const;

  /// The rates of a collective over these axes: those of the slowest. A part of an axis has the rates of the axis.
  LinkRates ratesOf(const std::vector<std::string> &axisNames) const;

  /// How often the devices of a group wait for one another: twice in an all_reduce (to reduce, and to gather the
  /// reduced shards), once in every other collective.
  static int64_t stepsOf(std::string_view collective);

  /// The time of one collective: steps times latency, plus the bytes that one device sends over the bandwidth.
  double collectiveSeconds(std::string_view collective, const std::vector<std::string> &axisNames,
                           double wireBytesPerDevice) const;

  /// The time of local work: that of its arithmetic or of its memory traffic, whichever is longer.
  double computeSeconds(double contractionFlops, double memoryBytes) const;

  /// The time to sort `elements` elements in lines of `line` elements: log2(line) passes, each of which reads and
  /// writes all keys with their positions.
  double sortSeconds(double elements, double line) const;

  /// The cost of one collective in which all devices together send `wireBytes`.
  CollectiveCost costOf(std::string_view collective, const std::vector<std::string> &axisNames, double wireBytes,
                        double peakBytes) const;
  CollectiveCost costOf(std::string_view collective, const LinkRates &rates, double wireBytes, double peakBytes) const;
  /// The smallest ratio of linkBytes to wireBytes (CollectiveCost) on any axis of the mesh, at most 1.
  double leastWeight(const spmd::MeshShape &mesh) const;

  /// The time of a sequence of collectives.
  double seconds(const CollectiveCost &cost, int64_t deviceCount) const {
    return cost.linkBytes / static_cast<double>(deviceCount) / link.bytesPerSecond + cost.latencySeconds;
  }

  /// The price of communication and of this much computation.
  Price price(const CollectiveCost &cost, int64_t deviceCount, double computeSeconds = 0) const {
    return {seconds(cost, deviceCount) + computeSeconds, cost.linkBytes};
  }

  /// Fits latency and bandwidth to measured collectives by least squares of the relative errors. Needs samples of
  /// different sizes.
  struct Sample {
    int64_t steps = 1;
    double wireBytesPerDevice = 0, seconds = 0;
  };
  static LinkRates fit(const std::vector<Sample> &samples);

  /// Parses the JSON form; keys that it leaves out are those of `standard`. On a mistake, returns nullopt and sets
  /// `error` (`costs.json:3: error: ...`).
  static std::optional<CostModel> parse(std::string_view text, const std::string &fileName, std::string &error,
                                        const CostModel &standard);
  /// The same with the default for CPUs.
  static std::optional<CostModel> parse(std::string_view text, const std::string &fileName, std::string &error);

  /// Parses `time` or `bytes`; nullopt for any other text.
  static std::optional<Goal> parseGoal(std::string_view text);

  /// The JSON form, keys in a fixed order.
  std::string str() const;
  /// The same without rates of links, for a machine where they were not measured.
  std::string deviceStr() const;

  /// The cost model of a module (its attribute `spmd.cost_model`, the JSON form), or the default.
  static CostModel of(mlir::ModuleOp module);
  /// Sets the attribute, unless the model is the default.
  void attachTo(mlir::ModuleOp module) const;
};

} // namespace spmdc
