//===- Qr.cpp - QR factorization by Householder reflections ---------------===//
//
// LAPACK's geqrf and orgqr: a block of columns by reflections, one by one, and the rest by the product of the block's
// reflections, I - V T V^H (Schreiber, Van Loan 1989).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"
#include "frontend/stablehlo/linear/Reflector.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The number of the first column, from a position on, whose elements from this row on are largest, i32[batch..., 1,
/// 1].
Matrix findLongest(const Matrix &a, const Matrix &at) {
  Translation &t = a.translation();
  Matrix squares = squaredSize(select(a.rowNumbers() >= at, a, 0)).reduceRows(ReductionKind::sum);
  Matrix own = select(a.columnNumbers() >= at, squares, -1);
  auto dim = static_cast<int64_t>(a.columnDim());
  SmallVector<int64_t> shape(own.shape()), kept(shape);
  shape.erase(shape.begin() + dim);
  kept[dim] = 1;
  auto found = t.create<spmdc::ArgReduceOp>(ArrayType::get(shape, t.b.getI32Type()), own.get(), true, dim);
  return a.with(t.reshape(found, kept));
}

/// Column `at` of a matrix, and the one with a number of [batch..., 1, 1], exchanged.
Matrix exchangeColumns(const Matrix &x, const Matrix &at, const Matrix &number) {
  Matrix column = x.columnNumbers();
  Matrix first = x.column(at), second = x.transposed().takeRows(number).transposed();
  return select(column == at, second, select(column == number, first, x));
}

/// The reflections of a block of columns (LAPACK's geqr2), of the longest column that is left each (geqp3) if `order`
/// is the numbers of the columns, [batch..., 1, columns], which are exchanged with them.
struct Panel {
  Reflectors reflectors;
  Matrix order;
};
Panel factorPanel(const Matrix &a, std::optional<Matrix> order = std::nullopt) {
  int64_t steps = std::min(a.rows(), a.columns());
  Matrix row = a.rowNumbers(), column = a.columnNumbers(), taus = a.block(0, steps, 0, 1).filled(0);
  Matrix step = taus.rowNumbers(), first = order.value_or(column);
  Matrices done = repeat(steps, {a, taus, first}, [&](const Matrix &at, ArrayRef<Matrix> carries) -> Matrices {
    Matrix x = carries[0], numbers = carries[2];
    if (order) {
      Matrix longest = findLongest(x, at);
      x = exchangeColumns(x, at, longest);
      numbers = exchangeColumns(numbers, at, longest);
    }
    Matrix own = x.column(at);
    Reflector by = reflectorOf(own, at);
    Matrix next = select(column > at, reflectRows(by, x), x);
    next = select(column == at, select(row == at, by.beta, select(row > at, by.vector, x)), next);
    return {next, select(step == at, by.tau, carries[1]), numbers};
  });
  return {{done[0], done[1]}, done[2]};
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
  int64_t rows = a.rows(), columns = a.columns(), steps = std::min(rows, columns), blockSize = blockSizeOf(a, steps);
  Matrices finished, taus;
  Matrix above = a.rows(0, 0), rest = a; // Finished rows and the others, of the columns that are left.
  for (int64_t begin = 0; begin < steps; begin += blockSize) {
    int64_t size = std::min(blockSize, steps - begin), left = columns - begin, height = rows - begin;
    Reflectors panel = factorPanel(rest.columns(0, size)).reflectors;
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

PivotedReflectors pivotedQr(const Matrix &a) {
  // For each matrix of the batch; blocks need the norms of all columns after each reflection, so there is one of all.
  Matrix numbers = a.re().rows(0, 1).converted(a.translation().b.getI32Type()).filled(0);
  Panel panel = factorPanel(a, numbers + numbers.columnNumbers());
  return {panel.reflectors, panel.order.transposed()};
}

Matrix applyReflectors(const Matrix &vectors, const Matrix &taus, const Matrix &x, bool isAdjoint) {
  int64_t rows = vectors.rows(), steps = taus.rows(), blockSize = blockSizeOf(vectors, steps);
  int64_t count = (steps + blockSize - 1) / blockSize;
  Matrix result = x;
  for (int64_t number = 0; number < count; ++number) {
    // The last reflection is the first one of the product.
    int64_t begin = (isAdjoint ? number : count - 1 - number) * blockSize, end = std::min(steps, begin + blockSize);
    Matrix own = vectorsOf(vectors.block(begin, rows, begin, end)), part = result.rows(begin, rows);
    Matrix triangle = triangleOf(own, taus.rows(begin, end));
    part = part - multiply(own, multiply(triangle, multiply(own, part, /*adjointX=*/true), isAdjoint));
    result = stackRows({result.rows(0, begin), part});
  }
  return result;
}

Matrix multiplyReflectors(const Matrix &vectors, const Matrix &taus) {
  int64_t rows = vectors.rows(), columns = vectors.columns(), steps = taus.rows(),
          blockSize = blockSizeOf(vectors, steps);
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
