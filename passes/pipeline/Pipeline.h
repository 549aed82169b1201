//===- Pipeline.h - stages and the passes between them ----------*- C++ -*-===//
#pragma once

#include "ir/spmd/Location.h"
#include "passes/kernel/GpuLimits.h"
#include "passes/pipeline/Stage.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace spmdc {

struct PropagationLog;

struct PassTime {
  std::string pass;
  double milliseconds = 0;
};

/// The module after a pass, for tools that show it.
struct PassDump {
  std::string pass, text;
  /// For each line of the text (from 0), the source position of its operation.
  std::map<unsigned, SourcePosition> places;
};

/// The machine to which kernels are mapped before Stage::Kernels.
enum class KernelTarget { Cpu, Gpu };

struct PipelineOptions {
  KernelTarget backend = KernelTarget::Cpu;
  /// Of KernelTarget::Gpu.
  GpuLimits gpu;
  /// Of KernelTarget::Cpu: scores of at least this size are streamed (spmdc-stream-products). Smaller ones stay in the
  /// cache between library calls, which multiply faster (benchmarks/RESULTS.md).
  int64_t leastScoreBytes = 2 << 20;
  /// The folder for a numbered file with the module after every pass, and an index.html. Empty: none.
  std::string dumpDirectory;
  /// Receives the module after every pass; may be null.
  std::vector<PassDump> *dumps = nullptr;
  /// The bytes of memory for each device to save by gathering again (spmdc-rematerialize-gathers).
  int64_t bytesToFree = 0;
  /// Loops may carry partial sums that are larger than their sum (spmdc-sink-reductions), and an array of which each
  /// iteration reads a part may be gathered before the loop (ComputeTime.h).
  bool growsCarries = true;
  /// Transfers overlap with computation (spmdc-schedule-collectives), which takes memory for pending ones.
  bool startsEarly = true;
  /// Propagation explains its decisions in MLIR remarks.
  bool remarks = false;
  /// Receives the log of propagation (passes/propagate/AxisProvenance.h); may be null.
  PropagationLog *propagationLog = nullptr;
  /// Cancels a compile: called before each pass; once it returns false, no more passes run, and runPipeline fails.
  /// Null: always true.
  std::function<bool()> shouldContinue = nullptr;
};

/// Appends the passes that replace derivatives, the first ones after Stage::Array.
void addDifferentiation(mlir::OpPassManager &passes);

/// Appends the passes of passes/restructure that run after Stage::Propagated, before spmdc-choose-shardings. `remarks`:
/// they explain their decisions.
void addRestructuring(mlir::OpPassManager &passes, bool remarks = false);

/// Appends the passes that lead from one stage to a later one, up to Stage::Plan.
void buildPipeline(mlir::OpPassManager &passes, Stage from, Stage to, const PipelineOptions &options = {});

/// Takes a module from one stage to a later one (Array to Plan). Failures are reported as MLIR diagnostics at the
/// location of the expression. `times`, if given, gets the time of each pass.
mlir::LogicalResult runPipeline(mlir::ModuleOp module, Stage from, Stage to, const PipelineOptions &options,
                                std::vector<PassTime> *times = nullptr);

/// The stage of a module (its attribute `spmd.stage`); Stage::Array if the attribute is missing.
Stage getStage(mlir::ModuleOp module);

} // namespace spmdc
