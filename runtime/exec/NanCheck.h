//===- NanCheck.h - finds the step that made a NaN --------------*- C++ -*-===//
//
// --check-nans on one device. As with JAX's debug_nans, a run is in error when one of its results holds a NaN (an
// infinity is none), or a value that it prints; what a step computes for itself and drops may be one. To name the
// culprit, each step's output is looked through as soon as it is written, and each NaN in memory remembers the step
// that made it: one whose inputs had none. Padding of short shards is not looked at in arguments and results; a NaN in
// the padding of an intermediate value can only matter where a later step makes a real one of the same value, and then
// the earlier step is named.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/exec/Executor.h"

#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// What a step reads and writes.
struct StepBuffers {
  std::vector<BufferId> inputs, outputs;
};

/// `operand` is that of the collective that a done step finishes.
StepBuffers buffersOf(const Step &step, BufferId operand, BufferId result);

class NanCheck {
public:
  struct Finding {
    std::string text;
    int32_t step = 0;
    const SourceLocation *location = nullptr;
    bool isForeign = false; ///< It came from another device.
  };

  NanCheck(const Plan &plan, int64_t position);

  /// A run begins. `buffers`: the memory of each buffer.
  void begin(uint64_t launch, const std::vector<void *> &buffers);
  /// A step has been executed; `name` as in profiles.
  void afterStep(int32_t number, const Step &step, const std::string &name, const std::vector<void *> &buffers);
  /// The first NaN of a result or, where no result has one, of a printed value.
  std::optional<Finding> find(const std::vector<void *> &buffers) const;

private:
  /// A NaN that lies in memory.
  struct Spot {
    BufferInfo::Space space;
    int32_t index;
    int64_t begin, end; ///< Bytes.
    int64_t origin;     ///< Into `origins`.
  };
  struct Origin {
    std::string text;
    int32_t step;
    const SourceLocation *location;
    bool isForeign;
  };

  bool overlaps(const Spot &spot, BufferId id) const;
  std::optional<std::vector<int64_t>> findInValue(const ValueInfo &value, const void *data) const;
  std::optional<Finding> findInResults(const std::vector<void *> &buffers) const;
  void lookAtPrinted(const Step &step, const PrintStep &print, const std::vector<void *> &buffers);

  const Plan &plan;
  const int64_t position;
  uint64_t launch = 0;
  std::vector<Spot> spots;
  std::vector<Origin> origins;
  std::vector<std::pair<BufferId, BufferId>> collectives; ///< Operand and result, by id.
  std::optional<Finding> printed;                         ///< The first NaN that this run has printed.
};

} // namespace spmd
