//===- TridiagonalForm.h - reduction to a tridiagonal matrix ----*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// A = Q T Q^H of Hermitian matrices, with T real, symmetric and tridiagonal.
struct TridiagonalForm {
  /// The product of some reflections, I - V S V^H, of the rows from `begin` on.
  struct Block {
    int64_t begin;
    Matrix vectors;  ///< V^T, [batch..., reflections, rows].
    Matrix triangle; ///< S^T.
  };

  Matrix main, beside; ///< T's diagonal, [batch..., n, 1], and the elements beside it, [batch..., n - 1, 1].
  llvm::SmallVector<Block> blocks;

  /// Q x.
  Matrix apply(const Matrix &x) const;
};

/// Of complete matrices of at least two rows: both triangles are read.
TridiagonalForm tridiagonalForm(const Matrix &a);

} // namespace spmdc::stablehlo
