//===- EigenGeneral.cpp - eigenvalues of any matrices ---------------------===//
//
// The eigenvectors of the triangular Schur form, by substitution for all of them at once (LAPACK's trevc), times Z.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"
#include "frontend/stablehlo/linear/Jacobi.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The right eigenvectors of a triangular matrix of largest element 1, as columns of largest element 1: column k is 1
/// in row k, and 0 behind it in the order of substitution. `strict`: the matrix without its diagonal.
Matrix vectorsOf(const Matrix &strict, const Matrix &values, bool isUpper) {
  int64_t size = strict.rows();
  Matrix row = strict.rowNumbers(), column = strict.columnNumbers(), own = values.transposed();
  // Equal eigenvalues differ by a rounding error.
  double epsilon = epsilonOf(strict.elementType()), smallest = strict.elementType().isF64() ? 1e-290 : 1e-30;
  Matrix least = absolute(own) * epsilon;
  least = select(least > smallest, least, smallest);
  return repeat(size, {select(row == column, strict.filled(1), 0)}, [&](const Matrix &step, ArrayRef<Matrix> carries) {
    const Matrix &x = carries[0];
    Matrix at = isUpper ? step * -1 + static_cast<double>(size - 1) : step;
    Matrix difference = own - values.row(at), isSmall = absolute(difference) < least;
    Matrix solved = multiply(strict.row(at), x) / select(isSmall, -least, difference);
    Matrix isLater = isUpper ? column > at : at > column;
    Matrix next = select(isLater, solved, x.row(at)), sizes = absolute(next);
    // Products of many quotients by rounding errors would overflow.
    Matrix scale = select(sizes > 1, sizes, 1);
    return Matrices{x.withRowsAt(at, next) / scale};
  })[0];
}

/// Columns of unit length. Complex ones are turned so that their largest element is real; those of real eigenvalues of
/// real matrices are real, and others each other's conjugates.
Matrix normalized(const Matrix &vectors, const Matrix &values, bool isReal) {
  Matrix x = vectors, im = values.im().transposed(), isRealValue = im == 0;
  if (isReal)
    x = Matrix(x.re(), select(isRealValue, 0, x.im()));
  Matrix largest = absolute(x).reduceRows(ReductionKind::max);
  x = x / select(largest > 0, largest, 1);
  Matrix squares = squaredSize(x), most = squares.reduceRows(ReductionKind::max), row = x.rowNumbers();
  Matrix number = select(squares >= most, row, static_cast<double>(x.rows())).reduceRows(ReductionKind::min);
  Matrix isLargest = row == number, chosen = select(isLargest, x, 0).reduceRows(ReductionKind::sum);
  Matrix length = map<spmdc::SqrtOp>(squares.reduceRows(ReductionKind::sum));
  Matrix turn = chosen.conjugated() / absolute(chosen), turned = x * turn;
  turned = Matrix(turned.re(), select(isLargest, 0, turned.im()));
  if (isReal)
    turned = select(isRealValue, x, turned);
  turned = turned / length;
  if (!isReal || x.columns() < 2)
    return turned;
  Matrix before = stackColumns({turned.columns(0, 1), turned.columns(0, x.columns() - 1)});
  return select(im < 0, before.conjugated(), turned);
}

} // namespace

GeneralEigen generalEigen(const Matrix &a, bool hasLeft, bool hasRight) {
  Schur form = schur(a, hasLeft || hasRight);
  GeneralEigen result{eigenvaluesOf(form.triangle), std::nullopt, std::nullopt, form.info};
  if (!form.vectors)
    return result;
  form = triangular(form);
  Matrix largest = absolute(form.triangle).reduceColumns(ReductionKind::max).reduceRows(ReductionKind::max);
  Matrix scale = select(largest > 0, largest, 1), values = result.values / scale;
  Matrix row = a.rowNumbers(), column = a.columnNumbers(), strict = select(column > row, form.triangle / scale, 0);
  auto finished = [&](const Matrix &own) {
    return normalized(multiply(*form.vectors, own), result.values, !a.isComplex());
  };
  if (hasRight)
    result.right = finished(vectorsOf(strict, values, /*isUpper=*/true));
  if (hasLeft)
    result.left = finished(vectorsOf(strict.adjoint(), values.conjugated(), /*isUpper=*/false));
  return result;
}

} // namespace spmdc::stablehlo
