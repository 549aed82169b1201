//===- BoxEntry.h - a box of bytes, as kernels move it ----------*- C++ -*-===//
//
// Included by kernels/Boxes.cu and by the host code that fills tables of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spmd::cuda {

/// Loops of a box: as many as an array has dimensions (runtime/collective/Movement.cpp).
inline constexpr uint32_t kBoxRank = 16;

/// For each index of `counts` a run of `run` units, `units` in all. Offsets and strides are in units, too.
struct BoxEntry {
  int64_t source, target, run, units;
  int64_t rank;
  int64_t counts[kBoxRank], sourceStrides[kBoxRank], targetStrides[kBoxRank];
};

} // namespace spmd::cuda
