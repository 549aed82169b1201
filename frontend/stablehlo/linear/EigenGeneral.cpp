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

/// The eigenvectors of complex matrices, of unit length and turned so that their largest element is positive.
Matrix normalized(const Matrix &x) {
  Matrix largest = absolute(x).reduceRows(ReductionKind::max), scaled = x / select(largest > 0, largest, 1);
  Matrix squares = squaredSize(scaled), most = squares.reduceRows(ReductionKind::max), row = x.rowNumbers();
  Matrix number = select(squares >= most, row, static_cast<double>(x.rows())).reduceRows(ReductionKind::min);
  Matrix isLargest = row == number, chosen = select(isLargest, scaled, 0).reduceRows(ReductionKind::sum);
  Matrix turned = scaled * (chosen.conjugated() / absolute(chosen));
  Matrix length = map<spmdc::SqrtOp>(squares.reduceRows(ReductionKind::sum));
  return Matrix(turned.re(), select(isLargest, 0, turned.im())) / length;
}

Matrix signOf(const Matrix &predicate, const Matrix &like) { return select(predicate, like.filled(1), -1); }

/// The eigenvectors of real matrices: those of real eigenvalues are real, and others each other's conjugates. The signs
/// are LAPACK's, for which `form` has the blocks of the pairs: trevc begins with a real element in the block's first
/// row, whose sign depends on the block, and geev keeps the sign of the real part of the largest element.
Matrix normalizedOfReal(const Matrix &vectors, const Matrix &values, const Schur &form, bool isRight) {
  Matrix im = values.im().transposed(), isReal = im == 0;
  Matrix x(vectors.re(), select(isReal, 0, vectors.im()));
  int64_t size = x.rows();
  if (size == 1)
    return x / absolute(x);
  Matrix first = (*form.vectors * x).reduceRows(ReductionKind::sum), most = absolute(first);
  Matrix b = form.triangle.block(0, size - 1, 1, size).diagonal(),
         c = form.triangle.block(1, size, 0, size - 1).diagonal();
  Matrix isWide = map<spmdc::AbsOp>(b) >= map<spmdc::AbsOp>(c);
  Matrix sign = isRight ? select(isWide, 1, -signOf(c > 0, c)) : select(isWide, signOf(b > 0, b), 1);
  sign = stackRows({sign, sign.rows(0, 1)}).transposed();
  x = select(isReal, x, x * (first.conjugated() / select(most > 0, most, 1)) * sign);
  Matrix turned = normalized(x), squares = squaredSize(x);
  Matrix number = select(squares >= squares.reduceRows(ReductionKind::max), x.rowNumbers(), static_cast<double>(size))
                      .reduceRows(ReductionKind::min);
  Matrix chosen = select(x.rowNumbers() == number, x.re(), 0).reduceRows(ReductionKind::sum);
  turned = turned * signOf(chosen >= 0, chosen);
  Matrix before = stackColumns({turned.columns(0, 1), turned.columns(0, size - 1)});
  return select(im < 0, before.conjugated(), turned);
}

} // namespace

GeneralEigen generalEigen(const Matrix &a, bool hasLeft, bool hasRight) {
  Schur form = schur(a, hasLeft || hasRight);
  GeneralEigen result{eigenvaluesOf(form.triangle), std::nullopt, std::nullopt, form.info};
  if (!form.vectors)
    return result;
  Schur standard = standardized(form);
  form = triangular(standard);
  Matrix largest = absolute(form.triangle).reduceColumns(ReductionKind::max).reduceRows(ReductionKind::max);
  Matrix scale = select(largest > 0, largest, 1), values = result.values / scale;
  Matrix row = a.rowNumbers(), column = a.columnNumbers(), strict = select(column > row, form.triangle / scale, 0);
  auto finished = [&](const Matrix &own, bool isRight) {
    Matrix vectors = multiply(*form.vectors, own);
    return a.isComplex() ? normalized(vectors) : normalizedOfReal(vectors, result.values, standard, isRight);
  };
  if (hasRight)
    result.right = finished(vectorsOf(strict, values, /*isUpper=*/true), /*isRight=*/true);
  if (hasLeft)
    result.left = finished(vectorsOf(strict.adjoint(), values.conjugated(), /*isUpper=*/false), /*isRight=*/false);
  return result;
}

} // namespace spmdc::stablehlo
