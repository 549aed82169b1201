//===- KernelCode.h - PTX on one GPU ----------------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <memory>
#include <string>

namespace spmd::cuda {

/// A module of kernels, loaded into the current context. The functions are valid as long as this object lives.
class KernelCode {
public:
  /// `ptx` is text, or a cubin. Throws spmd::Error with the log of the driver's assembler; messages call the code
  /// `name`. The context must be current, here and in the destructor.
  KernelCode(std::shared_ptr<const Driver> driver, const std::string &ptx, const std::string &name);
  ~KernelCode();
  KernelCode(const KernelCode &) = delete;
  KernelCode &operator=(const KernelCode &) = delete;

  /// Throws spmd::Error if there is none of this name.
  Function getFunction(const std::string &symbol) const;

private:
  std::shared_ptr<const Driver> driver;
  std::string name;
  Module module = nullptr;
};

} // namespace spmd::cuda
