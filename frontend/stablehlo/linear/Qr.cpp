//===- Qr.cpp - QR factorization by Householder reflections ---------------===//
//
// LAPACK's geqrf and orgqr: a block of columns by reflections, one by one, and the rest by the product of the block's
// reflections, I - V T V^H (Schreiber, Van Loan 1989).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The Euclidean norm of one column, which does not overflow where its square does.
Matrix normOf(const Matrix &column) {
  Matrix size = map<spmdc::AbsOp>(column).reduceRows(ReductionKind::max), largest = size;
  if (column.isComplex()) {
    Matrix other = map<spmdc::AbsOp>(column.im()).reduceRows(ReductionKind::max);
    largest = select(other > size, other, size);
  }
  Matrix scale = select(largest > 0, largest, 1);
  return scale * map<spmdc::SqrtOp>(squaredSize(column / scale).reduceRows(ReductionKind::sum));
}

/// The reflections of a block of columns (LAPACK's geqr2).
Reflectors factorPanel(const Matrix &a) {
  int64_t steps = std::min(a.rows(), a.columns());
  Matrix row = a.rowNumbers(), column = a.columnNumbers(), taus = a.block(0, steps, 0, 1).filled(0);
  Matrix step = taus.rowNumbers();
  Matrices done = repeat(steps, {a, taus}, [&](const Matrix &at, ArrayRef<Matrix> carries) -> Matrices {
    const Matrix &x = carries[0];
    Matrix own = x.column(at), alpha = own.row(at), below = select(row > at, own, 0);
    Matrix tail = normOf(below), isZero = tail == 0;
    if (alpha.isComplex())
      isZero = isZero & (alpha.im() == 0);
    // The sign avoids a difference of two numbers of one sign. Complex columns have a real beta, too.
    Matrix whole = normOf(select(row >= at, own, 0));
    Matrix beta = select(isZero, alpha.re(), select(alpha.re() >= 0, -whole, whole));
    Matrix tau = select(isZero, 0, (beta - alpha) / select(isZero, 1, beta));
    Matrix vector = below / select(isZero, 1, alpha - beta);
    Matrix reflector = select(row == at, 1, vector);
    Matrix along = multiply(reflector, x, /*adjointX=*/true);
    Matrix next = select(column > at, x - (tau.conjugated() * reflector) * along, x);
    next = select(column == at, select(row == at, beta, select(row > at, vector, x)), next);
    return {next, select(step == at, tau, carries[1])};
  });
  return {done[0], done[1]};
}

/// The vectors of a panel: ones on the diagonal, zeros above.
Matrix vectorsOf(const Matrix &panel) {
  return select(panel.rowNumbers() == panel.columnNumbers(), 1, panel.lowerTriangle());
}

/// T of I - V T V^H, an upper triangle: (I + D S)^-1 D, where D has the taus and S is the upper triangle of V^H V
/// without its diagonal. It needs no quotients, and taus may be 0.
Matrix triangleOf(const Matrix &vectors, const Matrix &taus) {
  Matrix gram = multiply(vectors, vectors, /*adjointX=*/true);
  // (I + D S)^T = I + S^T D, and S^T is the lower triangle of the conjugate; its diagonal is taken as ones.
  Matrix inverse = invertLower(gram.conjugated() * taus.transposed(), /*hasUnitDiagonal=*/true).transposed();
  return inverse * taus.transposed();
}

} // namespace

Reflectors qr(const Matrix &a) {
  int64_t rows = a.rows(), columns = a.columns(), steps = std::min(rows, columns), blockSize = blockSizeOf(steps);
  Matrices finished, taus;
  Matrix above = a.rows(0, 0), rest = a; // Finished rows and the others, of the columns that are left.
  for (int64_t begin = 0; begin < steps; begin += blockSize) {
    int64_t size = std::min(blockSize, steps - begin), left = columns - begin, height = rows - begin;
    Reflectors panel = factorPanel(rest.columns(0, size));
    finished.push_back(stackRows({above.columns(0, size), panel.matrix}));
    taus.push_back(panel.taus);
    if (size == left)
      return {stackColumns(finished), stackRows(taus)};
    Matrix vectors = vectorsOf(panel.matrix), others = rest.columns(size, left);
    Matrix triangle = triangleOf(vectors, panel.taus);
    others = others - multiply(vectors, multiply(triangle, multiply(vectors, others, true), /*adjointX=*/true));
    above = stackRows({above.columns(size, left), others.rows(0, size)});
    rest = others.rows(size, height);
  }
  finished.push_back(stackRows({above, rest}));
  return {stackColumns(finished), stackRows(taus)};
}

Matrix multiplyReflectors(const Matrix &vectors, const Matrix &taus) {
  int64_t rows = vectors.rows(), columns = vectors.columns(), steps = taus.rows(), blockSize = blockSizeOf(steps);
  Matrix result = select(vectors.rowNumbers() == vectors.columnNumbers(), vectors.filled(1), 0);
  int64_t last = steps == 0 ? -1 : (steps - 1) / blockSize * blockSize;
  for (int64_t begin = last; begin >= 0; begin -= blockSize) {
    // The first rows and columns are those of the identity until their own block.
    int64_t end = std::min(steps, begin + blockSize);
    Matrix own = vectorsOf(vectors.block(begin, rows, begin, end));
    Matrix part = result.block(begin, rows, begin, columns);
    Matrix triangle = triangleOf(own, taus.rows(begin, end));
    part = part - multiply(own, multiply(triangle, multiply(own, part, /*adjointX=*/true)));
    Matrix under = stackColumns({result.block(begin, rows, 0, begin), part});
    result = stackRows({result.rows(0, begin), under});
  }
  return result;
}

} // namespace spmdc::stablehlo
