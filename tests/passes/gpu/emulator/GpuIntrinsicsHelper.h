//===- GpuIntrinsicsHelper.h - GPU instructions on this machine -*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace spmdc {

struct GpuIntrinsic {
  std::string name; ///< Opcode, rounding mode, and `f` or `d`: `add.rz.f`; conversions: `ui2d.rm`, `d2f.rz`, `d2h.rn`.
  void *function;
};

/// The arithmetic instructions that one instruction of this machine does not compute.
std::vector<GpuIntrinsic> getArithmeticIntrinsics();

} // namespace spmdc
