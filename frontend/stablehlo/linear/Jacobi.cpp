//===- Jacobi.cpp - sweeps of Jacobi's rotations --------------------------===//

#include "frontend/stablehlo/linear/Jacobi.h"

#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

Matrix realOf(const Matrix &b) { return b.isComplex() ? absolute(b) : b; }

Rotation rotationOf(const Matrix &a, const Matrix &b, const Matrix &d) {
  Matrix own = realOf(b), isZero = own == 0;
  Matrix tau = (d - a) / select(isZero, 1, own * 2);
  Matrix size = map<spmdc::AbsOp>(tau);
  // A square that overflows gives the tangent 0, which is right.
  Matrix smaller = 1 / (size + map<spmdc::SqrtOp>(tau * tau + 1));
  Matrix tangent = select(isZero, 0, select(tau >= 0, smaller, -smaller));
  Matrix cosine = 1 / map<spmdc::SqrtOp>(tangent * tangent + 1);
  std::optional<Matrix> phase;
  if (b.isComplex())
    phase = select(isZero, 1, b / select(isZero, 1, own));
  return {cosine, tangent * cosine, tangent, phase};
}

Halves rotateRows(const Halves &x, const Rotation &by) {
  Matrix second = by.phase ? *by.phase * x.second : x.second;
  return {by.cosine * x.first - by.sine * second, by.sine * x.first + by.cosine * second};
}

Halves moveRows(const Halves &x) {
  int64_t pairs = x.first.rows();
  if (pairs < 2)
    return x;
  return {stackRows({x.first.rows(0, 1), x.second.rows(0, 1), x.first.rows(1, pairs - 1)}),
          stackRows({x.second.rows(1, pairs), x.first.rows(pairs - 1, pairs)})};
}

Halves transposed(const Halves &x) { return {x.first.transposed(), x.second.transposed()}; }

double epsilonOf(Type type) {
  return type.isF64() ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

} // namespace spmdc::stablehlo
