//===- BidiagonalSingular.h - singular values of bidiagonal matrices -*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// B = U S V^T: singular values in descending order, [batch..., n, 1], and U and V where asked for.
struct BidiagonalSingular {
  Matrix values;
  std::optional<Matrix> left, right;
};

/// Of real upper bidiagonal matrices with these elements on the diagonal, [batch..., n, 1], and above it, [batch...,
/// n - 1, 1].
BidiagonalSingular singularOfBidiagonal(const Matrix &main, const Matrix &above, bool hasVectors);

} // namespace spmdc::stablehlo
