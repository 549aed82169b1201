//===- Tridiagonal.cpp - tridiagonal systems ------------------------------===//
//
// Gaussian elimination with partial pivoting, row by row (LAPACK's gtsv): one row is left of the rows so far, which is
// exchanged with the next one where that has the larger element in its column. U has two diagonals above the main one.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"

using namespace mlir;

namespace spmdc::stablehlo {

TridiagonalSolution solveTridiagonal(const Matrix &lower, const Matrix &main, const Matrix &upper, const Matrix &b) {
  int64_t size = main.rows(), width = 3 + b.columns();
  // Rows of the system, from the column of the diagonal on; those that are not the first begin one column earlier.
  Matrix rows = stackColumns({lower, main, upper, b});
  Matrix first = stackColumns({main, upper, upper.filled(0), b}).rows(0, 1);
  Matrices done = repeat(size - 1, {rows, first}, [&](const Matrix &at, ArrayRef<Matrix> carries) -> Matrices {
    Matrix own = carries[1], next = carries[0].row(at + 1);
    // The last row has nothing above the diagonal.
    Matrix isLast = at >= static_cast<double>(size - 2);
    next = select(isLast & (next.columnNumbers() == 2), 0, next);
    Matrix isExchanged = absolute(next.columns(0, 1)) > absolute(own.columns(0, 1));
    Matrix pivot = select(isExchanged, next, own), other = select(isExchanged, own, next);
    Matrix head = pivot.columns(0, 1), isZero = head == 0;
    Matrix left = other - (other.columns(0, 1) / select(isZero, 1, head)) * pivot;
    Matrix shifted = stackColumns({left.columns(1, 3), left.columns(0, 1).filled(0), left.columns(3, width)});
    return {carries[0].withRowsAt(at, pivot), shifted};
  });
  Matrix last = done[0].rowNumbers() == static_cast<double>(size - 1);
  Matrix factor = select(last, done[1], done[0]);
  Matrix diagonal = factor.columns(0, 1), number = diagonal.rowNumbers() + 1;
  Matrix failed = select(diagonal == 0, number, static_cast<double>(size + 1)).reduceRows(ReductionKind::min);
  Matrix none = b.rows(0, 1).filled(0);
  Matrices solved =
      repeat(size, {b.filled(0), none, none}, [&](const Matrix &step, ArrayRef<Matrix> carries) -> Matrices {
        Matrix at = step * -1 + static_cast<double>(size - 1), row = factor.row(at);
        Matrix right = row.columns(3, width) - row.columns(1, 2) * carries[1] - row.columns(2, 3) * carries[2];
        Matrix x = right / row.columns(0, 1);
        return {carries[0].withRowsAt(at, x), x, carries[1]};
      });
  return {solved[0], factor.columns(0, 3), select(failed == static_cast<double>(size + 1), 0, failed)};
}

} // namespace spmdc::stablehlo
