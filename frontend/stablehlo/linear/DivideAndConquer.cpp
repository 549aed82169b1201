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

/// Decompositions of all matrices of one size, as a batch [batch..., matrices, ...].
struct Level {
  Matrix values;      ///< In any order, [..., size, 1].
  Matrix first, last; ///< Rows of the eigenvectors, [..., size, 1]: the next level needs these alone.
  std::optional<Matrix> vectors;

  int64_t count() const { return values.shape()[values.rowDim() - 1]; }
};

/// Which eigenvalues are wanted of the last matrix, and of which part of its rows.
struct Ending {
  int64_t rows, count;
  bool isDescending;
};

/// Joins each two matrices. `joints`: the elements between their rows, [batch..., matrices / 2, 1, 1].
Level join(const Level &x, const Matrix &joints, const std::optional<Ending> &ending) {
  int64_t half = x.values.rows(), size = 2 * half, count = x.count() / 2;
  auto paired = [&](const Matrix &columns) { return columns.regrouped(3, {count, size, 1}); };
  Matrix first = paired(x.first), last = paired(x.last), isUpper = first.rowNumbers() < static_cast<double>(half);
  Matrix z = materialized(select(isUpper, last, select(joints < 0, -first, first)) * std::sqrt(0.5));
  SecularForm form = solveSecular({paired(x.values), z, absolute(joints) * 2, false, std::nullopt, std::nullopt});
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
  next.vectors =
      multiply(*x.vectors, vectors.regrouped(3, {2 * count, half, columns})).regrouped(3, {count, size, columns});
  next.first = next.vectors->rows(0, 1).transposed();
  next.last = next.vectors->rows(size - 1, size).transposed();
  return next;
}

Matrix halved(const Matrix &x) { return x.with(x.translation().create<spmdc::DivideOp>(x.get(), x.filled(2).get())); }

/// Joins the rows of leaves, of which each is a matrix, to leaves. `joints`: the elements behind the rows, and zeros.
Level joinLeaves(const Matrix &diagonal, const Matrix &joints) {
  Matrix row = diagonal.rowNumbers(), identity = select(row == row.transposed(), diagonal.filled(1), 0);
  Matrices done = joinRows(diagonal, {diagonal, identity}, [&](const RowGroups &rows, ArrayRef<Matrix> x) -> Matrices {
    Matrix joint = materialized(rows.atJoint(joints)), z = rows.atEnds(x[1]);
    z = materialized(select(rows.isUpper, z, select(joint < 0, -z, z)) * std::sqrt(0.5));
    SecularForm form = solveSecular({x[0], z, absolute(joint) * 2, false, std::nullopt, rows.group});
    return {form.roots.values(), multiply(x[1], form.vectorsOf(form.roots))};
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

Leaves::Leaves(int64_t rows) {
  while (static_cast<int64_t>(llvm::divideCeil(rows, count)) > kLargestLeaf)
    count *= 2;
  size = static_cast<int64_t>(llvm::divideCeil(rows, count));
}

Matrix Leaves::split(const Matrix &column) const {
  return column.paddedRows(0, rows() - column.rows()).regrouped(2, {count, size, 1});
}

Matrix RowGroups::atJoint(const Matrix &column) const {
  return select(row.transposed() == joint, column.transposed(), 0).reduceColumns(ReductionKind::sum);
}

Matrix RowGroups::atEnds(const Matrix &matrix) const {
  Matrix end = select(isUpper, joint, joint + 1).transposed();
  return select(row == end, matrix, 0).reduceRows(ReductionKind::sum).transposed();
}

Matrices joinRows(const Matrix &like, const Matrices &initials,
                  function_ref<Matrices(const RowGroups &, ArrayRef<Matrix>)> body) {
  Matrix row = like.rowNumbers(), number = materialized(row + like.converted(row.elementType()).filled(0));
  auto levels = static_cast<int64_t>(llvm::Log2_64_Ceil(static_cast<uint64_t>(like.rows())));
  // A row's matrix, and the rows of matrices.
  Matrices all{number, number.rows(0, 1).filled(1)};
  llvm::append_range(all, initials);
  Matrices done = repeat(levels, all, [&](const Matrix &, ArrayRef<Matrix> x) {
    const Matrix &own = x[0], &half = x[1];
    Matrix group = materialized(halved(own)), joint = materialized((group * 2 + 1) * half + -1);
    Matrices next{group, half * 2};
    llvm::append_range(next, body({number, group, own == group * 2, joint, half}, x.drop_front(2)));
    return next;
  });
  return Matrices(ArrayRef(done).drop_front(2));
}

TridiagonalEigen eigenOfTridiagonal(const Matrix &main, const Matrix &beside, int64_t count, bool isDescending,
                                    bool hasVectors) {
  int64_t rows = main.rows();
  if (rows == 1)
    return {main, hasVectors ? std::optional(main.filled(1)) : std::nullopt};
  Leaves leaves(rows);
  Matrix scale = materialized(scaleOf(main, beside));
  Matrix joints = beside / scale, sizes = absolute(joints);
  Matrix diagonal = main / scale - sizes.paddedRows(0, 1) - sizes.paddedRows(1, 0);
  Matrix between = leaves.split(joints), outer = materialized(between.rows(leaves.size - 1, leaves.size));
  Matrix inner = between.rows(0, leaves.size - 1).paddedRows(0, 1);
  Level level = joinLeaves(materialized(leaves.split(diagonal)), materialized(inner));
  if (!hasVectors)
    level.vectors.reset();
  for (int64_t group = 2; group <= leaves.count; group *= 2) {
    Matrix groups = outer.regrouped(3, {leaves.count / group, group, 1});
    std::optional<Ending> ending;
    if (group == leaves.count)
      ending = Ending{rows, count, isDescending};
    level = join(level, groups.rows(group / 2 - 1, group / 2), ending);
  }
  auto single = [&](const Matrix &x) { return x.regrouped(3, {x.rows(), x.columns()}); };
  Matrix found = single(level.values);
  if (hasVectors && leaves.count > 1)
    return {found * scale, single(*level.vectors).rows(0, rows)};
  found = found.rows(0, rows);
  Matrix order = materialized(found.sortedPositions(isDescending).rows(0, count));
  TridiagonalEigen result{found.takeRows(order) * scale, std::nullopt};
  if (hasVectors)
    result.vectors = single(*level.vectors).block(0, rows, 0, rows).transposed().takeRows(order).transposed();
  return result;
}

} // namespace spmdc::stablehlo
