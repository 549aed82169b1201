//===- Inspection.h - predicted costs of a program --------------*- C++ -*-===//
//
// The common source of the figures that `spmdc inspect`, `spmdc explain` and the public API's cost_analysis report.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Compiler.h"

#include <optional>
#include <vector>

namespace spmdc {

/// The communication, computation and memory of a compiled program: `report` comes from the partitioned program, `work`
/// from its plan.
struct Inspection {
  ProgramReport report;
  /// The sum of arguments, results, arena and constants.
  int64_t peakBytesPerDevice = 0;
  std::vector<WorkReport> work;

  /// The predicted seconds of all work that counts (WorkReport::isCounted), loop iterations included.
  double computeSeconds() const;
  /// The predicted seconds of the work of one iteration of a `while`; of loops at the same position the sum.
  double computeSecondsOf(const WhileReport &loop) const;
};

/// Compiles the program up to the plan and reports on it. Returns nullopt if the program has errors.
std::optional<Inspection> inspectProgram(Compiler &compiler);

} // namespace spmdc
