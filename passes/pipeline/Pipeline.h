//===- Pipeline.h - the stations and the way between them -------*- C++ -*-===//
#pragma once

#include "ir/spmd/Location.h"
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

/// The module after a pass, to be looked at.
struct PassDump {
  std::string pass, text;
  /// Which expression the operation on each line of the text came from; lines from 0.
  std::map<unsigned, SourcePosition> places;
};

/// Which machine's mapping kernels get on their way to Stage::Kernels.
enum class Backend { Cpu, Gpu };

struct PipelineOptions {
  Backend backend = Backend::Cpu;
  /// Backend::Gpu: shared memory that a block may have.
  int64_t sharedBytes = 48 * 1024;
  /// Write the module after every pass into this folder, numbered, with an index.html. Empty: do not.
  std::string dumpDirectory;
  /// Where the module after every pass goes; null: nowhere.
  std::vector<PassDump> *dumps = nullptr;
  /// What a device is to need less than by itself, where gathering again can save it (spmdc-rematerialize-gathers).
  int64_t bytesToFree = 0;
  /// Loops may carry partial sums that are larger than what they sum to (spmdc-sink-reductions), and have arrays
  /// gathered in front of them of which iterations look at parts (ComputeTime.h).
  bool growsCarries = true;
  /// Transfers go on under computation (spmdc-schedule-collectives), which takes memory for what is under way.
  bool startsEarly = true;
  /// Why propagation decided as it did goes out as MLIR remarks.
  bool remarks = false;
  /// Where propagation writes down what it does (passes/propagate/AxisProvenance.h); null: nowhere.
  PropagationLog *propagationLog = nullptr;
  /// Asked before each pass; once it says no, no more passes run, and runPipeline fails. Null: always yes.
  std::function<bool()> isWanted = nullptr;
};

/// Appends those passes behind Stage::Propagated after which it is chosen where values lie. `remarks`: they say what
/// they decide.
void addBeforeShardings(mlir::OpPassManager &passes, bool remarks = false);

/// Appends the passes that lead from one station to a later one, up to Stage::Plan.
void buildPipeline(mlir::OpPassManager &passes, Stage from, Stage to, const PipelineOptions &options = {});

/// Takes a module from one station to a later one (Array to Plan). Failures are reported as MLIR diagnostics at the
/// place of the expression. `times`, if given, gets the time of each pass.
mlir::LogicalResult runPipeline(mlir::ModuleOp module, Stage from, Stage to, const PipelineOptions &options,
                                std::vector<PassTime> *times = nullptr);

/// The station a module has reached (its attribute `spmd.stage`); Stage::Array where it says nothing.
Stage getStage(mlir::ModuleOp module);

} // namespace spmdc
