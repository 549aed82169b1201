//===- ProgramCheckHelper.h - compares emulated GPUs and CPUs ---*- C++ -*-===//
#pragma once

#include "passes/gpu/Libdevice.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <set>

namespace spmd::test {

struct ProgramCheck {
  /// Replaces each `T` of `T[` in the text.
  std::string type = "f32";
  double ulps = 0;        ///< Allowed difference between CPUs and GPUs.
  bool areExact = false;  ///< The arguments are small integers.
  bool sharesGpu = false; ///< All devices on one GPU; then there is no NCCL.
  uint64_t seed = 1;
  uint64_t orders = 1; ///< Number of orders of the streams.
};

/// Runs the program on CPU devices and on emulated GPUs, there through the host and through NCCL, several times; the
/// results must agree in every bit. Fails the running test if they differ; returns the collectives of the plan.
std::set<CollectiveKind> checkOnGpus(std::string text, const ProgramCheck &check = {});

/// Returns the collectives of the plan's steps, including nested ones.
std::set<CollectiveKind> collectivesOf(const std::vector<Step> &steps);

/// Skips a test that calls mathematical functions if the CUDA toolkit is not installed.
#define SKIP_WITHOUT_LIBDEVICE()                                                                                       \
  if (!spmdc::findLibdevice(""))                                                                                       \
  GTEST_SKIP() << "no libdevice: the CUDA toolkit is not installed"

} // namespace spmd::test
