//===- DivideAndConquer.h - eigenvalues of tridiagonal matrices -*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// The equal parts of the rows of a matrix: a power of two of leaves.
struct Leaves {
  int64_t count = 1, size; ///< Of leaves, and of their rows.

  explicit Leaves(int64_t rows);
  int64_t rows() const { return count * size; } ///< With the zeros behind the matrix.
  /// A column of at most as many rows, filled up with zeros: [batch..., count, size, 1].
  Matrix split(const Matrix &column) const;
};

/// How rows of a leaf of this many rows are joined to matrices of 2, 4, ... rows: calls `body` with the carries for
/// each of these sizes.
struct RowGroups {
  Matrix row;            ///< The number of a row in its leaf, i32[..., 1, rows, 1].
  Matrix group, isUpper; ///< The number of the matrix that it becomes a part of, and whether in the upper half.
  Matrix joint;          ///< The last row of that half.
  Matrix half;           ///< Its number of rows, i32[..., 1, 1].
  /// The elements of a column in the rows of the joints; 0 where there are none.
  Matrix atJoint(const Matrix &column) const;
  /// For each column of square matrices, its element in the last row of the upper half, or in the first of the lower.
  Matrix atEnds(const Matrix &matrix) const;
};
Matrices joinRows(const Matrix &like, const Matrices &initials,
                  llvm::function_ref<Matrices(const RowGroups &, llvm::ArrayRef<Matrix>)> body);

/// Some eigenvalues of each matrix, [batch..., count, 1], and their eigenvectors as columns where asked for.
struct TridiagonalEigen {
  Matrix values;
  std::optional<Matrix> vectors;
};

/// The first `count` eigenvalues, in ascending or descending order, of the real symmetric matrices with these elements
/// on the diagonal, [batch..., n, 1], and beside it, [batch..., n - 1, 1].
TridiagonalEigen eigenOfTridiagonal(const Matrix &main, const Matrix &beside, int64_t count, bool isDescending,
                                    bool hasVectors);

} // namespace spmdc::stablehlo
