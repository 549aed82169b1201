//===- Inspection.h - what a program costs, before it runs ------*- C++ -*-===//
//
// The figures of `spmdc inspect` and `explain` and of the public API's cost_analysis: whoever says what a program costs
// takes it from here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Compiler.h"

#include <optional>
#include <vector>

namespace spmdc {

struct Inspection {
  ProgramReport report;
  /// Arguments, results, arena and constants together.
  int64_t peakBytesPerDevice = 0;
  std::vector<WorkReport> work;

  double computeSeconds() const;
};

/// Compiles as far as the plan. Nothing where the program has errors.
std::optional<Inspection> inspectProgram(Compiler &compiler);

} // namespace spmdc
