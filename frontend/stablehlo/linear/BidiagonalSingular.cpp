//===- BidiagonalSingular.cpp - singular values of bidiagonal matrices ----===//
//
// Divide and conquer (Gu, Eisenstat 1995; LAPACK's bdsdc), as in DivideAndConquer.cpp. A part of so many columns has
// one row less, and a vector V without a singular value. The row between two parts joins them: it has an element in the
// last column of the first and in the first column of the second, so it is a row z times V, and a rotation of both
// parts' additional vectors leaves one of them. In U and V of a part, the last column is that of this vector and of the
// row behind the part.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/BidiagonalSingular.h"
#include "frontend/stablehlo/linear/DivideAndConquer.h"
#include "frontend/stablehlo/linear/Secular.h"

#include <cmath>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Two parts before they are joined: columns of all columns of both.
struct Pair {
  Matrix ends;                     ///< Of V, in the last row of the first part or the first row of the second.
  Matrix isUpper, isJoint, isLast; ///< The first part; the last column of the first and of the second part.
  Matrix main, above;              ///< The elements of the row between them, [..., 1, 1] or for each column.
  std::optional<Matrix> group;     ///< Of several pairs.
};

struct Joined {
  SecularForm form;
  Matrix isJoint, isLast, cosine, sine;

  /// V of the joined parts in the columns of both parts' V.
  Matrix rightVectorsOf(const SecularRoots &chosen) const;
  Matrix leftVectorsOf(const SecularRoots &chosen) const { return form.leftVectorsOf(chosen, isJoint); }
};

/// The value of the column where `isThere`, for all columns of its pair.
Matrix pick(const Matrix &column, const Matrix &isThere, const std::optional<Matrix> &group) {
  Matrix row = select(isThere, column, 0).transposed();
  if (group)
    row = select(*group == group->transposed(), row, 0);
  return row.reduceColumns(ReductionKind::sum);
}

Joined join(const Pair &x, const Matrix &values) {
  // The row between the parts has a singular value, but for rounding errors of them. Poles are 2 epsilon apart, so the
  // square of that value is a normal float.
  double least = std::pow(epsilonOf(values.elementType()), 1.5);
  Matrix first = x.main * pick(x.ends, x.isJoint, x.group), second = x.above * pick(x.ends, x.isLast, x.group);
  Matrix length = absolute(Matrix(first, second)), isRow = length > least, divisor = select(isRow, length, 1);
  Matrix cosine = materialized(select(isRow, first / divisor, 1));
  Matrix sine = materialized(select(isRow, second / divisor, 0));
  Matrix z = x.ends * select(x.isUpper, x.main, x.above);
  z = select(x.isJoint, select(isRow, length, least), select(x.isLast, 0, z));
  SecularForm form = solveSecular({values, materialized(z), length.filled(1), true, x.isJoint, x.group});
  return {form, x.isJoint, x.isLast, cosine, sine};
}

Matrix Joined::rightVectorsOf(const SecularRoots &chosen) const {
  Matrix own = materialized(form.vectorsOf(chosen));
  auto rowOf = [&](const Matrix &isThere) {
    return materialized(select(isThere, own, 0).reduceRows(ReductionKind::sum));
  };
  Matrix joint = rowOf(isJoint), last = rowOf(isLast);
  Matrix upper = cosine * own - sine * last, lower = sine * joint + cosine * own;
  if (form.group) {
    Matrix isOwn = *form.group == form.group->transposed();
    upper = select(isOwn, upper, 0);
    lower = select(isOwn, lower, 0);
  }
  return select(isJoint, upper, select(isLast, lower, own));
}

/// The parts of one size, as a batch [batch..., parts, ...].
struct Level {
  Matrix values, first, last; ///< And the first and the last row of V, [..., columns, 1].
  std::optional<Matrix> left, right;

  int64_t count() const { return values.shape()[values.rowDim() - 1]; }
};

Matrix rowOf(const Matrix &x, int64_t number) { return x.rows(number, number + 1).transposed(); }

Level joinLeaves(const Matrix &main, const Matrix &above, bool hasVectors) {
  Matrix row = main.rowNumbers(), identity = select(row == row.transposed(), main.filled(1), 0);
  int64_t size = main.rows();
  Matrices initials{main.filled(0), identity};
  if (hasVectors)
    initials.push_back(identity);
  Matrices done = joinRows(main, initials, [&](const RowGroups &rows, ArrayRef<Matrix> x) -> Matrices {
    // The last groups may have no second half, or a part of it.
    Matrix hasJoint = rows.joint < static_cast<double>(size - 1),
           end = rows.joint.filled(static_cast<double>(size - 1));
    Matrix last = rows.joint + rows.half;
    last = select(last < end, last, end);
    Pair pair{materialized(rows.atEnds(x[1])),
              rows.isUpper,
              hasJoint & (rows.row == rows.joint),
              hasJoint & (rows.row == last),
              materialized(rows.atJoint(main)),
              materialized(rows.atJoint(above)),
              rows.group};
    Joined joined = join(pair, x[0]);
    const SecularRoots &roots = joined.form.roots;
    Matrices next{roots.values(), multiply(x[1], joined.rightVectorsOf(roots))};
    if (hasVectors)
      next.push_back(multiply(x[2], joined.leftVectorsOf(roots)));
    return next;
  });
  Level level{done[0], rowOf(done[1], 0), rowOf(done[1], size - 1), std::nullopt, std::nullopt};
  if (hasVectors) {
    level.right = done[1];
    level.left = done[2];
  }
  return level;
}

