//===- TridiagonalForm.cpp - reduction to a tridiagonal matrix ------------===//
//
// LAPACK's latrd (Dongarra, Sorensen, Hammarling 1989): a block of columns by reflections, one by one, of the matrix as
// it was before the block, minus V W^H + W V^H; then this product for all that is left.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/TridiagonalForm.h"
#include "frontend/stablehlo/linear/Reflector.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// V^T, W^T, S^T, and the elements of T, after all columns of a block.
struct Panel {
  Matrix vectors, others, triangle, main, beside;
  Matrices carries() const { return {vectors, others, triangle, main, beside}; }
  static Panel of(ArrayRef<Matrix> x) { return {x[0], x[1], x[2], x[3], x[4]}; }
};

/// The first `count` columns of Hermitian matrices.
Panel reducePanel(const Matrix &a, int64_t count) {
  Matrix none = a.rows(0, count).filled(0), square = a.block(0, count, 0, count).filled(0),
         real = square.columns(0, 1).re();
  Panel initial{none, none, square, real, real};
  return Panel::of(repeat(count, initial.carries(), [&](const Matrix &at, ArrayRef<Matrix> carries) {
    Panel x = Panel::of(carries);
    Matrix v = x.vectors.column(at).conjugated(), w = x.others.column(at).conjugated();
    Matrix own = materialized(a.row(at).conjugated() - sumOfRows(w * x.vectors + v * x.others));
    Reflector by = reflectorOf(own.transposed(), at + 1);
    Matrix vector = by.vector.transposed();
    Matrix product = materialized(sumOfColumns(a * vector));
    Matrix alongW = materialized(sumOfColumns(x.others.conjugated() * vector));
    Matrix alongV = materialized(sumOfColumns(x.vectors.conjugated() * vector));
    Matrix image = by.tau * (product.transposed() - sumOfRows(alongW * x.vectors + alongV * x.others));
    image = materialized(image);
    Matrix dot = materialized(sumOfColumns(image.conjugated() * vector));
    Matrix other = image - by.tau * dot * 0.5 * vector;
    Matrix row = select(square.columnNumbers() == at, by.tau, -by.tau * sumOfRows(x.triangle * alongV));
    return Panel{x.vectors.withRowsAt(at, vector), x.others.withRowsAt(at, other), x.triangle.withRowsAt(at, row),
                 x.main.withRowsAt(at, own.column(at).re()), x.beside.withRowsAt(at, by.beta)}
        .carries();
  }));
}

} // namespace

int64_t reductionBlockOf(int64_t size) {
  constexpr int64_t kLeast = 32;
  return std::max(kLeast, blockSizeOf(size) / 2);
}

TridiagonalForm tridiagonalForm(const Matrix &a) {
  int64_t size = a.rows();
  int64_t blockSize = reductionBlockOf(size);
  Matrices main, beside;
  SmallVector<BlockReflection> blocks;
  Matrix rest = a;
  for (int64_t begin = 0; begin + 1 < size;) {
    int64_t left = size - begin, count = std::min(blockSize, left - 1);
    Panel panel = reducePanel(rest, count);
    main.push_back(panel.main);
    beside.push_back(panel.beside);
    // The first row belongs to the column before.
    blocks.push_back({begin + 1, panel.vectors.columns(1, left), panel.triangle});
    Matrix v = panel.vectors.columns(count, left).conjugated(), w = panel.others.columns(count, left).conjugated();
    rest = rest.block(count, left, count, left) - multiply(stackRows({v, w}), stackRows({w, v}), /*adjointX=*/true);
    begin += count;
  }
  main.push_back(rest.re());
  return {stackRows(main), stackRows(beside), blocks};
}

Matrix applyBlocks(ArrayRef<BlockReflection> blocks, const Matrix &x) {
  Matrix result = x;
  for (const BlockReflection &block : llvm::reverse(blocks)) {
    Matrix v = block.vectors.conjugated(), part = result.rows(block.begin, result.rows());
    Matrix inner = multiply(block.triangle.conjugated(), multiply(v, part), /*adjointX=*/true);
    part = part - multiply(v, inner, /*adjointX=*/true);
    result = stackRows({result.rows(0, block.begin), part});
  }
  return result;
}

} // namespace spmdc::stablehlo
