//===- Compiler.h - from a program's text to an artifact --------*- C++ -*-===//
//
// The compiler as a library, for `spmdc compile`, `run`, `inspect` and `explain`, and for the public API's jit. One
// object compiles one program; it computes stages on demand and keeps them. Not thread-safe; different objects are
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

/// The name of the text that `Compiler::stablehlo` returns, beside the names of stages.
inline constexpr llvm::StringLiteral kStablehlo = "stablehlo";

struct CompileOptions {
  FrontendOptions frontend;
  PipelineOptions pipeline;
  /// Prices strategies in the partitioner, and predicts the times of reports.
  CostModel costModel;
  /// BF16 or F16: partial sums of this type are rounded to it before devices send them, which halves the bytes
  /// (ir/spmd/ReducePrecision.h). F32: no type is rounded. Nullopt: the setting of a program in IR, else F32.
  std::optional<spmd::DType> reducePrecision = std::nullopt;
  /// Matrix products of f32 on GPUs may round their factors to TF32: 10 bits of mantissa, so a relative error of at
  /// most 2^-11 in each factor. Products are exact and sums f32, as without it. CPUs have no TF32: no effect. As IR may
  /// allow it already, false changes nothing.
  bool allowTf32 = false;
  /// Limits that override the program's own. `compile` fails if the program exceeds a limit.
  std::vector<BudgetLimit> budget;
  /// A target of Target.h: `cpu` (this host), `cpu:<LLVM CPU>` or `cuda:<architecture>`. The caller replaces `cuda` by
  /// the architecture of this machine's GPU (runtime/jit/LocalGpu.h).
  std::string target = "cpu";
  /// LLVM's optimization level, 0 to 3.
  unsigned optimizationLevel = 3;
  /// For CUDA targets: the folder of the toolkit, which contains libdevice; empty: the usual folders.
  std::string cudaToolkit;
  /// The cache that `compile` reads and writes; null: none. (A new option must be added to CompileKey.cpp.)
  std::shared_ptr<CompileCache> cache = nullptr;
};

/// Compiles one program. Functions that return nullopt, null or false on errors leave the errors in `errors`.
class Compiler {
public:
  /// `fileName` names the program in messages. If it ends in `.mlir`, the text is IR of some stage.
  Compiler(std::string fileName, std::string text, CompileOptions options = {});
  ~Compiler();
  Compiler(Compiler &&) noexcept;
  Compiler &operator=(Compiler &&) noexcept;

  /// One stage as text (`--emit=`).
  std::optional<std::string> textOf(Stage stage);

  /// The global view as StableHLO with Shardy's annotations, which JAX and XLA read (`--emit=stablehlo`). Derivatives
  /// are expanded.
  std::optional<std::string> stablehlo();

  /// The artifact. No pass runs if the cache has it.
  std::optional<spmd::Artifact> compile();

  /// The plan and its constants, without code. Owned by this object; null on errors.
  const spmd::Artifact *plan();

  /// Memory of one device in bytes: arguments, results, arena and constants.
  std::optional<int64_t> bytesPerDevice();

  /// Shardings, collectives and FLOP of the partitioned program.
  std::optional<ProgramReport> report();

  /// The computation of one device.
  std::optional<std::vector<WorkReport>> work();

  /// Proposes shardings of the parameters for which `isFree` is true: those for which the exact solver predicts the
  /// lowest cost (passes/assign/ShardingProposals.h). The argument of `isFree` is the source position of the
  /// parameter's type.
  std::optional<std::vector<ShardingProposal>> proposals(llvm::function_ref<bool(llvm::StringRef)> isFree,
                                                         bool limitsMemory);

  /// Whether the program is within its budget. Each exceeded limit is an error.
  bool checkBudget();

  /// The module at a stage up to Stage::Plan. Owned by this object; null on errors.
  mlir::ModuleOp module(Stage stage);

  /// The diagnostics that `errors` and `warnings` print. Errors without a source position are only in `generalErrors`.
  const Diagnostics &errorList() const;
  const Diagnostics &warningList() const;
  const std::string &generalErrors() const;

  /// All errors so far, as `file:line:col: error: ...` with source line, caret and notes. Empty if there are none.
  std::string errors() const;
  /// Whether there are errors and all of them concern the options (`meshOverride`, consts, the entry's name), not the
  /// program.
  bool hasOptionErrors() const;
  /// All warnings so far, in the same form.
  std::string warnings() const;
  /// The cache of the options; may be null.
  const CompileCache *cache() const;
  /// The remarks of propagation, one a line; empty without PipelineOptions::remarks.
  const std::string &remarks() const;
  /// The time of each pass and stage so far, in order.
  const std::vector<PassTime> &times() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
