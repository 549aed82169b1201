//===- KernelModule.h - the generated code of an artifact -------*- C++ -*-===//
#pragma once

#include "runtime/artifact/CompiledLoops.h"
#include "runtime/device/cpu/ParallelFor.h"

#include <vector>

namespace spmd {

/// A shared object that is loaded from memory. The functions are valid as long as this object lives.
class KernelModule {
public:
  /// Throws spmd::Error if this CPU cannot run the code, if it cannot be loaded, or if a symbol is missing.
  explicit KernelModule(const Artifact &artifact);
  ~KernelModule();
  KernelModule(const KernelModule &) = delete;
  KernelModule &operator=(const KernelModule &) = delete;

  KernelFunction getKernel(int32_t index) const { return reinterpret_cast<KernelFunction>(symbols[index]); }
  LoopFunction getLoop(int32_t index) const { return reinterpret_cast<LoopFunction>(symbols[index]); }

private:
  int fd = -1;
  void *handle = nullptr;
  std::vector<void *> symbols; ///< By their numbers in Plan::kernels.
};

} // namespace spmd
