//===- GpuIntrinsicsHelper.h - GPU instructions on this machine -*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace spmdc {

struct GpuIntrinsic {
  std::string name; ///< That of the intrinsic, without `llvm.nvvm.`.
  void *function;
};

/// The instructions that compute; what has to do with threads is the emulator's.
std::vector<GpuIntrinsic> getArithmeticIntrinsics();

} // namespace spmdc
