//===- Lu.cpp - LU factorization with partial pivoting --------------------===//
//
// Blocks of columns, from the left (LAPACK's getrf): a block by columns, each with the exchange of two rows; then the
// exchanges of all other columns at once, and products.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// A factored block of columns: the order of its rows, i32[batch..., rows, 1], and the row that each column exchanged.
struct Panel {
  Matrix matrix, order, pivots;
};

/// The position of the first largest element of one column, i32[batch..., 1, 1].
Matrix findLargest(const Matrix &column) {
  Translation &t = column.translation();
  auto dim = static_cast<int64_t>(column.rowDim());
  SmallVector<int64_t> shape(column.shape()), kept(shape);
  shape.erase(shape.begin() + dim);
  kept[dim] = 1;
  auto found = t.create<spmdc::ArgReduceOp>(ArrayType::get(shape, t.b.getI32Type()), column.get(), true, dim);
  return column.with(t.reshape(found, kept));
}

/// 0, 1, ... for each matrix of the batch, i32[batch..., rows, 1].
Matrix rowsInOrder(const Matrix &a, int64_t rows) {
  Translation &t = a.translation();
  SmallVector<int64_t> shape(a.shape());
  shape[a.rowDim()] = rows;
  shape[a.columnDim()] = 1;
  Matrix zeros = a.with(t.splat(ArrayType::get(shape, t.b.getI32Type()), 0));
  return zeros + zeros.rowNumbers();
}

/// The size that LAPACK compares pivots by.
Matrix sizeOf(const Matrix &x) {
  Matrix re = map<spmdc::AbsOp>(x);
  return x.isComplex() ? re + map<spmdc::AbsOp>(x.im()) : re;
}

Panel factorPanel(const Matrix &a) {
  Matrix row = a.rowNumbers(), column = a.columnNumbers(), order = rowsInOrder(a, a.rows());
  Matrix pivots = order.rows(0, a.columns());
  Matrix step = pivots.rowNumbers();
  Matrices done = repeat(a.columns(), {a, order, pivots}, [&](const Matrix &at, ArrayRef<Matrix> carries) -> Matrices {
    const Matrix &x = carries[0], &rows = carries[1];
    Matrix own = x.column(at);
    Matrix found = findLargest(select(row >= at, sizeOf(own), -1));
    Matrix chosen = x.takeRows(found), pivot = chosen.column(at);
    auto exchange = [&](const Matrix &of, const Matrix &chosenRow) {
      return select(row == at, chosenRow, select(row == found, of.row(at), of));
    };
    // A column of zeros stays.
    Matrix factor = exchange(own, pivot) / select(pivot == 0, 1, pivot), moved = exchange(x, chosen);
    Matrix next =
        select(row > at, select(column == at, factor, select(column > at, moved - factor * chosen, moved)), moved);
    return {next, exchange(rows, rows.takeRows(found)), select(step == at, found, carries[2])};
  });
  return {done[0], done[1], done[2]};
}

} // namespace

Matrix exchangedRows(const Matrix &pivots, int64_t rows) {
  Matrix order = rowsInOrder(pivots, rows), row = order.rowNumbers();
  return repeat(pivots.rows(), {order}, [&](const Matrix &at, ArrayRef<Matrix> carries) -> Matrices {
    Matrix other = pivots.row(at);
    const Matrix &own = carries[0];
    return {select(row == at, own.takeRows(other), select(row == other, own.row(at), own))};
  })[0];
}

PivotedFactor lu(const Matrix &a) {
  int64_t columns = a.columns(), steps = std::min(a.rows(), columns), blockSize = blockSizeOf(a, steps);
  Matrices finishedRows, pivots;
  Matrix rest = a; // The rows that have no pivot yet.
  for (int64_t begin = 0; begin < steps; begin += blockSize) {
    int64_t size = std::min(blockSize, steps - begin), rows = rest.rows(), end = begin + size;
    Panel panel = factorPanel(rest.columns(begin, end));
    pivots.push_back(panel.pivots + static_cast<double>(begin));
    Matrix moved = rest.takeRows(panel.order), right = moved.columns(end, columns);
    Matrices top{moved.block(0, size, 0, begin), panel.matrix.rows(0, size)};
    Matrices below{moved.block(size, rows, 0, begin), panel.matrix.rows(size, rows)};
    if (end < columns) {
      Matrix solved = substitute(panel.matrix.rows(0, size), right.rows(0, size), /*hasUnitDiagonal=*/true);
      top.push_back(solved);
      if (size < rows)
        below.push_back(right.rows(size, rows) - multiply(panel.matrix.rows(size, rows), solved));
    }
    finishedRows.push_back(stackColumns(top));
    if (size == rows) {
      rest = moved.rows(rows, rows);
      break;
    }
    rest = stackColumns(below);
  }
  finishedRows.push_back(rest);
  Matrix factor = stackRows(finishedRows), diagonal = factor.diagonal(), number = diagonal.rowNumbers() + 1;
  auto none = static_cast<double>(steps + 1);
  Matrix failed = select(diagonal == 0, number, none).reduceRows(ReductionKind::min);
  return {factor, stackRows(pivots), select(failed == none, 0, failed)};
}

} // namespace spmdc::stablehlo
