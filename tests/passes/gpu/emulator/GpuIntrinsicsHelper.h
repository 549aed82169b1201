//===- GpuIntrinsicsHelper.h - GPU instructions on this machine -*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace spmdc {

struct GpuIntrinsic {
  std::string name; ///< The name of the intrinsic, without `llvm.nvvm.`.
  void *function;
};

/// The arithmetic instructions; the emulator implements those about threads.
std::vector<GpuIntrinsic> getArithmeticIntrinsics();

} // namespace spmdc
