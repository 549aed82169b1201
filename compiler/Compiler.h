//===- Compiler.h - from a program's text to an artifact --------*- C++ -*-===//
//
// The compiler as a library: what `spmdc compile`, `run` and `inspect` and the public API's jit are clients of. One
// object compiles one program; stations are computed when asked for and kept. Not thread-safe; different objects are
// independent.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/Frontend.h"
#include "passes/assign/ShardingProposals.h"
#include "passes/cost/CostModel.h"
#include "passes/pipeline/Pipeline.h"
#include "passes/report/Budget.h"
#include "passes/report/ProgramReport.h"
#include "passes/report/WorkReport.h"
#include "runtime/artifact/Plan.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spmdc {

class CompileCache;

struct CompileOptions {
  FrontendOptions frontend;
  PipelineOptions pipeline;
  /// What the partitioner weighs its choices with, and reports predict times with.
  CostModel costModel;
  /// BF16 or F16: devices round their partial sums of that type before they send them, which halves the bytes
  /// (ir/spmd/ReducePrecision.h). F32: of no type. Nothing: as a program in IR says, and of no type otherwise.
  std::optional<spmd::DType> reducePrecision = std::nullopt;
  /// What the program may cost, in place of what it says itself. `compile` fails where it costs more.
  std::vector<BudgetLimit> budget;
  /// `cpu` (this host), `cpu:<llvm-cpu>`, `cuda:sm_90`.
  std::string target = "cpu";
  /// 0 to 3, LLVM's meaning.
  unsigned optimizationLevel = 3;
  /// CUDA targets: the folder of the toolkit, which holds the functions of libdevice; empty: the usual places.
  std::string cudaToolkit;
  /// Where `compile` looks first, and keeps what it makes; null: nowhere. (A new option is to be named in
  /// CompileKey.cpp.)
  std::shared_ptr<CompileCache> cache = nullptr;
};

class Compiler {
public:
  /// `fileName` names the program in messages; a name that ends in `.mlir` says that the text is IR of some station.
  Compiler(std::string fileName, std::string text, CompileOptions options = {});
  ~Compiler();
  Compiler(Compiler &&) noexcept;
  Compiler &operator=(Compiler &&) noexcept;

  /// One station as text (`--emit=`). Nothing where there are errors (see `errors`).
  std::optional<std::string> textOf(Stage stage);

  /// The whole way, or the same from the cache: then no pass runs. Nothing where there are errors.
  std::optional<spmd::Artifact> compile();

  /// The plan and its constants, without code; they live as long as this object. Null where there are errors.
  const spmd::Artifact *plan();

  /// Memory of one device: arguments, results, arena and constants. Nothing where there are errors.
  std::optional<int64_t> bytesPerDevice();

  /// What the partitioner did. Nothing where there are errors.
  std::optional<ProgramReport> report();

  /// What one device computes. Nothing where there are errors.
  std::optional<std::vector<WorkReport>> work();

  /// Shardings for parameters whose types stand where `isFree` says so, with which the program may cost least
  /// (passes/assign/ShardingProposals.h). Nothing where there are errors.
  std::optional<std::vector<ShardingProposal>> proposals(llvm::function_ref<bool(llvm::StringRef)> isFree,
                                                         bool limitsMemory);

  /// Whether the program keeps to the budget; where it does not, `errors` says what exceeds it. False on other errors.
  bool checkBudget();

  /// The module at a station up to Stage::Plan, which lives as long as the compiler. Null where there are errors.
  mlir::ModuleOp module(Stage stage);

  /// What `errors` and `warnings` are made of; errors that have no place in the program are in `generalErrors` only.
  const Diagnostics &errorList() const;
  const Diagnostics &warningList() const;
  const std::string &generalErrors() const;

  /// All errors so far, as `file:line:col: error: ...` with source line, caret and notes. Empty: none.
  std::string errors() const;
  /// Whether there are errors, and all of them in the options (`meshOverride`, consts, the entry's name), not in the
  /// program.
  bool hasOptionErrors() const;
  /// All warnings so far, in the same form.
  std::string warnings() const;
  /// That of the options; null: none.
  const CompileCache *cache() const;
  /// Remarks (why propagation decided as it did), one a line; only with PipelineOptions::remarks.
  const std::string &remarks() const;
  /// Time of each part of the way so far, in order.
  const std::vector<PassTime> &times() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
