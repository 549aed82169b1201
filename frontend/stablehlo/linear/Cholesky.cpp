//===- Cholesky.cpp - Cholesky factorization ------------------------------===//
//
// Blocks of columns, from the left: the block on the diagonal by columns, those below it by its inverse, and the rest
// minus their product (Golub, Van Loan, section 4.2; XLA's CholeskyExpander has the same order).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// The factor of Hermitian blocks, column by column.
static Matrix factorBlock(const Matrix &a) {
  Matrix column = a.columnNumbers(), row = a.rowNumbers();
  Matrices done = repeat(a.columns(), {a}, [&](const Matrix &at, ArrayRef<Matrix> carries) -> Matrices {
    const Matrix &x = carries[0];
    Matrix root = map<spmdc::SqrtOp>(x.row(at).column(at).re());
    // Materialized: the quotients are not computed again for each element. The one on the diagonal is the root itself,
    // also of an infinite variance, which stands for an observation that is missing.
    Matrix below = materialized(select(row == at, root, x.column(at) / root)), right = materialized(x.row(at) / root);
    // The rows above are not read any more.
    return {select(column > at, x - below * right, select(column == at, below, x))};
  });
  Matrix factor = done[0].lowerTriangle();
  return factor.isComplex() ? select(factor.rowNumbers() == column, factor.re(), factor) : factor;
}

Factor cholesky(const Matrix &a) {
  int64_t size = a.columns(), blockSize = blockSizeOf(a, size);
  Matrices columns;
  Matrix rest = a;
  for (int64_t begin = 0; begin < size; begin += blockSize) {
    int64_t end = std::min(blockSize, size - begin), left = size - begin;
    Matrix corner = rest.block(0, end, 0, end);
    Matrix factor = factorBlock(corner.hermitian());
    Matrices parts{factor};
    if (end < left) {
      // A step of refinement of this product was tried: the results of gaussian_process were no nearer to those of f64.
      Matrix under = rest.block(end, left, 0, end);
      Matrix below = a.lanes() > 0 ? substitute(factor, under.adjoint()).adjoint()
                                   : multiply(under, invertLower(factor), false, /*adjointY=*/true);
      rest = rest.block(end, left, end, left) - multiply(below, below, false, /*adjointY=*/true);
      parts.push_back(below);
    }
    columns.push_back(stackRows(parts).paddedRows(begin, 0));
  }
  Matrix factor = stackColumns(columns), diagonal = factor.diagonal().re(), number = diagonal.rowNumbers() + 1;
  // NaN is not positive either.
  Matrix failed = select(diagonal > 0, static_cast<double>(size + 1), number).reduceRows(ReductionKind::min);
  return {factor, select(failed == static_cast<double>(size + 1), 0, failed)};
}

} // namespace spmdc::stablehlo
