//===- ProgramCheckHelper.h - a program on emulated GPUs and CPUs -*- C++ -*-===//
#pragma once

#include "passes/gpu/Libdevice.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <set>

namespace spmd::test {

struct ProgramCheck {
  /// Stands for each `T[` of the text.
  std::string type = "f32";
  double ulps = 0;        ///< Between a result of the CPUs and one of the GPUs.
  bool areExact = false;  ///< The arguments are small integers.
  bool sharesGpu = false; ///< All devices on one GPU; then there is no NCCL.
  uint64_t seed = 1;
  uint64_t orders = 1; ///< Of the streams.
};

/// Runs the program on CPU devices and on emulated GPUs, there through the host and through NCCL, several times, whose
/// results must agree in every bit. Fails the running test where they differ; returns the collectives of the plan.
std::set<CollectiveKind> checkOnGpus(std::string text, const ProgramCheck &check = {});

/// Of the plan's steps, nested ones included.
std::set<CollectiveKind> collectivesOf(const std::vector<Step> &steps);

/// Ends a test that calls mathematical functions where there is no CUDA toolkit.
#define SKIP_WITHOUT_LIBDEVICE()                                                                                       \
  if (!spmdc::findLibdevice(""))                                                                                       \
  GTEST_SKIP() << "no libdevice: the CUDA toolkit is not installed"

} // namespace spmd::test
