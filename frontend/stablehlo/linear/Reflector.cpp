//===- Reflector.cpp - one Householder reflection -------------------------===//

#include "frontend/stablehlo/linear/Reflector.h"

using namespace mlir;

namespace spmdc::stablehlo {

static Matrix largestOf(const Matrix &column) {
  Matrix size = map<spmdc::AbsOp>(column.re()).reduceRows(ReductionKind::max), largest = size;
  if (column.isComplex()) {
    Matrix other = map<spmdc::AbsOp>(column.im()).reduceRows(ReductionKind::max);
    largest = select(other > size, other, size);
  }
  return largest;
}

Matrix normOf(const Matrix &column) {
  Matrix largest = largestOf(column), scale = select(largest > 0, largest, 1);
  return scale * map<spmdc::SqrtOp>(squaredSize(column / scale).reduceRows(ReductionKind::sum));
}

Reflector reflectorOf(const Matrix &column, const Matrix &at) {
  Matrix row = column.rowNumbers(), own = select(row >= at, column, 0), largest = largestOf(own);
  // Columns whose squares would overflow, or whose elements are nearly subnormal, are divided by their largest element;
  // others are not, because quotients are rounded.
  double most = column.elementType().isF64() ? 1e140 : 1e15;
  Matrix isUsual = (largest > 1 / most) & (largest < most);
  Matrix scale = materialized(select(isUsual | (largest == 0), 1, largest));
  Matrix scaled = materialized(own / scale), alpha = scaled.row(at), below = select(row > at, scaled, 0);
  Matrix isZero = largestOf(below) == 0;
  if (alpha.isComplex())
    isZero = isZero & (alpha.im() == 0);
  // The sign avoids a difference of two numbers of one sign.
  Matrix whole = map<spmdc::SqrtOp>(squaredSize(scaled).reduceRows(ReductionKind::sum));
  Matrix beta = materialized(select(isZero, alpha.re(), select(alpha.re() >= 0, -whole, whole)));
  Matrix tau = select(isZero, 0, (beta - alpha) / select(isZero, 1, beta));
  Matrix vector = select(row == at, 1, below / select(isZero, 1, alpha - beta));
  return {materialized(vector), materialized(tau), beta * scale};
}

// Sums in kernels, not products of the library: so a loop of short steps is one function.

Matrix reflectRows(const Reflector &by, const Matrix &x) {
  Matrix sums = materialized((by.vector.conjugated() * x).reduceRows(ReductionKind::sum));
  return x - (by.tau.conjugated() * by.vector) * sums;
}

Matrix reflectColumns(const Matrix &x, const Reflector &by) {
  Matrix sums = materialized((x * by.vector.transposed()).reduceColumns(ReductionKind::sum));
  return x - sums * (by.tau * by.vector.adjoint());
}

} // namespace spmdc::stablehlo
