//===- GpuProgramHelper.h - compiles IR for a GPU, runs it here -*- C++ -*-===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "passes/gpu/EmitGpu.h"
#include "tests/passes/gpu/GpuEmulatorHelper.h"

#include <optional>

namespace spmdc {

/// The whole way from array operations to PTX, and a plain interpreter of the plan's steps on one device (no
/// collectives, no matrix products) whose kernels run in the emulator.
class GpuProgram {
public:
  /// Compiles function @main of the module; fails the running test on errors.
  GpuProgram(mlir::ModuleOp module, const std::string &chip = "sm_90");

  bool isGood() const { return emulator != nullptr; }
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> arguments, ThreadOrder order, std::vector<int64_t> coordinates = {});

  spmd::Artifact artifact; ///< With PTX as its code.
  std::string llvmText;

private:
  std::unique_ptr<GpuEmulator> emulator;
};

/// What ptxas says of PTX, or nothing where it finds no fault and spills no register. Where there is no ptxas,
/// `isAvailable` is false.
struct Ptxas {
  static bool isAvailable();
  static std::optional<std::string> check(const std::string &ptx, const std::string &chip);
};

} // namespace spmdc
