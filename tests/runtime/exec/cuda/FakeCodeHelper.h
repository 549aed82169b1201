//===- FakeCodeHelper.h - PTX that runs in the emulator ---------*- C++ -*-===//
#pragma once

#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"

#include <map>
#include <memory>
#include <string>

namespace spmd::cuda {

/// A kernel of a loaded module.
struct FakeKernel {
  std::shared_ptr<spmdc::GpuEmulator> emulator;
  std::string symbol;
  int64_t argumentCount = 0;
};

/// Maps PTX to the LLVM IR from which it was compiled. It knows the runtime's own kernels
/// (runtime/device/cuda/kernels). Not thread-safe: FakeDriver locks.
class FakeCode {
public:
  void add(const std::string &ptx, const std::string &llvmText) { texts[ptx] = llvmText; }
  /// Returns null for unknown PTX. Each text is compiled once per process.
  std::shared_ptr<spmdc::GpuEmulator> load(const std::string &ptx) const;

private:
  std::map<std::string, std::string> texts;
};

} // namespace spmd::cuda
