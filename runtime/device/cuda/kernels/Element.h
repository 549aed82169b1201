//===- Element.h - element types on a GPU -----------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {

/// The type of an element in memory (`Stored`) and in computations (`Value`), as in runtime/support/Elements.h.
template <typename T> struct Plain {
  using Stored = T;
  using Value = T;
  static SPMD_DEVICE Value load(Stored stored) { return stored; }
  static SPMD_DEVICE Stored store(Value value) { return value; }
};
struct Bf16 {
  using Stored = uint16_t;
  using Value = float;
  static SPMD_DEVICE Value load(Stored stored) { return bf16ToFloat(stored); }
  static SPMD_DEVICE Stored store(Value value) { return floatToBf16(value); }
};
struct F16 {
  using Stored = uint16_t;
  using Value = float;
  static SPMD_DEVICE Value load(Stored stored) { return f16ToFloat(stored); }
  static SPMD_DEVICE Stored store(Value value) { return floatToF16(value); }
};

} // namespace spmd::cuda
