//===- CpuUnits.h - what a CPU computes with --------------------*- C++ -*-===//
#pragma once

#include <cstdint>

namespace spmdc {

/// The units of a target on which the loops of kernels depend.
struct CpuUnits {
  int64_t vectorBytes = 16;   ///< Of the widest vectors.
  bool hasMasks = false;      ///< Some elements of a vector are read and written at the cost of all.
  bool hasMatrixUnit = false; ///< Intel's AMX for bf16, with vector instructions that round to it.
};

} // namespace spmdc
