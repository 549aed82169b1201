//===- CompiledRun.h - a program compiled and executed ----------*- C++ -*-===//
//
// The last step of the differential tests: the compiler compiles the text of a module to an artifact, and the artifact
// runs on all devices of its mesh in this process, with the real executor and the real collectives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/evaluate/Shards.h"

#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/CostModel.h"
#include "passes/pipeline/Pipeline.h"
#include "runtime/artifact/Plan.h"
#include "runtime/exec/Executor.h"

#include <memory>
#include <string>
#include <vector>

namespace spmdc {

/// Compiles a program, or, for a name that ends in `.mlir`, a module at any stage. Returns null on failure and sets
/// `error`.
std::shared_ptr<const spmd::Artifact> compileText(const std::string &fileName, const std::string &text,
                                                  unsigned optimizationLevel, std::string &error,
                                                  const PipelineOptions &pipeline = {}, const CostModel &costModel = {},
                                                  const std::string &target = "cpu");
/// The same for a module.
std::shared_ptr<const spmd::Artifact> compileModule(mlir::ModuleOp module, unsigned optimizationLevel,
                                                    std::string &error);

/// An artifact loaded on devices of this process.
class CompiledProgram {
public:
  /// On CPU devices that it creates.
  explicit CompiledProgram(std::shared_ptr<const spmd::Artifact> artifact);
  /// On the devices of the options, all of which are local to this process.
  CompiledProgram(std::shared_ptr<const spmd::Artifact> artifact, const spmd::ExecutorOptions &options);
  ~CompiledProgram();

  spmd::Executor &getExecutor() const;

  /// Runs once: splits arguments by the plan's shardings, with poisoned padding, and assembles results; replicas must
  /// agree in every bit. Sets `error` on failure.
  mlir::FailureOr<llvm::SmallVector<Tensor>> run(mlir::MLIRContext &context, llvm::ArrayRef<Tensor> arguments,
                                                 Poison poison, std::string &error);

  /// The parts of `run`. Indexed by device, then by parameter or result.
  using Buffers = std::vector<std::vector<spmd::DeviceBufferRef>>;
  Buffers upload(mlir::MLIRContext &context, llvm::ArrayRef<Tensor> arguments, Poison poison) const;
  /// Fills results with a pattern, so that elements that no step writes are noticed.
  Buffers allocateResults() const;
  mlir::FailureOr<llvm::SmallVector<Tensor>> download(mlir::MLIRContext &context, const Buffers &results,
                                                      std::string &error) const;

private:
  /// Runs with a profile, for which the steps of compiled loops run one by one; returns whether the results have the
  /// bits of `outputs`, else sets `error`.
  bool runsStepByStep(const Buffers &inputs, const Buffers &outputs, std::string &error);

  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
