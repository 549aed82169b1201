//===- BoxEntry.h - a box of bytes for kernels ------------------*- C++ -*-===//
//
// Included by kernels/Boxes.cu and by the host code that fills tables of boxes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spmd::cuda {

/// Loops of a box: the greatest rank of an array (runtime/collective/Movement.cpp).
inline constexpr uint32_t kBoxRank = 16;

/// For each index of `counts` a run of `run` units, `units` in total. Offsets and strides are in units, too.
struct BoxEntry {
  int64_t source, target, run, units;
  int64_t rank;
  int64_t counts[kBoxRank], sourceStrides[kBoxRank], targetStrides[kBoxRank];
};

} // namespace spmd::cuda
