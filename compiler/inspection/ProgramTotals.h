//===- ProgramTotals.h - the costs of a program, per device -----*- C++ -*-===//
#pragma once

#include "compiler/inspection/Inspection.h"

#include <cstdint>

namespace spmdc {

/// The sums of an Inspection over all functions: communication, compute and memory of one device.
struct ProgramTotals {
  size_t collectives = 0;
  double wireBytes = 0, communicationSeconds = 0, computeSeconds = 0, flops = 0;
  double memoryBytes = 0;  ///< Bytes that kernels and library calls read and write, loop iterations included.
  double savedSeconds = 0; ///< Of communicationSeconds, what combining and collective matmuls save.
  int64_t argumentBytes = 0, peakBytes = 0;

  double netCommunicationSeconds() const { return communicationSeconds - savedSeconds; }
  double seconds() const { return netCommunicationSeconds() + computeSeconds; }
};

ProgramTotals totalsOf(const Inspection &inspection);

} // namespace spmdc
