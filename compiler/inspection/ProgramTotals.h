//===- ProgramTotals.h - what a program costs each device -------*- C++ -*-===//
#pragma once

#include "compiler/inspection/Inspection.h"

#include <cstdint>

namespace spmdc {

/// What a program sends, computes and keeps in all, on each device.
struct ProgramTotals {
  size_t collectives = 0;
  double wireBytes = 0, communicationSeconds = 0, computeSeconds = 0, flops = 0;
  double memoryBytes = 0;  ///< Read and written by what is computed, trips included.
  double savedSeconds = 0; ///< Of the communication, by combining and by rings.
  int64_t argumentBytes = 0, peakBytes = 0;

  double netCommunicationSeconds() const { return communicationSeconds - savedSeconds; }
  double seconds() const { return netCommunicationSeconds() + computeSeconds; }
};

ProgramTotals totalsOf(const Inspection &inspection);

} // namespace spmdc
