//===- MatmulShape.h - a (batched) matrix product ---------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"

#include <cstdint>

namespace spmd {

/// result[b] = op(lhs[b]) op(rhs[b]), row-major and contiguous, as in MatmulStep.
struct MatmulShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transposeLhs = false, transposeRhs = false;
  DType operand = DType::F32, result = DType::F32;
  auto operator<=>(const MatmulShape &) const = default;
};

} // namespace spmd