/// Joins each two parts by the elements of the rows between them, [batch..., parts / 2, 1, 1]. `order` finds the
/// wanted singular values of the last matrix.
Level joinParts(const Level &x, const Matrix &main, const Matrix &above,
                llvm::function_ref<std::optional<Matrix>(const Matrix &)> order) {
  int64_t half = x.values.rows(), size = 2 * half, count = x.count() / 2;
  auto paired = [&](const Matrix &columns) { return columns.regrouped(3, {count, size, 1}); };
  Matrix first = paired(x.first), last = paired(x.last), row = first.rowNumbers();
  Matrix isUpper = row < static_cast<double>(half), isJoint = row == static_cast<double>(half - 1),
         isLast = row == static_cast<double>(size - 1);
  Joined joined =
      join({materialized(select(isUpper, last, first)), isUpper, isJoint, isLast, main, above, std::nullopt},
           paired(x.values));
  SecularRoots chosen = joined.form.roots;
  Level next{chosen.values(), first, last, std::nullopt, std::nullopt};
  if (!x.right) {
    Matrix above = first.rows(half - 1, half), below = last.rows(size - 1, size);
    Matrix top = select(isUpper, first, 0), bottom = select(isUpper, 0, last);
    top = select(isJoint, joined.cosine * above, select(isLast, -joined.sine * above, top));
    bottom = select(isJoint, joined.sine * below, select(isLast, joined.cosine * below, bottom));
    Matrices ends = joined.form.combine({materialized(top), materialized(bottom)});
    return {next.values, materialized(ends[0]), materialized(ends[1]), std::nullopt, std::nullopt};
  }
  if (std::optional<Matrix> found = order(next.values)) {
    chosen = chosen.taken(*found);
    next.values = chosen.values();
  }
  auto product = [&](const Matrix &vectors, const Matrix &by) {
    return multiply(vectors, by.regrouped(3, {2 * count, half, by.columns()}))
        .regrouped(3, {count, size, by.columns()});
  };
  next.right = product(*x.right, joined.rightVectorsOf(chosen));
  next.left = product(*x.left, joined.leftVectorsOf(chosen));
  next.first = rowOf(*next.right, 0);
  next.last = rowOf(*next.right, size - 1);
  return next;
}

} // namespace

BidiagonalSingular singularOfBidiagonal(const Matrix &main, const Matrix &above, bool hasVectors) {
  int64_t size = main.rows();
  Leaves leaves(size + 1);
  int64_t padding = leaves.rows() - size - 1;
  Matrix most = absolute(main).reduceRows(ReductionKind::max);
  if (size > 1)
    most = most + absolute(above).reduceRows(ReductionKind::max);
  // The norm is at most a half, and the rows behind the matrix have the singular value 1: the first ones in order.
  Matrix scale = materialized(powerOfTwoOf(most) * 2), one = most.filled(1);
  Matrix own = materialized(leaves.split(main / scale));
  Matrix wide = (above / scale).paddedRows(0, leaves.rows() - size + 1);
  wide = select(wide.rowNumbers() >= static_cast<double>(size), one, wide);
  Matrix beside = materialized(leaves.split(wide));
  auto findOrder = [&](const Matrix &values) {
    return materialized(values.sortedPositions(/*isDescending=*/true).rows(padding, padding + size));
  };
  // The last row of a leaf is between leaves.
  auto inner = [&](const Matrix &column) { return materialized(column.rows(0, leaves.size - 1).paddedRows(0, 1)); };
  Level level = joinLeaves(inner(own), inner(beside), hasVectors);
  for (int64_t group = 2; group <= leaves.count; group *= 2) {
    auto joints = [&](const Matrix &column) {
      Matrix ends = column.rows(leaves.size - 1, leaves.size);
      return ends.regrouped(3, {leaves.count / group, group, 1}).rows(group / 2 - 1, group / 2);
    };
    level = joinParts(level, joints(own), joints(beside), [&](const Matrix &values) {
      return group == leaves.count ? std::optional(findOrder(values)) : std::nullopt;
    });
  }
  auto single = [&](const Matrix &x) { return x.regrouped(3, {x.rows(), x.columns()}); };
  Matrix values = single(level.values);
  std::optional<Matrix> left, right;
  if (hasVectors) {
    left = single(*level.left).rows(0, size);
    right = single(*level.right).rows(0, size);
  }
  if (hasVectors && leaves.count > 1)
    return {values * scale, left, right};
  Matrix order = findOrder(values);
  auto ordered = [&](const Matrix &x) { return x.transposed().takeRows(order).transposed(); };
  if (hasVectors) {
    left = ordered(*left);
    right = ordered(*right);
  }
  return {values.takeRows(order) * scale, left, right};
}

} // namespace spmdc::stablehlo
