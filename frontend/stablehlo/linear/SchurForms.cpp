//===- SchurForms.cpp - blocks on the diagonal of a Schur form ------------===//
//
// Blocks of two rows do not overlap, so one rotation of each of them is one product for all.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"
#include "frontend/stablehlo/linear/TwoByTwo.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The blocks of rows i and i + 1, [batch..., n - 1, 1]; only those where `isBlock` count.
struct Blocks {
  TwoByTwo elements;
  Matrix isBlock;

  static Blocks of(const Matrix &triangle) {
    int64_t size = triangle.rows();
    Matrix main = triangle.diagonal(), c = triangle.block(1, size, 0, size - 1).diagonal();
    return {
        TwoByTwo::of(main.rows(0, size - 1), triangle.block(0, size - 1, 1, size).diagonal(), c, main.rows(1, size)),
        absolute(c) > 0};
  }
};

/// Z and T for new columns cosine[i] z[i] + sine[i] z[i + 1] of each chosen block, and those orthogonal to them.
Schur rotated(const Schur &schur, const Matrix &isChosen, const Matrix &cosine, const Matrix &sine) {
  Matrix own = select(isChosen, cosine, 1), other = select(isChosen, sine, 0);
  Matrix one = own.rows(0, 1).filled(1), zero = other.rows(0, 1).filled(0);
  Matrix main = stackRows({own, one}) * stackRows({one, own.conjugated()}); // One of the factors is 1.
  Matrix below = stackRows({other, zero}).transposed(), above = stackRows({zero, other}).adjoint();
  Matrix row = schur.triangle.rowNumbers(), column = schur.triangle.columnNumbers();
  Matrix beside = select(column == row + 1, -above, schur.triangle.filled(0));
  Matrix rotation = select(row == column, main, select(row == column + 1, below, beside));
  Matrix triangle = multiply(multiply(rotation, schur.triangle, /*adjointX=*/true), rotation);
  std::optional<Matrix> vectors;
  if (schur.vectors)
    vectors = multiply(*schur.vectors, rotation);
  return {triangle, vectors, schur.info};
}

/// 1 where a row is the first (second) one of a chosen block, [batch..., n, 1].
Matrix asRows(const Matrix &isChosen, const Matrix &like, bool isSecond) {
  Matrix number = select(isChosen, like.filled(1), 0), none = number.rows(0, 1).filled(0);
  return isSecond ? stackRows({none, number}) : stackRows({number, none});
}

} // namespace

Matrix eigenvaluesOf(const Matrix &triangle) {
  Matrix main = triangle.diagonal(), values(main.re(), main.im());
  if (triangle.isComplex() || triangle.rows() == 1)
    return values;
  Blocks blocks = Blocks::of(triangle);
  const TwoByTwo &own = blocks.elements;
  // Of a block both are real, or each other's conjugates.
  Matrix first = own.d + own.largerOffset(), second = own.d + own.smallerOffset();
  second = select(own.isPair(), first.conjugated(), second.re());
  first = select(own.isPair(), first, first.re());
  Matrix none = values.rows(0, 1);
  Matrix isFirst = asRows(blocks.isBlock, own.scale, false), isSecond = asRows(blocks.isBlock, own.scale, true);
  values = select(isSecond > 0, stackRows({none, second * own.scale}), values);
  return select(isFirst > 0, stackRows({first * own.scale, none}), values);
}

Schur triangular(const Schur &schur) {
  const Matrix &t = schur.triangle;
  Schur result{Matrix(t.re(), t.im()), schur.vectors, schur.info};
  if (t.isComplex() || t.rows() == 1)
    return result;
  Blocks blocks = Blocks::of(t);
  const TwoByTwo &own = blocks.elements;
  Matrix offset = own.largerOffset(), length = absolute(Matrix(absolute(offset), own.c));
  length = select(length > 0, length, 1);
  result = rotated(result, blocks.isBlock, offset / length, own.c / length);
  Matrix row = t.rowNumbers(), column = t.columnNumbers();
  result.triangle = select(row == column, eigenvaluesOf(t).transposed(), select(column > row, result.triangle, 0));
  return result;
}

Schur standardized(const Schur &schur) {
  const Matrix &t = schur.triangle;
  if (t.isComplex() || t.rows() == 1)
    return schur;
  Blocks blocks = Blocks::of(t);
  const TwoByTwo &own = blocks.elements;
  // Blocks of pairs: the angle that makes the diagonal equal (LAPACK's lanv2).
  Matrix isPair = own.isPair(), sum = own.b + own.c, hypotenuse = absolute(Matrix(sum, own.half * 2));
  Matrix safe = select(hypotenuse > 0, hypotenuse, 1);
  Matrix cosineOfTwice = select(hypotenuse > 0, map<spmdc::AbsOp>(sum) / safe, 1);
  Matrix cosine = map<spmdc::SqrtOp>((cosineOfTwice + 1) * 0.5), sine = -(own.half / (safe * cosine));
  sine = select(sum >= 0, sine, -sine);
  // Blocks with real eigenvalues: the first vector is that of the first eigenvalue.
  Matrix offset = own.largerOffset().re(), length = absolute(Matrix(offset, own.c));
  length = select(length > 0, length, 1);
  cosine = select(isPair, cosine, offset / length);
  sine = select(isPair, sine, own.c / length);
  Schur result = rotated(schur, blocks.isBlock, cosine, sine);
  Matrix row = t.rowNumbers(), column = t.columnNumbers();
  Matrix kept = asRows(isPair & blocks.isBlock, own.scale, /*isSecond=*/false).transposed();
  result.triangle =
      select(column >= row, result.triangle, select((row == column + 1) & (kept > 0), result.triangle, 0));
  return result;
}

} // namespace spmdc::stablehlo
