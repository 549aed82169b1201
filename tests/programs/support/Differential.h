//===- Differential.h - one program through every stage ---------*- C++ -*-===//
//
// The check of all random programs: the partitioned program, the kernels, the plan, and the compiled artifact must give
// the results of the global view. Padding is poison, of two kinds; replicas of a result on different devices must agree
// in every bit.
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
  /// The last stage that is evaluated on the process grid.
  Stage lastStage = Stage::Plan;
  /// Compile to an artifact and run it on all devices of the mesh, in this process.
  bool compiled = false;
  unsigned optimizationLevel = 2;
  /// The cost model of the partitioner.
  CostModel costModel;
  /// Runs it in these jobs of several processes too, with the same bits on every layout. Implies `compiled`.
  ProcessJobs *processes = nullptr;
  /// Compiles it for GPUs too, and runs it in these jobs, whose devices are GPUs, with the same bits on every layout.
  ProcessJobs *gpuProcesses = nullptr;
};

/// Returns "" if all stages agree. Otherwise returns one line `STAGE: KIND: difference`, then diagnostics and the
/// module of the failing stage.
std::string checkCase(const Case &test, const CheckOptions &options);

/// Returns `STAGE: KIND` of a failure, which stays the same while a failing case is reduced.
std::string kindOfFailure(const std::string &failure);

/// Returns where two results differ by more than their accuracy allows; otherwise "".
std::string compareResults(llvm::ArrayRef<Tensor> expected, llvm::ArrayRef<Tensor> actual,
                           llvm::ArrayRef<Accuracy> accuracy);

} // namespace spmdc
