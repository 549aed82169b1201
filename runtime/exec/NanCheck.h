//===- NanCheck.h - finds the step that made a NaN --------------*- C++ -*-===//
//
// Implements --check-nans on one device. As with JAX's debug_nans, a run is in error if one of its results or printed
// values holds a NaN (infinities are allowed); intermediate values that are dropped may hold NaNs. To name the culprit,
// the check scans each step's output as soon as it is written, and records for each NaN in memory the step that made
// it: one whose inputs had none. The padding of short shards is not checked in arguments and results. A NaN in the
// padding of an intermediate value only matters if a later step makes a real one of the same value; then the earlier
// step is named.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/exec/Executor.h"

#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// The buffers that a step reads and writes.
struct StepBuffers {
  std::vector<BufferId> inputs, outputs;
};

/// `operand` and `result` are those of the collective, if the step finishes one.
StepBuffers buffersOf(const Step &step, BufferId operand, BufferId result);

class NanCheck {
public:
  struct Finding {
    std::string text;
    int32_t step = 0;
    const SourceLocation *location = nullptr;
    bool isForeign = false; ///< The NaN came from another device.
  };

  NanCheck(const Plan &plan, int64_t position);

  /// Begins a run. `buffers` is the memory of each buffer.
  void begin(uint64_t launch, const std::vector<void *> &buffers);
  /// Checks the outputs of a step that has been executed; `name` as in profiles.
  void afterStep(int32_t number, const Step &step, const std::string &name, const std::vector<void *> &buffers);
  /// Returns the first NaN of a result or, if no result has one, of a printed value.
  std::optional<Finding> find(const std::vector<void *> &buffers) const;

private:
  /// A range of memory that holds a NaN.
  struct NanRange {
    BufferInfo::Space space;
    int32_t index;
    int64_t begin, end; ///< Bytes.
    int64_t origin;     ///< Index into `origins`.
  };
  struct Origin {
    std::string text;
    int32_t step;
    const SourceLocation *location;
    bool isForeign;
  };

  bool overlaps(const NanRange &nanRange, BufferId id) const;
  std::optional<std::vector<int64_t>> findInValue(const ValueInfo &value, const void *data) const;
  std::optional<Finding> findInResults(const std::vector<void *> &buffers) const;
  void lookAtPrinted(const Step &step, const PrintStep &print, const std::vector<void *> &buffers);

  const Plan &plan;
  const int64_t position;
  uint64_t launch = 0;
  std::vector<NanRange> nanRanges;
  std::vector<Origin> origins;
  std::vector<std::pair<BufferId, BufferId>> collectives; ///< Operand and result, by id.
  std::optional<Finding> printed;                         ///< The first NaN that this run has printed.
};

} // namespace spmd
