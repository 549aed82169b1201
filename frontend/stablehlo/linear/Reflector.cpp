//===- Reflector.cpp - one Householder reflection -------------------------===//

#include "frontend/stablehlo/linear/Reflector.h"

using namespace mlir;

namespace spmdc::stablehlo {

Matrix normOf(const Matrix &column) {
  Matrix size = map<spmdc::AbsOp>(column.re()).reduceRows(ReductionKind::max), largest = size;
  if (column.isComplex()) {
    Matrix other = map<spmdc::AbsOp>(column.im()).reduceRows(ReductionKind::max);
    largest = select(other > size, other, size);
  }
  Matrix scale = select(largest > 0, largest, 1);
  return scale * map<spmdc::SqrtOp>(squaredSize(column / scale).reduceRows(ReductionKind::sum));
}

Reflector reflectorOf(const Matrix &column, const Matrix &at) {
  Matrix row = column.rowNumbers(), alpha = column.row(at), below = select(row > at, column, 0);
  Matrix isZero = normOf(below) == 0;
  if (alpha.isComplex())
    isZero = isZero & (alpha.im() == 0);
  // The sign avoids a difference of two numbers of one sign.
  Matrix whole = normOf(select(row >= at, column, 0));
  Matrix beta = select(isZero, alpha.re(), select(alpha.re() >= 0, -whole, whole));
  Matrix tau = select(isZero, 0, (beta - alpha) / select(isZero, 1, beta));
  return {select(row == at, 1, below / select(isZero, 1, alpha - beta)), tau, beta};
}

Matrix reflectRows(const Reflector &by, const Matrix &x) {
  return x - (by.tau.conjugated() * by.vector) * multiply(by.vector, x, /*adjointX=*/true);
}

Matrix reflectColumns(const Matrix &x, const Reflector &by) {
  return x - multiply(x, by.vector) * (by.tau * by.vector.adjoint());
}

} // namespace spmdc::stablehlo
