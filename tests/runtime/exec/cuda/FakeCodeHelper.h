//===- FakeCodeHelper.h - PTX that runs in the emulator ---------*- C++ -*-===//
#pragma once

#include "tests/passes/gpu/GpuEmulatorHelper.h"

#include <map>
#include <memory>
#include <string>

namespace spmd::cuda {

/// A kernel of a module that is loaded.
struct FakeKernel {
  std::shared_ptr<spmdc::GpuEmulator> emulator;
  std::string symbol;
  int64_t argumentCount = 0;
};

/// Finds for PTX the LLVM IR that it was made of. The runtime's own kernels (runtime/device/cuda/kernels) are known.
/// Not thread-safe: FakeDriver locks.
class FakeCode {
public:
  void add(const std::string &ptx, const std::string &llvmText) { texts[ptx] = llvmText; }
  /// Null where nobody knows this PTX. The same text is translated once in a process.
  std::shared_ptr<spmdc::GpuEmulator> load(const std::string &ptx) const;

private:
  std::map<std::string, std::string> texts;
};

} // namespace spmd::cuda
