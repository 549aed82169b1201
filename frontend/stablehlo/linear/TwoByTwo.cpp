//===- TwoByTwo.cpp - eigenvalues of matrices of two rows -----------------===//

#include "frontend/stablehlo/linear/TwoByTwo.h"

using namespace mlir;

namespace spmdc::stablehlo {

TwoByTwo TwoByTwo::of(const Matrix &a, const Matrix &b, const Matrix &c, const Matrix &d) {
  Matrix largest = absolute(stackColumns({a, b, c, d})).reduceColumns(ReductionKind::max);
  Matrix scale = select(largest > 0, largest, 1), half = (a / scale - d / scale) * 0.5;
  return {a / scale, b / scale, c / scale, d / scale, scale, half, half * half + (b / scale) * (c / scale)};
}

/// The root with a real part that is not negative, and for negative numbers i times that of their size.
static Matrix complexRoot(const Matrix &x) {
  Matrix size = absolute(x), larger = map<spmdc::SqrtOp>((map<spmdc::AbsOp>(x.re()) + size) * 0.5);
  Matrix smaller = map<spmdc::AbsOp>(x.im()) * 0.5 / select(larger > 0, larger, 1), isLeft = x.re() < 0;
  Matrix im = select(isLeft, larger, smaller);
  return {select(isLeft, smaller, larger), select(x.im() < 0, -im, im)};
}

Matrix TwoByTwo::largerOffset() const {
  Matrix root = complexRoot(discriminant), isAlong = half.re() * root.re() + half.im() * root.im() >= 0;
  return half + select(isAlong, root, -root);
}

Matrix TwoByTwo::smallerOffset() const {
  Matrix larger = largerOffset(), isZero = larger == 0;
  return select(isZero, 0, -(b * c) / select(isZero, 1, larger));
}

} // namespace spmdc::stablehlo
