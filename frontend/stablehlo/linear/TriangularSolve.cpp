//===- TriangularSolve.cpp - triangular systems ---------------------------===//
//
// The blocks on the diagonal are inverted, all at once, and the rest is products (XLA's TriangularSolveExpander).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// Rows of the solution one by one, each of those before it (behind it). Elements outside the triangle are not read.
static Matrix solveByRows(const Matrix &a, const Matrix &b, bool isLower, bool hasUnitDiagonal) {
  Matrix row = a.rowNumbers();
  return repeat(a.rows(), {b.filled(0)}, [&](const Matrix &step, ArrayRef<Matrix> x) -> Matrices {
    Matrix at = isLower ? step : step * -1 + static_cast<double>(a.rows() - 1), own = a.row(at);
    // The others are zeros.
    Matrix isOther = isLower ? row >= at : at >= row;
    Matrix next = b.row(at) - sumOfRows(select(isOther, 0, own.transposed() * x[0]));
    return {x[0].withRowsAt(at, hasUnitDiagonal ? next : next / own.column(at))};
  })[0];
}

static Matrix invertByRows(const Matrix &a, bool hasUnitDiagonal) {
  Matrix identity = select(a.rowNumbers() == a.columnNumbers(), a.filled(1), 0);
  return solveByRows(a, identity, /*isLower=*/true, hasUnitDiagonal);
}

/// Blocks of one size as a batch, [batch..., blocks, size, size].
static Matrix stackBlocks(ArrayRef<Matrix> blocks) {
  Translation &t = blocks.front().translation();
  SmallVector<int64_t> shape(blocks.front().shape());
  auto dim = static_cast<int64_t>(blocks.front().rowDim());
  shape.insert(shape.begin() + dim, 1);
  SmallVector<Value> re, im;
  for (const Matrix &block : blocks) {
    re.push_back(t.reshape(block.get(), shape));
    if (block.isComplex())
      im.push_back(t.reshape(block.im().get(), shape));
  }
  return blocks.front().with(t.concatenate(re, dim), im.empty() ? Value() : t.concatenate(im, dim));
}

/// The blocks on the diagonal as a batch, [batch..., blocks, size, size]; the last one is completed to this size by the
/// identity.
static Matrix diagonalBlocks(const Matrix &a, int64_t size) {
  SmallVector<Matrix> blocks;
  for (int64_t begin = 0; begin < a.rows(); begin += size) {
    int64_t end = std::min(begin + size, a.rows());
    Matrix block = a.block(begin, end, begin, end);
    if (end - begin < size) {
      Matrix wide =
          block.paddedRows(0, size - (end - begin)).transposed().paddedRows(0, size - (end - begin)).transposed();
      Matrix row = wide.rowNumbers();
      block = select((row == wide.columnNumbers()) & (row >= static_cast<double>(end - begin)), 1, wide);
    }
    blocks.push_back(block);
  }
  return stackBlocks(blocks);
}

/// Each second one of a batch of blocks, from the first or the second on.
static Matrix everySecond(const Matrix &blocks, int64_t first) {
  auto dim = static_cast<int64_t>(blocks.rowDim()) - 1;
  Translation &t = blocks.translation();
  auto chosen = [&](const Matrix &part) { return part.with(t.sliceDim(part.get(), dim, first, part.shape()[dim], 2)); };
  return blocks.isComplex() ? Matrix(chosen(blocks.re()), chosen(blocks.im())) : chosen(blocks);
}

/// The blocks of `size` rows below those on the diagonal with even numbers, to the left of those with odd ones, as a
/// batch.
static Matrix besideDiagonal(const Matrix &a, int64_t size) {
  SmallVector<Matrix> blocks;
  for (int64_t begin = 0; begin < a.rows(); begin += 2 * size)
    blocks.push_back(a.block(begin + size, begin + 2 * size, begin, begin + size));
  return stackBlocks(blocks);
}

