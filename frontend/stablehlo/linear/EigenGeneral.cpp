//===- EigenGeneral.cpp - eigenvalues of any matrices ---------------------===//
//
// The eigenvectors of the triangular Schur form, by substitution for all of them at once (LAPACK's trevc), times Z.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Balance.h"
#include "frontend/stablehlo/linear/Factorizations.h"

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

/// The size of the largest element of each column, or 1.
Matrix largestOf(const Matrix &x) {
  Matrix largest = absolute(x).reduceRows(ReductionKind::max);
  return select(largest > 0, largest, 1);
}

/// The eigenvectors of complex matrices, of unit length and turned so that their largest element is positive.
Matrix normalized(const Matrix &x) {
  Matrix scaled = x / largestOf(x);
  Matrix squares = squaredSize(scaled), most = squares.reduceRows(ReductionKind::max), row = x.rowNumbers();
  Matrix number = select(squares >= most, row, static_cast<double>(x.rows())).reduceRows(ReductionKind::min);
  Matrix isLargest = row == number, chosen = select(isLargest, scaled, 0).reduceRows(ReductionKind::sum);
  Matrix turned = scaled * (chosen.conjugated() / absolute(chosen));
  Matrix length = map<spmdc::SqrtOp>(squares.reduceRows(ReductionKind::sum));
  return Matrix(turned.re(), select(isLargest, 0, turned.im())) / length;
}

Matrix signOf(const Matrix &predicate, const Matrix &like) { return select(predicate, like.filled(1), -1); }

/// Eigenvectors of a real matrix, real ones of real eigenvalues, with the signs of LAPACK's trevc: the element of a
/// pair's vectors in the first row of its block of `form` is real, and its sign depends on the block.
Matrix alignedOfReal(const Matrix &vectors, const Matrix &isReal, const Schur &form, bool isRight) {
  Matrix x(vectors.re(), select(isReal, 0, vectors.im()));
  int64_t size = x.rows();
  if (size == 1)
    return x;
  Matrix first = (*form.vectors * x).reduceRows(ReductionKind::sum), most = absolute(first);
  Matrix b = form.triangle.block(0, size - 1, 1, size).diagonal(),
         c = form.triangle.block(1, size, 0, size - 1).diagonal();
  Matrix isWide = map<spmdc::AbsOp>(b) >= map<spmdc::AbsOp>(c);
  Matrix sign = isRight ? select(isWide, 1, -signOf(c > 0, c)) : select(isWide, signOf(b > 0, b), 1);
  sign = stackRows({sign, sign.rows(0, 1)}).transposed();
  return select(isReal, x, x * (first.conjugated() / select(most > 0, most, 1)) * sign);
}

/// Those vectors of unit length and with a real largest element, which keeps the sign of its real part; the second one
/// of a pair is the first one's conjugate.
Matrix normalizedOfReal(const Matrix &x, const Matrix &values) {
  Matrix squares = squaredSize(x / largestOf(x)), most = squares.reduceRows(ReductionKind::max), row = x.rowNumbers();
  Matrix number = select(squares >= most, row, static_cast<double>(x.rows())).reduceRows(ReductionKind::min);
  Matrix chosen = select(row == number, x.re(), 0).reduceRows(ReductionKind::sum);
  Matrix turned = normalized(x) * signOf(chosen >= 0, chosen);
  if (x.columns() == 1)
    return turned;
  Matrix before = stackColumns({turned.columns(0, 1), turned.columns(0, x.columns() - 1)});
  return select(values.im().transposed() < 0, before.conjugated(), turned);
}

} // namespace

GeneralEigen generalEigen(const Matrix &a, bool hasLeft, bool hasRight) {
  Isolated isolated = isolate(a);
  Scaled balanced = scaleBlock(isolated);
  Schur form = schur(balanced.matrix, hasLeft || hasRight);
  GeneralEigen result{eigenvaluesOf(form.triangle), std::nullopt, std::nullopt, form.info};
  if (!form.vectors)
    return result;
  Schur standard = standardized(form);
  form = triangular(standard);
  Matrix largest = absolute(form.triangle).reduceColumns(ReductionKind::max).reduceRows(ReductionKind::max);
  Matrix scale = select(largest > 0, largest, 1), values = result.values / scale;
  Matrix row = a.rowNumbers(), column = a.columnNumbers(), strict = select(column > row, form.triangle / scale, 0);
  auto finished = [&](const Matrix &own, bool isRight) {
    Matrix x = multiply(*form.vectors, own);
    if (!a.isComplex())
      x = alignedOfReal(x, result.values.im().transposed() == 0, standard, isRight);
    x = isRight ? x * balanced.scale : x / balanced.scale;
    x = inOriginalOrder(x, isolated.order);
    return a.isComplex() ? normalized(x) : normalizedOfReal(x, result.values);
  };
  if (hasRight)
    result.right = finished(vectorsOf(strict, values, /*isUpper=*/true), /*isRight=*/true);
  if (hasLeft)
    result.left = finished(vectorsOf(strict.adjoint(), values.conjugated(), /*isUpper=*/false), /*isRight=*/false);
  return result;
}

} // namespace spmdc::stablehlo
