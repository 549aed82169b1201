//===- DivideAndConquer.cpp - eigenvalues of tridiagonal matrices ---------===//
//
// A matrix is two of half the size on the diagonal and one of rank one, which joins them. So matrices of one row are
// joined to matrices of two, four, ...: all those of one size are a batch, and most of the work is one product for each
// size. Up to kLargestLeaf rows they are groups of rows of one matrix, a leaf, so that one loop has the code for all of
// these sizes. Leaves are of equal size, with zeros behind the matrix, which nothing joins to it.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/DivideAndConquer.h"
#include "frontend/stablehlo/linear/Secular.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Leaves have more than half as many rows, so at most a sixteenth of the rows are zeros. Smaller leaves take as long,
/// and each size of its own some 0.2 s of compilation.
constexpr int64_t kLargestLeaf = 32;

SmallVector<int64_t> joinedShape(ArrayRef<int64_t> batch, std::initializer_list<int64_t> sizes) {
  SmallVector<int64_t> shape(batch);
  shape.append(sizes);
  return shape;
}

/// Decompositions of all matrices of one size, as a batch [batch..., matrices, ...].
struct Level {
  Matrix values;      ///< In any order, [..., size, 1].
  Matrix first, last; ///< Rows of the eigenvectors, [..., size, 1]: the next level needs these alone.
  std::optional<Matrix> vectors;

  int64_t count() const { return values.shape()[values.rank() - 3]; }
};

/// Which eigenvalues are wanted of the last matrix, and of which part of its rows.
struct Ending {
  int64_t rows, count;
  bool isDescending;
};

/// Joins each two matrices. `joints`: the elements between their rows, [batch..., matrices / 2, 1, 1].
Level join(const Level &x, const Matrix &joints, const std::optional<Ending> &ending) {
  ArrayRef<int64_t> batch = x.values.shape().drop_back(3);
  int64_t half = x.values.rows(), size = 2 * half, count = x.count() / 2;
  auto paired = [&](const Matrix &columns) { return columns.reshaped(joinedShape(batch, {count, size, 1})); };
  Matrix first = paired(x.first), last = paired(x.last), isUpper = first.rowNumbers() < static_cast<double>(half);
  Matrix z = materialized(select(isUpper, last, select(joints < 0, -first, first)) * std::sqrt(0.5));
  SecularForm form = solveSecular({paired(x.values), z, absolute(joints) * 2, std::nullopt});
  Level next{form.roots.values(), first, last, std::nullopt};
  if (!x.vectors) {
    Matrices ends = form.combine({select(isUpper, first, 0), select(isUpper, 0, last)});
    return {next.values, materialized(ends[0]), materialized(ends[1]), std::nullopt};
  }
  SecularRoots chosen = form.roots;
  if (ending) {
    Matrix order = next.values.rows(0, ending->rows).sortedPositions(ending->isDescending).rows(0, ending->count);
    chosen = chosen.taken(order);
    next.values = chosen.values();
  }
  Matrix vectors = form.vectorsOf(chosen);
  int64_t columns = vectors.columns();
  next.vectors = multiply(*x.vectors, vectors.reshaped(joinedShape(batch, {2 * count, half, columns})))
                     .reshaped(joinedShape(batch, {count, size, columns}));
  next.first = next.vectors->rows(0, 1).transposed();
  next.last = next.vectors->rows(size - 1, size).transposed();
  return next;
}

Matrix halved(const Matrix &x) {
  return {x.translation(), x.translation().create<spmdc::DivideOp>(x.get(), x.filled(2).get())};
}

