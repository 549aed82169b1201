//===- DivideAndConquer.h - eigenvalues of tridiagonal matrices -*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

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
