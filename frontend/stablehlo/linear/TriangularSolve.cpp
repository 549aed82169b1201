//===- TriangularSolve.cpp - triangular systems ---------------------------===//
//
// The blocks on the diagonal are inverted, all at once, and the rest is products (XLA's TriangularSolveExpander).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// Numbers of blocks of `size` of positions.
static Matrix blockOf(const Matrix &numbers, int64_t size) {
  return {numbers.translation(), numbers.translation().create<spmdc::DivideOp>(
                                     numbers.get(), numbers.filled(static_cast<double>(size)).get())};
}

Matrix invertLower(const Matrix &a, bool hasUnitDiagonal) {
  // The inverse of [[A, 0], [C, B]] is [[A', 0], [-B' C A', B']]: blocks of 1, 2, 4, ... rows, each size for all blocks
  // in two products. A loop over rows needs as many launches as there are rows.
  Matrix row = a.rowNumbers(), column = a.columnNumbers();
  Matrix inverse = select(row == column, hasUnitDiagonal ? a.filled(1) : 1 / a, 0);
  for (int64_t size = 1; size < a.rows(); size *= 2) {
    // Rows of an odd block of this size, columns of the even block before it.
    Matrix rowBlock = blockOf(row, size), isPair = blockOf(row, 2 * size) == blockOf(column, 2 * size);
    Matrix corner = select(isPair & (rowBlock > blockOf(column, size)), a, 0);
    inverse = inverse - (size == 1 ? inverse.diagonal() * corner * inverse.diagonal().transposed()
                                   : multiply(multiply(inverse, corner), inverse));
  }
  return inverse;
}

/// The blocks on the diagonal as a batch, [batch..., blocks, size, size]; the last one is completed to this size by the
/// identity.
static Matrix diagonalBlocks(const Matrix &a, int64_t size) {
  Translation &t = a.translation();
  std::array<SmallVector<Value>, 2> blocks; // Of the real and of the imaginary part.
  for (int64_t begin = 0; begin < a.rows(); begin += size) {
    int64_t end = std::min(begin + size, a.rows());
    Matrix block = a.block(begin, end, begin, end);
    if (end - begin < size) {
      Matrix wide =
          block.paddedRows(0, size - (end - begin)).transposed().paddedRows(0, size - (end - begin)).transposed();
      Matrix row = wide.rowNumbers();
      block = select((row == wide.columnNumbers()) & (row >= static_cast<double>(end - begin)), 1, wide);
    }
    SmallVector<int64_t> shape(block.shape());
    shape.insert(shape.end() - 2, 1);
    for (auto [part, list] : llvm::zip(block.parts(), blocks))
      list.push_back(t.reshape(part, shape));
  }
  auto dim = static_cast<int64_t>(a.rank()) - 2;
  return {t, t.concatenate(blocks[0], dim), a.isComplex() ? t.concatenate(blocks[1], dim) : Value()};
}

/// Block `number` of the batch of `diagonalBlocks`, without what it was completed by.
static Matrix takeBlock(const Matrix &blocks, int64_t number, int64_t size) {
  Translation &t = blocks.translation();
  auto dim = static_cast<int64_t>(blocks.rank()) - 3;
  SmallVector<int64_t> shape(blocks.shape());
  shape.erase(shape.end() - 3);
  SmallVector<Value> parts = llvm::map_to_vector(
      blocks.parts(), [&](Value part) { return t.reshape(t.sliceDim(part, dim, number, number + 1), shape); });
  return Matrix(t, parts.front(), blocks.isComplex() ? parts.back() : Value()).block(0, size, 0, size);
}

/// X of a X = b, for a lower (upper) triangular matrix.
static Matrix solve(const Matrix &a, const Matrix &b, bool isLower, bool hasUnitDiagonal) {
  int64_t rows = a.rows(), blockSize = std::min(rows, blockSizeOf(rows)), count = (rows + blockSize - 1) / blockSize;
  Matrix blocks = diagonalBlocks(a, blockSize);
  Matrix inverses =
      isLower ? invertLower(blocks, hasUnitDiagonal) : invertLower(blocks.transposed(), hasUnitDiagonal).transposed();
  Matrices parts; // In the order of the solution, from the last block on if `a` is an upper triangle.
  Matrix rest = b;
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = isLower ? i : count - 1 - i, begin = number * blockSize, end = std::min(rows, begin + blockSize);
    int64_t size = end - begin, left = rest.rows();
    // The rest has the rows from `begin` on (up to `end`).
    Matrix own = isLower ? rest.rows(0, size) : rest.rows(left - size, left);
    Matrix part = multiply(takeBlock(inverses, number, size), own);
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
