//===- Differential.h - one program through every station -------*- C++ -*-===//
//
// The check that all random programs go through: what the program means in the global view must be what the
// partitioned program, the kernels, the plan, and the compiled artifact give. Padding is poison, with two kinds of it;
// copies of a result on different devices must agree in every bit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CostModel.h"
#include "passes/pipeline/Stage.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/ProcessJobs.h"

#include <string>

namespace spmdc {

struct CheckOptions {
  /// The last station that is evaluated on the process grid.
  Stage lastStage = Stage::Plan;
  /// Compile to an artifact and run it on all devices of the mesh, in this process.
  bool compiled = false;
  unsigned optimizationLevel = 2;
  /// What the partitioner weighs its choices with.
  CostModel costModel;
  /// Run it in these jobs of several processes too, with the same bits on every layout. Implies `compiled`.
  ProcessJobs *processes = nullptr;
};

/// Empty where all stations agree. Else one line `STATION: KIND: what differs`, then diagnostics and the module of the
/// failing station.
std::string checkCase(const Case &test, const CheckOptions &options);

/// `STATION: KIND` of a failure: what stays the same while a failing case is made smaller.
std::string kindOfFailure(const std::string &failure);

/// Where two results differ by more than their accuracy allows; else empty.
std::string compareResults(llvm::ArrayRef<Tensor> expected, llvm::ArrayRef<Tensor> actual,
                           llvm::ArrayRef<Accuracy> accuracy);

} // namespace spmdc
