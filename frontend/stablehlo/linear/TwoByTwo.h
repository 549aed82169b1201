//===- TwoByTwo.h - eigenvalues of matrices of two rows ---------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// Matrices [[a, b], [c, d]] whose elements are the elements of columns, divided by the largest one of each. Their
/// eigenvalues are d plus an offset, half +- the root of half^2 + b c; the product of the offsets is -b c.
struct TwoByTwo {
  Matrix a, b, c, d, scale;
  Matrix half, discriminant; ///< (a - d) / 2, and half^2 + b c.

  static TwoByTwo of(const Matrix &a, const Matrix &b, const Matrix &c, const Matrix &d);

  /// The offsets of larger and of smaller size, complex, neither with cancellation. Of conjugate pairs, the one with
  /// the positive imaginary part is the first.
  Matrix largerOffset() const;
  Matrix smallerOffset() const;
  /// Of real matrices: whether the eigenvalues are no real numbers.
  Matrix isPair() const { return discriminant.re() < 0; }
};

} // namespace spmdc::stablehlo