/// Joins the rows of leaves, of which each is a matrix, to leaves. `joints`: the elements behind the rows, and zeros.
Level joinRows(const Matrix &diagonal, const Matrix &joints) {
  Matrix row = diagonal.rowNumbers(), number = materialized(row + diagonal.converted(row.elementType()).filled(0));
  Matrix identity = select(number == number.transposed(), joints.filled(1), 0);
  Matrix one = number.rows(0, 1).filled(1);
  Matrices done = repeat(static_cast<int64_t>(llvm::Log2_64_Ceil(static_cast<uint64_t>(diagonal.rows()))),
                         {diagonal, identity, number, one}, [&](const Matrix &, ArrayRef<Matrix> x) -> Matrices {
                           // `own`: the number of a row's matrix, of `half` rows; `group`: that of the one which it
                           // becomes a part of.
                           const Matrix &vectors = x[1], &own = x[2], &half = x[3];
                           Matrix group = halved(own), isUpper = own == group * 2, columns = row.transposed();
                           Matrix joint = select(columns == (group * 2 + 1) * half + -1, joints.transposed(), 0);
                           joint = materialized(joint.reduceColumns(ReductionKind::sum));
                           // The last rows of the upper matrices, the first ones of the lower.
                           Matrix end = select(isUpper, own * half + half + -1, own * half);
                           Matrix z =
                               select(row == end.transposed(), vectors, 0).reduceRows(ReductionKind::sum).transposed();
                           z = materialized(select(isUpper, z, select(joint < 0, -z, z)) * std::sqrt(0.5));
                           SecularForm form = solveSecular({x[0], z, absolute(joint) * 2, materialized(group)});
                           return {form.roots.values(), multiply(vectors, form.vectorsOf(form.roots)), group, half * 2};
                         });
  const Matrix &vectors = done[1];
  return {done[0], vectors.rows(0, 1).transposed(), vectors.rows(vectors.rows() - 1, vectors.rows()).transposed(),
          vectors};
}

/// A power of two that is at least the norm of the matrices, and 1 for zeros and for what is not finite.
Matrix scaleOf(const Matrix &main, const Matrix &beside) {
  Matrix most = absolute(main).reduceRows(ReductionKind::max);
  if (beside.rows() > 0)
    most = most + absolute(beside).reduceRows(ReductionKind::max) * 2;
  return powerOfTwoOf(most);
}

} // namespace

TridiagonalEigen eigenOfTridiagonal(const Matrix &main, const Matrix &beside, int64_t count, bool isDescending,
                                    bool hasVectors) {
  ArrayRef<int64_t> batch = main.shape().drop_back(2);
  int64_t rows = main.rows(), leaves = 1;
  if (rows == 1)
    return {main, hasVectors ? std::optional(main.filled(1)) : std::nullopt};
  while (llvm::divideCeil(rows, leaves) > kLargestLeaf)
    leaves *= 2;
  int64_t leaf = llvm::divideCeil(rows, leaves), full = leaves * leaf;
  Matrix scale = materialized(scaleOf(main, beside));
  Matrix joints = beside / scale, sizes = absolute(joints);
  Matrix diagonal = main / scale - sizes.paddedRows(0, 1) - sizes.paddedRows(1, 0);
  auto inLeaves = [&](const Matrix &column) {
    return column.paddedRows(0, full - column.rows()).reshaped(joinedShape(batch, {leaves, leaf, 1}));
  };
  Matrix between = inLeaves(joints), outer = materialized(between.rows(leaf - 1, leaf));
  Level level = joinRows(materialized(inLeaves(diagonal)), materialized(between.rows(0, leaf - 1).paddedRows(0, 1)));
  if (!hasVectors)
    level.vectors.reset();
  for (int64_t group = 2; group <= leaves; group *= 2) {
    Matrix groups = outer.reshaped(joinedShape(batch, {leaves / group, group, 1}));
    std::optional<Ending> ending;
    if (group == leaves)
      ending = Ending{rows, count, isDescending};
    level = join(level, groups.rows(group / 2 - 1, group / 2), ending);
  }
  auto single = [&](const Matrix &x) { return x.reshaped(joinedShape(batch, {x.rows(), x.columns()})); };
  Matrix found = single(level.values);
  if (hasVectors && leaves > 1)
    return {found * scale, single(*level.vectors).rows(0, rows)};
  found = found.rows(0, rows);
  Matrix order = materialized(found.sortedPositions(isDescending).rows(0, count));
  TridiagonalEigen result{found.takeRows(order) * scale, std::nullopt};
  if (hasVectors)
    result.vectors = single(*level.vectors).block(0, rows, 0, rows).transposed().takeRows(order).transposed();
  return result;
}

} // namespace spmdc::stablehlo
