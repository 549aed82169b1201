//===- TridiagonalForm.h - reduction to a tridiagonal matrix ----*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// The product of some reflections, I - V S V^H, of the rows from `begin` on.
struct BlockReflection {
  int64_t begin;
  Matrix vectors;  ///< V^T, [batch..., reflections, rows].
  Matrix triangle; ///< S^T.
};
/// The product of all of these and a matrix, the last one first.
Matrix applyBlocks(llvm::ArrayRef<BlockReflection> blocks, const Matrix &x);

/// The columns of a block in a reduction from both sides. Each step costs the products with the block's vectors, too,
/// so there are fewer than in other factorizations.
int64_t reductionBlockOf(int64_t size);

/// A = Q T Q^H of Hermitian matrices, with T real, symmetric and tridiagonal.
struct TridiagonalForm {
  Matrix main, beside; ///< T's diagonal, [batch..., n, 1], and the elements beside it, [batch..., n - 1, 1].
  llvm::SmallVector<BlockReflection> blocks; ///< Of Q.
};

/// Of complete matrices of at least two rows: both triangles are read.
TridiagonalForm tridiagonalForm(const Matrix &a);

} // namespace spmdc::stablehlo
