//===- CompiledRun.h - a program compiled and executed ----------*- C++ -*-===//
//
// The last link of the differential tests: the text of a module goes through the compiler to an artifact, and the
// artifact runs on all devices of its mesh in this process, through the real executor and the real collectives.
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

/// Compiles a program, or with a name that ends in `.mlir` a module at any station. Null where that fails; then `error`
/// says why.
std::shared_ptr<const spmd::Artifact> compileText(const std::string &fileName, const std::string &text,
                                                  unsigned optimizationLevel, std::string &error,
                                                  const PipelineOptions &pipeline = {},
                                                  const CostModel &costModel = {});
/// The same for a module.
std::shared_ptr<const spmd::Artifact> compileModule(mlir::ModuleOp module, unsigned optimizationLevel,
                                                    std::string &error);

/// An artifact loaded on devices of this process.
class CompiledProgram {
public:
  /// On CPU devices that it makes.
  explicit CompiledProgram(std::shared_ptr<const spmd::Artifact> artifact);
  /// On the devices of the options, which this process has all.
  CompiledProgram(std::shared_ptr<const spmd::Artifact> artifact, const spmd::ExecutorOptions &options);
  ~CompiledProgram();

  spmd::Executor &getExecutor() const;

  /// Runs once: arguments are cut by the plan's shardings with poisoned padding, results are joined, and copies must
  /// agree in every bit. Fails with a text in `error`.
  mlir::FailureOr<llvm::SmallVector<Tensor>> run(mlir::MLIRContext &context, llvm::ArrayRef<Tensor> arguments,
                                                 Poison poison, std::string &error);

  /// What `run` is made of. By device, then by parameter or result.
  using Buffers = std::vector<std::vector<spmd::DeviceBufferRef>>;
  Buffers upload(mlir::MLIRContext &context, llvm::ArrayRef<Tensor> arguments, Poison poison) const;
  /// Full of a pattern: what no step writes must not look like an answer.
  Buffers allocateResults() const;
  mlir::FailureOr<llvm::SmallVector<Tensor>> download(mlir::MLIRContext &context, const Buffers &results,
                                                      std::string &error) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
