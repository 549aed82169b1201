//===- Singular.cpp - singular values -------------------------------------===//
//
// One-sided Jacobi (Hestenes; LAPACK's gesvj): rotations make the columns of A V orthogonal, whose lengths are the
// singular values. U is the Q of their QR factorization, which has directions of its own for singular values 0.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"
#include "frontend/stablehlo/linear/Jacobi.h"

#include <cmath>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

Matrix sumOfSquares(const Matrix &x) { return squaredSize(x).reduceColumns(ReductionKind::sum); }

/// Rows of (A V)^T beside those of V^T.
struct Rows {
  Halves halves;
  Matrix largestCosine; ///< Between two columns of A V in this sweep, a scalar.
};

Rows step(const Rows &x, int64_t length) {
  Matrix first = x.halves.first.columns(0, length), second = x.halves.second.columns(0, length);
  Matrix a = sumOfSquares(first), b = (first * second.conjugated()).reduceColumns(ReductionKind::sum),
         d = sumOfSquares(second);
  Matrix lengths = map<spmdc::SqrtOp>(a) * map<spmdc::SqrtOp>(d);
  Matrix cosine = select(lengths > 0, absolute(b) / select(lengths > 0, lengths, 1), 0);
  Halves rotated = rotateRows(x.halves, rotationOf(a, b, d));
  Matrix largest(x.largestCosine.translation(),
                 x.largestCosine.translation().create<spmdc::MaximumOp>(x.largestCosine.get(), cosine.largest().get()));
  return {moveRows(rotated), largest};
}

/// With at least as many rows as columns.
Singular singularOfTall(const Matrix &a, bool isFull) {
  Translation &t = a.translation();
  int64_t rows = a.rows(), size = a.columns(), half = (size + 1) / 2;
  // A largest element of 1 keeps squares in range.
  Matrix largest = absolute(a).reduceColumns(ReductionKind::max).reduceRows(ReductionKind::max);
  Matrix scale = select(largest > 0, largest, 1), scaled = (a / scale).transposed();
  Matrix square = scaled.block(0, size, 0, size);
  Matrix identity = select(square.rowNumbers() == square.columnNumbers(), square.filled(1), 0);
  Matrix both = stackColumns({scaled, identity}).paddedRows(0, 2 * half - size);
  Matrix number(t, t.splat(ArrayType::get({}, t.b.getI32Type()), 0));
  Matrix most(t, t.splat(ArrayType::get({}, a.elementType()), 1));
  double tolerance = epsilonOf(a.elementType()) * std::sqrt(static_cast<double>(rows));
  Matrices done = repeatWhile(
      {both.rows(0, half), both.rows(half, 2 * half), most, number},
      [&](ArrayRef<Matrix> carries) {
        return (carries[2] > tolerance) & (carries[3] < static_cast<double>(kMaxSweeps));
      },
      [&](ArrayRef<Matrix> carries) {
        Matrices next = repeat(2 * half - 1, {carries[0], carries[1], carries[2].filled(0)},
                               [&](const Matrix &, ArrayRef<Matrix> inner) -> Matrices {
                                 Rows x = step({{inner[0], inner[1]}, inner[2]}, rows);
                                 return {x.halves.first, x.halves.second, x.largestCosine};
                               });
        next.push_back(carries[3] + 1);
        return next;
      });
  Matrix all = stackRows({done[0], done[1]}).rows(0, size), columns = all.columns(0, rows);
  Matrix lengths = map<spmdc::SqrtOp>(sumOfSquares(columns)), order = lengths.sortedPositions(/*isDescending=*/true);
  Matrix sorted = all.takeRows(order);
  Reflectors factor = qr(sorted.columns(0, rows).transposed());
  Matrix sign = factor.matrix.diagonal().re(), vectors = factor.matrix;
  sign = select(sign >= 0, sign.filled(1), -1);
  if (isFull && size < rows) {
    vectors = vectors.transposed().paddedRows(0, rows - size).transposed();
    sign = select(sign.paddedRows(0, rows - size) == 0, 1, sign.paddedRows(0, rows - size));
  }
  Matrix left = multiplyReflectors(vectors, factor.taus) * sign.transposed();
  return {left, lengths.takeRows(order) * scale, sorted.columns(rows, rows + size).conjugated()};
}

} // namespace

Singular singular(const Matrix &a, bool isFull) {
  if (a.rows() >= a.columns())
    return singularOfTall(a, isFull);
  Singular other = singularOfTall(a.adjoint(), isFull);
  return {other.right.adjoint(), other.values, other.left.adjoint()};
}

} // namespace spmdc::stablehlo
