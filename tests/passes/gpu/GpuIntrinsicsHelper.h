//===- GpuIntrinsicsHelper.h - llvm.nvvm.* on this machine ------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace spmdc {

struct GpuIntrinsic {
  std::string name; ///< Without `llvm.nvvm.`.
  void *function;
};

/// The intrinsics that compute; what has to do with threads is the emulator's.
std::vector<GpuIntrinsic> getArithmeticIntrinsics();

} // namespace spmdc
