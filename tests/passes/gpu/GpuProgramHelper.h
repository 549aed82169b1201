//===- GpuProgramHelper.h - compiles and emulates GPU code ------*- C++ -*-===//
#pragma once

#include "passes/gpu/EmitGpu.h"
#include "passes/gpu/Libdevice.h"
#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"
#include "tests/passes/support/PlannedProgram.h"

namespace spmdc {

/// A program as PTX, whose kernels run in the emulator.
class GpuProgram : public PlannedProgram {
public:
  /// The order in which threads run.
  enum Variant : unsigned { Forward, Backward, Shuffled, VariantCount };

  /// Compiles function @main of the module; fails the running test on errors.
  GpuProgram(mlir::ModuleOp module, const std::string &chip = "sm_90");

  bool isGood() const override { return emulator != nullptr; }
  unsigned getVariantCount() const override { return VariantCount; }
  /// A use of registers of a running product, or the errors of ptxas about the PTX, including spilled registers;
  /// without ptxas, none of these.
  std::string findFault() const override { return findFault(artifact.code); }
  static std::string findFault(const std::string &ptx);
  /// The exit status and output of `ptxas -v`; empty if there is no ptxas.
  static std::pair<int, std::string> assemble(const std::string &ptx, const std::string &binary = "/dev/null");
  static bool hasPtxas();
  /// The instructions of the chip that ptxas chooses; nullopt without ptxas and nvdisasm.
  static std::optional<std::string> disassemble(const std::string &ptx);

  /// Whether accesses that nothing orders are errors. They are the same in each order of threads (GpuRacesHelper.h), so
  /// only the first one looks for them.
  bool findsRaces = true;

private:
  std::string launch(const spmd::KernelInfo &kernel, int64_t extent, const std::vector<void *> &operands,
                     const std::vector<int64_t> &coordinates, unsigned way) override;

  std::unique_ptr<GpuEmulator> emulator;
};

/// Skips a test that calls mathematical functions if there is no CUDA toolkit.
#define SKIP_WITHOUT_LIBDEVICE()                                                                                       \
  if (!findLibdevice(""))                                                                                              \
  GTEST_SKIP() << "no libdevice: the CUDA toolkit is not installed"

/// Compiles for sm_90.
inline std::unique_ptr<PlannedProgram> compileForGpu(mlir::ModuleOp module) {
  return std::make_unique<GpuProgram>(module);
}

} // namespace spmdc
