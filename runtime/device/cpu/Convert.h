//===- Convert.h - half-width floats and f32 --------------------*- C++ -*-===//
//
// Converts bf16 and f16 to f32 (exact) and back (to nearest, ties to even, NaN stays NaN), vectorised.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

#include <cstdint>

namespace spmd {

/// `dtype` is BF16 or F16.
void widenToF32(DType dtype, const void *source, float *target, int64_t count);
void narrowFromF32(DType dtype, const float *source, void *target, int64_t count);

} // namespace spmd