Matrix invertLower(const Matrix &a, bool hasUnitDiagonal) {
  // Loops over rows are short steps, which a GPU launches one by one; products of small blocks cost as much as a few.
  constexpr int64_t kSmallest = 16;
  int64_t rows = a.rows(), size = rows <= 2 * kSmallest ? rows : kSmallest;
  if (size == rows)
    return rows == 0 ? a : invertByRows(a, hasUnitDiagonal);
  int64_t full = size;
  while (full < rows)
    full *= 2;
  Matrix padded = a.paddedRows(0, full - rows).transposed().paddedRows(0, full - rows).transposed();
  Matrix row = padded.rowNumbers(), isPadding = (row == padded.columnNumbers()) & (row >= static_cast<double>(rows));
  padded = full == rows ? a : select(isPadding, 1, padded);
  // The inverse of [[A, 0], [C, B]] is [[A', 0], [-B' C A', B']].
  Matrix inverses = invertByRows(diagonalBlocks(padded, size), hasUnitDiagonal);
  for (; size < full; size *= 2) {
    Matrix upper = everySecond(inverses, 0), lower = everySecond(inverses, 1);
    Matrix corner = -multiply(multiply(lower, besideDiagonal(padded, size)), upper);
    inverses = stackRows({stackColumns({upper, upper.filled(0)}), stackColumns({corner, lower})});
  }
  return inverses.reshaped(padded.shape()).block(0, rows, 0, rows);
}

/// Block `number` of the batch of `diagonalBlocks`, without what it was completed by.
static Matrix takeBlock(const Matrix &blocks, int64_t number, int64_t size) {
  Translation &t = blocks.translation();
  auto dim = static_cast<int64_t>(blocks.rowDim()) - 1;
  SmallVector<int64_t> shape(blocks.shape());
  shape.erase(shape.begin() + dim);
  SmallVector<Value> parts = llvm::map_to_vector(
      blocks.parts(), [&](Value part) { return t.reshape(t.sliceDim(part, dim, number, number + 1), shape); });
  return blocks.with(parts.front(), blocks.isComplex() ? parts.back() : Value()).block(0, size, 0, size);
}

Matrix substitute(const Matrix &a, const Matrix &b, bool hasUnitDiagonal) {
  return b.lanes() > 0 ? solveByRows(a, b, /*isLower=*/true, hasUnitDiagonal)
                       : multiply(invertLower(a, hasUnitDiagonal), b);
}

/// The inverted blocks on the diagonal, [batch..., blocks, size, size].
static Matrix invertDiagonal(const Matrix &a, int64_t size, bool isLower, bool hasUnitDiagonal) {
  Matrix blocks = diagonalBlocks(a, size);
  return isLower ? invertLower(blocks, hasUnitDiagonal)
                 : invertLower(blocks.transposed(), hasUnitDiagonal).transposed();
}

/// X of a X = b, for a lower (upper) triangular matrix.
static Matrix solve(const Matrix &a, const Matrix &b, bool isLower, bool hasUnitDiagonal) {
  int64_t rows = a.rows(), blockSize = std::min(rows, blockSizeOf(a, rows)), count = (rows + blockSize - 1) / blockSize;
  // Matrices in lanes are not inverted: that is more work for few right sides, and a row is a step of either loop.
  std::optional<Matrix> inverses;
  if (a.lanes() == 0)
    inverses = invertDiagonal(a, blockSize, isLower, hasUnitDiagonal);
  Matrices parts; // In the order of the solution, from the last block on if `a` is an upper triangle.
  Matrix rest = b;
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = isLower ? i : count - 1 - i, begin = number * blockSize, end = std::min(rows, begin + blockSize);
    int64_t size = end - begin, left = rest.rows();
    // The rest has the rows from `begin` on (up to `end`).
    Matrix own = isLower ? rest.rows(0, size) : rest.rows(left - size, left);
    Matrix part = inverses ? multiply(takeBlock(*inverses, number, size), own)
                           : solveByRows(a.block(begin, end, begin, end), own, isLower, hasUnitDiagonal);
    parts.push_back(part);
    if (i + 1 == count)
      break;
    Matrix factor = isLower ? a.block(end, rows, begin, end) : a.block(0, begin, begin, end);
    rest = (isLower ? rest.rows(size, left) : rest.rows(0, left - size)) - multiply(factor, part);
  }
  if (!isLower)
    std::reverse(parts.begin(), parts.end());
  return stackRows(parts);
}

Matrix solveTriangular(const Matrix &a, const Matrix &b, Triangle triangle, bool isLeft) {
  if (a.rows() == 0 || b.rows() == 0 || b.columns() == 0)
    return b;
  // X op(A) = B is op(A)^T X^T = B^T.
  if (!isLeft)
    return solveTriangular(a, b.transposed(),
                           {triangle.isLower, !triangle.isTransposed, triangle.hasUnitDiagonal, triangle.isConjugated})
        .transposed();
  Matrix own = triangle.isTransposed ? a.transposed() : a;
  if (triangle.isConjugated)
    own = own.conjugated();
  return solve(own, b, triangle.isLower != triangle.isTransposed, triangle.hasUnitDiagonal);
}

} // namespace spmdc::stablehlo
