//===- Balance.cpp - matrices before an iteration -------------------------===//

#include "frontend/stablehlo/linear/Balance.h"

#include "frontend/stablehlo/linear/Reflector.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// Rows and columns in another order.
static Matrix reordered(const Matrix &x, const Matrix &order) {
  return x.takeRows(order).transposed().takeRows(order).transposed();
}

Isolated isolate(const Matrix &a) {
  Type integer = a.translation().b.getI32Type();
  int64_t size = a.rows();
  Matrix row = a.rowNumbers(), column = a.columnNumbers();
  Matrix none = a.block(0, 1, 0, 1).re().converted(integer).filled(0),
         zeros = a.columns(0, 1).re().converted(integer).filled(0);
  Matrix inOrder = zeros + row;
  Matrices initials{a, inOrder, none, none.filled(static_cast<double>(size - 1)), none.filled(1)};
  Matrices done = repeatWhile(
      initials, [](ArrayRef<Matrix> x) { return x[4].largest() > 0; },
      [&](ArrayRef<Matrix> x) -> Matrices {
        const Matrix &first = x[2], &last = x[3];
        auto isInside = [&](const Matrix &number) { return (number >= first) & (last >= number); };
        Matrix isZero = (absolute(x[0]) == 0) | (row == column), counted = inOrder * 0 + column.filled(1);
        auto countOf = [&](const Matrix &isOther) { return select(isZero | isOther, 0, counted); };
        Matrix alongRow = countOf(select(isInside(column), column.filled(0), 1) > 0).reduceColumns(ReductionKind::sum);
        Matrix alongColumn = countOf(select(isInside(row), row.filled(0), 1) > 0).reduceRows(ReductionKind::sum);
        // A row without other elements goes to the end of the block; if there is none, a column to its front.
        Matrix lastRow = select((alongRow == 0) & isInside(row), row, -1).reduceRows(ReductionKind::max);
        Matrix firstColumn = select((alongColumn == 0) & isInside(column), column, static_cast<double>(size))
                                 .reduceColumns(ReductionKind::min);
        Matrix isLeft = last > first, isRow = isLeft & (lastRow >= 0);
        Matrix isColumn = isLeft & (lastRow < 0) & (firstColumn < static_cast<double>(size));
        Matrix from = select(isRow, lastRow, select(isColumn, firstColumn, last)), to = select(isColumn, first, last);
        Matrix order = select(inOrder == from, to, select(inOrder == to, from, inOrder));
        Matrix next = last - select(isRow, none.filled(1), 0), found = select(isRow | isColumn, none.filled(1), 0);
        return {reordered(x[0], order), x[1].takeRows(order), first + select(isColumn, none.filled(1), 0), next, found};
      });
  return {done[0], done[1], done[2], done[3]};
}

Scaled scaleBlock(const Isolated &a) {
  Translation &t = a.matrix.translation();
  Matrix row = a.matrix.rowNumbers(), column = a.matrix.columnNumbers();
  auto isInside = [&](const Matrix &number) { return (number >= a.first) & (a.last >= number); };
  Matrix ones = a.matrix.columns(0, 1).re().filled(1), changed = a.first.filled(1);
  Matrix sweeps(t, t.splat(ArrayType::get({}, t.b.getI32Type()), 0));
  constexpr double kMostSweeps = 20; // Each gains a twentieth at least; two or three are usual.
  Matrices done = repeatWhile(
      {a.matrix, ones, changed, sweeps},
      [&](ArrayRef<Matrix> x) { return (x[2].largest() > 0) & (x[3] < kMostSweeps); },
      [&](ArrayRef<Matrix> x) -> Matrices {
        Matrices next = repeat(
            a.matrix.rows(), {x[0], x[1], x[2].filled(0)}, [&](const Matrix &at, ArrayRef<Matrix> inner) -> Matrices {
              Matrix down = normOf(select(isInside(row), inner[0].column(at), 0));
              Matrix across = normOf(select(isInside(column), inner[0].row(at), 0).transposed());
              Matrix isOther = (down == 0) | (across == 0);
              Matrix ratio = select(isOther, 1, across / select(isOther, 1, down));
              Matrix power = map<spmdc::CeilOp>(map<spmdc::Log2Op>(ratio) * 0.5 + -0.5);
              Matrix factor = map<spmdc::Exp2Op>(power);
              Matrix isBetter = (down + across) * 0.95 > down * factor + across / factor;
              isBetter = isBetter & isInside(at);
              factor = select(isBetter, factor, 1);
              Matrix scaled = inner[0].withRowsAt(at, inner[0].row(at) / factor);
              return {scaled.withColumnsAt(at, scaled.column(at) * factor),
                      inner[1].withRowsAt(at, inner[1].row(at) * factor), select(isBetter, changed, inner[2])};
            });
        next.push_back(x[3] + 1);
        return next;
      });
  return {done[0], done[1]};
}

Matrix inOriginalOrder(const Matrix &vectors, const Matrix &order) {
  return vectors.takeRows(order.sortedPositions(/*isDescending=*/false));
}

} // namespace spmdc::stablehlo
