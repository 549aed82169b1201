//===- MatmulShape.h - a (batched) matrix product ---------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"
#include "runtime/support/OperandView.h"

#include <cstdint>

namespace spmd {

/// result[b] = op(lhs[b]) op(rhs[b]), as in MatmulStep; arrays are row-major and contiguous where there is no view.
struct MatmulShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transposeLhs = false, transposeRhs = false;
  DType operand = DType::F32, result = DType::F32;
  OperandView lhsView = {}, rhsView = {}; ///< CPU only.
  bool allowTf32 = false;                 ///< GPU only.
  bool isGram = false; ///< Both sides are one matrix, one of them transposed: the result is symmetric.
  bool hasViews() const { return !lhsView.isEmpty() || !rhsView.isEmpty(); }
  auto operator<=>(const MatmulShape &) const = default;
};

} // namespace spmd
