//===- BidiagonalForm.h - reduction to a bidiagonal matrix ------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/TridiagonalForm.h"

namespace spmdc::stablehlo {

/// A = Q B P^H of square matrices, with B real and upper bidiagonal.
struct BidiagonalForm {
  Matrix main, above; ///< B's diagonal, [batch..., n, 1], and the elements above it, [batch..., n - 1, 1].
  llvm::SmallVector<BlockReflection> left, right; ///< Of Q and P.
};

BidiagonalForm bidiagonalForm(const Matrix &a);

} // namespace spmdc::stablehlo
