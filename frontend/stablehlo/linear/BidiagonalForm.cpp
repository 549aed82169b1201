//===- BidiagonalForm.cpp - reduction to a bidiagonal matrix --------------===//
//
// LAPACK's labrd: a block of columns and rows by reflections, of the matrix as it was before the block, minus
// V Y^H + X U^H, where V has the vectors of the columns and U those of the rows; then these products for all that is
// left.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/BidiagonalForm.h"
#include "frontend/stablehlo/linear/Reflector.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Vectors as rows, and their triangles, after all columns of a block.
struct Panel {
  Matrix v, y, x, u, leftTriangle, rightTriangle, main, above;
  Matrices carries() const { return {v, y, x, u, leftTriangle, rightTriangle, main, above}; }
  static Panel of(ArrayRef<Matrix> m) { return {m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7]}; }
};

Panel reducePanel(const Matrix &a, int64_t count) {
  Matrix none = a.rows(0, count).filled(0), square = a.block(0, count, 0, count).filled(0),
         real = square.columns(0, 1).re();
  Panel initial{none, none, none, none, square, square, real, real};
  return Panel::of(repeat(count, initial.carries(), [&](const Matrix &at, ArrayRef<Matrix> carries) {
    Panel m = Panel::of(carries);
    auto along = [](const Matrix &rows, const Matrix &vector) {
      return materialized(sumOfColumns(rows.conjugated() * vector));
    };
    Matrix own =
        a.column(at).transposed() - sumOfRows(m.y.column(at).conjugated() * m.v + m.u.column(at).conjugated() * m.x);
    Reflector left = reflectorOf(materialized(own).transposed(), at);
    Matrix v = left.vector.transposed();
    Matrix alongV = along(m.v, v), alongX = along(m.x, v);
    Matrix image = sumOfRows(a.conjugated() * v.transposed()) - sumOfRows(alongV * m.y + alongX * m.u);
    Matrix y = materialized(left.tau * image);
    // The row, with the new reflection; its adjoint is reflected.
    Matrix rest =
        a.row(at).conjugated() - y - sumOfRows(m.v.column(at).conjugated() * m.y + m.x.column(at).conjugated() * m.u);
    // The last row has nothing behind its diagonal.
    rest = materialized(select(rest.columnNumbers() > at, rest, 0));
    Reflector right = reflectorOf(rest.transposed(), at + 1);
    Matrix u = right.vector.transposed();
    Matrix alongY = along(m.y, u), alongU = along(m.u, u);
    Matrix newest = sumOfColumns(y.conjugated() * u);
    Matrix product = materialized(sumOfColumns(a * u));
    Matrix x = product.transposed() - sumOfRows(alongY * m.v + alongU * m.x) - newest * v;
    auto row = [&](const Matrix &triangle, const Matrix &tau, const Matrix &sums) {
      return select(square.columnNumbers() == at, tau, -tau * sumOfRows(triangle * sums));
    };
    return Panel{m.v.withRowsAt(at, v),
                 m.y.withRowsAt(at, y),
                 m.x.withRowsAt(at, right.tau * x),
                 m.u.withRowsAt(at, u),
                 m.leftTriangle.withRowsAt(at, row(m.leftTriangle, left.tau, alongV)),
                 m.rightTriangle.withRowsAt(at, row(m.rightTriangle, right.tau, alongU)),
                 m.main.withRowsAt(at, left.beta),
                 m.above.withRowsAt(at, right.beta)}
        .carries();
  }));
}

} // namespace

BidiagonalForm bidiagonalForm(const Matrix &a) {
  int64_t size = a.rows(), blockSize = reductionBlockOf(size);
  Matrices main, above;
  SmallVector<BlockReflection> left, right;
  Matrix rest = a;
  for (int64_t begin = 0; begin < size;) {
    int64_t rows = size - begin, count = std::min(blockSize, rows);
    Panel panel = reducePanel(rest, count);
    main.push_back(panel.main);
    above.push_back(panel.above);
    left.push_back({begin, panel.v, panel.leftTriangle});
    // The first element of these is zero.
    if (rows > 1)
      right.push_back({begin + 1, panel.u.columns(1, rows), panel.rightTriangle});
    if (count < rows) {
      auto part = [&](const Matrix &x) { return x.columns(count, rows).conjugated(); };
      rest = rest.block(count, rows, count, rows) - multiply(stackRows({part(panel.v), part(panel.x)}),
                                                             stackRows({part(panel.y), part(panel.u)}),
                                                             /*adjointX=*/true);
    }
    begin += count;
  }
  return {stackRows(main), stackRows(above).rows(0, size - 1), left, right};
}

} // namespace spmdc::stablehlo
