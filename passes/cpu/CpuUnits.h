//===- CpuUnits.h - what a CPU multiplies with ------------------*- C++ -*-===//
#pragma once

#include <cstdint>

namespace spmdc {

/// The units of a target that streamed kernels (StreamedLoops.h) name.
struct CpuUnits {
  int64_t vectorBytes = 16;   ///< Of the widest vectors.
  bool hasMatrixUnit = false; ///< Intel's AMX for bf16, with vector instructions that round to it.
};

} // namespace spmdc
