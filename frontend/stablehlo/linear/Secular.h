//===- Secular.h - eigenvalues of a diagonal and a rank-one matrix -*- C++ -*-===//
//
// D + rho z z^T, as a step of divide and conquer has it. Its eigenvalues are the roots of the secular equation
// 1 / rho + sum z_i^2 / (d_i - x) = 0, one between each two neighbours of D, which are the function's poles. Singular
// values of a diagonal and one row are the roots of eigenvalues of D^2 + z z^T.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// Columns of real numbers, [batch..., n, 1]; all D, in any order, and their eigenvalues are in [-1, 1].
struct RankOneSum {
  Matrix diagonal, vector;
  Matrix weight;          ///< rho >= 0, [batch..., 1, 1], or [batch..., n, 1] with groups.
  bool isSquared = false; ///< D^2 in the place of D, which is not negative.
  /// Rows that are not deflated in any case.
  std::optional<Matrix> isKept;
  /// Several matrices, one behind the other on the diagonal: the number of each row's, i32[..., n, 1].
  std::optional<Matrix> group;
};

/// The eigenvalues in the order of the poles: each is that behind its pole. Poles whose element of z is a rounding
/// error are eigenvalues as they are, with the unit vector (deflation). The others are origin + offset, exactly, with a
/// pole as origin: differences from other poles have no cancellation.
struct SecularRoots {
  Matrix isSolved, origin, offset;
  Matrix number;  ///< Of the pole, i32.
  bool isSquared; ///< The squares of the roots are those of the origins, plus the offsets.

  Matrix values() const;
  /// Some of them, in this order.
  SecularRoots taken(const Matrix &order) const;
};

/// A decomposition: vector j has the elements numerators[i] / (poles[i] - values[j]), before it is of unit length.
struct SecularForm {
  Matrix poles, numerators;
  SecularRoots roots;
  std::optional<Matrix> group;

  /// The eigenvectors of these roots as columns; with groups, of all roots in their order.
  Matrix vectorsOf(const SecularRoots &chosen) const { return normalized(chosen, numerators, std::nullopt); }
  /// The left singular vectors of D with z as the row where `isRow`, whose d is 0; the right ones are the eigenvectors.
  Matrix leftVectorsOf(const SecularRoots &chosen, const Matrix &isRow) const {
    return normalized(chosen, numerators * poles, isRow);
  }
  /// The sums of rows[i] times element i of the vectors of all roots, [batch..., n, 1], for columns `rows`.
  Matrices combine(llvm::ArrayRef<Matrix> rows) const;

private:
  Matrix normalized(const SecularRoots &chosen, const Matrix &factors, const std::optional<Matrix> &isRow) const;
};
SecularForm solveSecular(const RankOneSum &sum);

} // namespace spmdc::stablehlo
