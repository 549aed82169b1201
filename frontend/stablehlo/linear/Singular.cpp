//===- Singular.cpp - singular values -------------------------------------===//
//
// LAPACK's gesdd: a QR factorization of matrices with more rows than columns, reduction to bidiagonal matrices, divide
// and conquer, and the reflections of all of these.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/BidiagonalForm.h"
#include "frontend/stablehlo/linear/BidiagonalSingular.h"
#include "frontend/stablehlo/linear/Factorizations.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// With at least as many rows as columns.
Singular singularOfTall(const Matrix &a, SingularVectors wanted) {
  int64_t rows = a.rows(), size = a.columns();
  Matrix largest = absolute(a).reduceColumns(ReductionKind::max).reduceRows(ReductionKind::max);
  // Zero, or NaN for matrices with infinities or NaN.
  Matrix nothing = materialized(largest * 0), scale = materialized(powerOfTwoOf(largest));
  Matrix square = materialized(a / scale);
  std::optional<Reflectors> tall;
  if (rows > size) {
    tall = qr(square);
    square = materialized(tall->matrix.rows(0, size).upperTriangle());
  }
  bool hasVectors = wanted != SingularVectors::none;
  BidiagonalForm form = bidiagonalForm(square);
  BidiagonalSingular found = singularOfBidiagonal(form.main, form.above, hasVectors);
  Matrix values = select(largest == 0, 0, found.values * scale) + nothing;
  Singular result{std::nullopt, values, std::nullopt};
  if (!hasVectors)
    return result;
  Matrix left = applyBlocks(form.left, *found.left);
  if (tall) {
    Matrix wide = left.paddedRows(0, rows - size);
    if (wanted == SingularVectors::square) {
      Matrix other = a.rows(0, 1).filled(0).paddedRows(0, rows - 1).columns(0, 1);
      Matrix identity = select(other.rowNumbers() == a.transposed().columnNumbers(), other.filled(1), 0);
      wide = stackColumns({wide, identity.columns(size, rows)});
    }
    left = applyReflectors(tall->matrix, tall->taus, wide, /*isAdjoint=*/false);
  }
  result.left = left + nothing;
  result.right = applyBlocks(form.right, *found.right).adjoint() + nothing;
  return result;
}

} // namespace

Singular singular(const Matrix &a, SingularVectors wanted) {
  if (a.rows() >= a.columns())
    return singularOfTall(a, wanted);
  Singular other = singularOfTall(a.adjoint(), wanted);
  if (wanted == SingularVectors::none)
    return other;
  return {other.right->adjoint(), other.values, other.left->adjoint()};
}

} // namespace spmdc::stablehlo
