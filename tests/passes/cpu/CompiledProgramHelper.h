//===- CompiledProgramHelper.h - compiles IR for this CPU -------*- C++ -*-===//
#pragma once

#include "passes/cpu/EmitCpu.h"
#include "tests/passes/support/PlannedProgram.h"

namespace spmdc {

/// A program whose kernels are a shared object of this process.
class CompiledKernels : public PlannedProgram {
public:
  /// How the range of a launch is split: not at all, into single iterations, into thirds; the last part runs first.
  enum Variant : unsigned { Whole, Ones, Thirds, VariantCount };

  /// Compiles function @main of the module; fails the running test on errors.
  CompiledKernels(mlir::ModuleOp module, const CpuTarget &target = CpuTarget::host(),
                  const PipelineOptions &options = {});
  ~CompiledKernels() override;

  bool isGood() const override { return library != nullptr; }
  unsigned getVariantCount() const override { return VariantCount; }

private:
  std::string launch(const spmd::KernelInfo &kernel, int64_t extent, const std::vector<void *> &operands,
                     const std::vector<int64_t> &coordinates, unsigned way) override;

  void *library = nullptr;
};

inline std::unique_ptr<PlannedProgram> compileForCpu(mlir::ModuleOp module) {
  return std::make_unique<CompiledKernels>(module);
}

} // namespace spmdc
