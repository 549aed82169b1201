//===- Eigen.cpp - eigenvalues of Hermitian matrices ----------------------===//
//
// Jacobi's method: sweeps of rotations until the elements beside the diagonal are below rounding errors. A rotation
// changes them relative to their own size, so the last sweeps converge quadratically.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"
#include "frontend/stablehlo/linear/Jacobi.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// A matrix in four blocks, and the rows of the product of all rotations.
struct State {
  Matrix topLeft, topRight, bottomLeft, bottomRight;
  Halves vectors;

  Matrices carries() const { return {topLeft, topRight, bottomLeft, bottomRight, vectors.first, vectors.second}; }
  static State of(ArrayRef<Matrix> x) { return {x[0], x[1], x[2], x[3], {x[4], x[5]}}; }
};

Matrix withDiagonal(const Matrix &x, const Matrix &diagonal) {
  return select(x.rowNumbers() == x.columnNumbers(), diagonal, x);
}

State step(const State &x) {
  Matrix a = x.topLeft.diagonal().re(), b = x.topRight.diagonal(), d = x.bottomRight.diagonal().re();
  Rotation by = rotationOf(a, b, d);
  Matrix change = by.tangent * realOf(b);
  Halves left = rotateRows({x.topLeft, x.bottomLeft}, by), right = rotateRows({x.topRight, x.bottomRight}, by);
  // The columns by the same rotations: rows of the transposed halves.
  Matrix cosine = by.cosine.transposed(), sine = by.sine.transposed();
  auto columns = [&](const Matrix &l, const Matrix &right) -> Halves {
    Matrix r = by.phase ? by.phase->adjoint() * right : right;
    return {cosine * l - sine * r, sine * l + cosine * r};
  };
  Halves top = columns(left.first, right.first), bottom = columns(left.second, right.second);
  Halves first = moveRows({withDiagonal(top.first, a - change), withDiagonal(bottom.first, b.filled(0))});
  Halves second = moveRows({withDiagonal(top.second, b.filled(0)), withDiagonal(bottom.second, d + change)});
  Halves upper = transposed(moveRows(transposed({first.first, second.first})));
  Halves lower = transposed(moveRows(transposed({first.second, second.second})));
  return {upper.first, upper.second, lower.first, lower.second, moveRows(rotateRows(x.vectors, by))};
}

/// The sum of the squares of all elements, [batch..., 1, 1].
Matrix sumOfSquares(const Matrix &x) {
  return squaredSize(x).reduceColumns(ReductionKind::sum).reduceRows(ReductionKind::sum);
}

} // namespace

Eigen eigen(const Matrix &a) {
  int64_t size = a.rows(), half = (size + 1) / 2;
  Matrix own = a.hermitian();
  // An odd number of rows is completed by zeros, which no rotation changes.
  if (2 * half != size)
    own = own.paddedRows(0, 1).transposed().paddedRows(0, 1).transposed();
  Matrix identity = select(own.rowNumbers() == own.columnNumbers(), own.filled(1), 0);
  State state{own.block(0, half, 0, half),
              own.block(0, half, half, 2 * half),
              own.block(half, 2 * half, 0, half),
              own.block(half, 2 * half, half, 2 * half),
              {identity.rows(0, half), identity.rows(half, 2 * half)}};
  double epsilon = epsilonOf(a.elementType());
  Matrix limit = sumOfSquares(own) * (epsilon * epsilon);
  Matrices initials = state.carries();
  Matrix sweeps(a.translation(), a.translation().splat(ArrayType::get({}, a.translation().b.getI32Type()), 0));
  initials.push_back(sweeps);
  Matrices done = repeatWhile(
      initials,
      [&](ArrayRef<Matrix> carries) {
        State x = State::of(carries);
        auto beside = [](const Matrix &block) { return withDiagonal(block, block.filled(0)); };
        Matrix rest = sumOfSquares(beside(x.topLeft)) + sumOfSquares(x.topRight) + sumOfSquares(beside(x.bottomRight));
        return ((rest * 2 - limit).largest() > 0) & (carries[6] < static_cast<double>(kMaxSweeps));
      },
      [&](ArrayRef<Matrix> carries) {
        Matrices next = repeat(2 * half - 1, Matrices(carries.drop_back()),
                               [](const Matrix &, ArrayRef<Matrix> inner) { return step(State::of(inner)).carries(); });
        next.push_back(carries[6] + 1);
        return next;
      });
  state = State::of(done);
  Matrix values = stackRows({state.topLeft.diagonal().re(), state.bottomRight.diagonal().re()}).rows(0, size);
  Matrix vectors = stackRows({state.vectors.first, state.vectors.second}).block(0, size, 0, size);
  Matrix order = values.sortedPositions(/*isDescending=*/false);
  return {values.takeRows(order), vectors.takeRows(order).adjoint()};
}

} // namespace spmdc::stablehlo
