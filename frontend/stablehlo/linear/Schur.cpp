//===- Schur.cpp - Schur form by QR iterations ----------------------------===//
//
// Reduction to Hessenberg form, then Francis' implicit double shifts (Golub, Van Loan, section 7.5; LAPACK's lahqr).
// The same steps serve complex matrices, for which LAPACK takes single shifts. Each sweep moves a bulge of 3 x 3 down
// the last block that is not yet of at most two rows; blocks differ between the matrices of a batch, which a step does
// not change while it is outside of their block.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Factorizations.h"
#include "frontend/stablehlo/linear/Reflector.h"
#include "frontend/stablehlo/linear/TwoByTwo.h"

using namespace mlir;

namespace spmdc::stablehlo {

Reflectors hessenberg(const Matrix &a) {
  int64_t size = a.rows();
  Matrix row = a.rowNumbers(), column = a.columnNumbers(), taus = a.block(0, size - 1, 0, 1).filled(0);
  Matrix step = taus.rowNumbers();
  Matrices done = repeat(size - 1, {a, taus}, [&](const Matrix &at, ArrayRef<Matrix> carries) -> Matrices {
    const Matrix &x = carries[0];
    Reflector by = reflectorOf(x.column(at), at + 1);
    Matrix next = reflectColumns(select(column > at, reflectRows(by, x), x), by);
    Matrix own = select(row == at + 1, by.beta, select(row > at + 1, by.vector, x));
    return {select(column == at, own, next), select(step == at, by.tau, carries[1])};
  });
  return {done[0], done[1]};
}

namespace {

/// The elements below (above) the diagonal, [batch..., n - 1, 1].
Matrix subdiagonal(const Matrix &x) { return x.block(1, x.rows(), 0, x.rows() - 1).diagonal(); }
Matrix superdiagonal(const Matrix &x) { return x.block(0, x.rows() - 1, 1, x.rows()).diagonal(); }

/// The element of a column at a position of [batch..., 1, 1].
Matrix pick(const Matrix &column, const Matrix &position) {
  return select(column.rowNumbers() == position, column, 0).reduceRows(ReductionKind::sum);
}

/// Rows [first, last] of the block that is iterated, i32[batch..., 1, 1]; `last` is 0 where none is left.
struct Block {
  Matrix first, last;
};

/// A number far below the rounding errors of a matrix of norm 1, whose quotients by such errors do not underflow.
double leastOf(const Matrix &x) { return x.elementType().isF64() ? 1e-290 : 1e-30; }

/// Sets elements below the diagonal that are rounding errors to zero.
Matrix deflated(const Matrix &x, const Matrix &norm) {
  Matrix sizes = absolute(x.diagonal()), sums = sizes.rows(0, x.rows() - 1) + sizes.rows(1, x.rows());
  Matrix limits = select(sums == 0, norm, sums) * epsilonOf(x.elementType()), least = limits.filled(leastOf(x));
  limits = select(limits > least, limits, least);
  Matrix wide = stackColumns({limits.transposed(), norm.filled(0)});
  return select((x.rowNumbers() == x.columnNumbers() + 1) & (wide >= absolute(x)), 0, x);
}

/// The number of rows of a bulge. A block of fewer rows is not iterated any more.
int64_t widthOf(const Matrix &x) { return x.isComplex() ? 2 : 3; }

/// The last block of so many rows that are joined by elements below the diagonal. NaN joins none.
Block findBlock(const Matrix &x) {
  Matrix sub = subdiagonal(x), isJoint = absolute(sub) > 0, index = sub.rowNumbers();
  Matrix joint = select(isJoint, index.filled(1), index.filled(0));
  Matrix before = stackRows({joint.rows(0, 1).filled(0), joint.rows(0, joint.rows() - 1)});
  Matrix isInside = (x.isComplex() ? joint : joint * before) > 0;
  Matrix place = select(isInside, index, -1).reduceRows(ReductionKind::max);
  Matrix cut = select((joint == 0) & (index < place), index, -1).reduceRows(ReductionKind::max);
  return {cut + 1, place + 1};
}

/// The first column of H - s of a complex block, [batch..., 2, 1], or of (H - s1) (H - s2) of a real one, [batch..., 3,
/// 1]. s is the eigenvalue of the last two rows that is nearest to the last element; s1 and s2 are both it if it is
/// real, or else the conjugate pair. `isExceptional`: LAPACK's other shifts, where those go round in circles.
Matrix bulgeOf(const Matrix &x, const Block &block, const Matrix &isExceptional) {
  Matrix main = x.diagonal(), sub = subdiagonal(x), super = superdiagonal(x);
  Matrix before = block.last + -1, last = pick(main, block.last), beside = pick(sub, before);
  TwoByTwo corner = TwoByTwo::of(pick(main, before), pick(super, before), beside, last);
  Matrix offset = corner.smallerOffset() * corner.scale;
  Matrix top = pick(main, block.first), under = pick(sub, block.first), bulge = top;
  if (x.isComplex()) {
    offset = select(isExceptional, absolute(beside) * 0.75, offset);
    bulge = stackRows({top - last - offset, under});
  } else {
    // (H - s1) (H - s2) = (H - m)^2 + w: s1 and s2 are m +- the root of -w.
    Matrix size = absolute(beside) + absolute(pick(sub, block.last + -2));
    Matrix nearest = last + select(isExceptional, size * 0.75, offset.re());
    // One factor of each product by the size of the elements, so that no product underflows.
    Matrix second = pick(main, block.first + 1), right = pick(super, block.first), end = pick(sub, block.first + 1);
    Matrix largest = absolute(stackColumns({top, under, right, second, end, nearest, offset.im(), size}))
                         .reduceColumns(ReductionKind::max);
    Matrix scale = select(largest > 0, largest, 1), factor = under / scale;
    Matrix rest = select(isExceptional, size * 0.4375 * (size / scale), offset.im() * (offset.im() / scale));
    Matrix squared = (top - nearest) * ((top - nearest) / scale) + rest;
    bulge = stackRows({squared + factor * right, factor * (top + second - nearest * 2), factor * end});
  }
  Matrix sum = absolute(bulge).reduceRows(ReductionKind::sum);
  return bulge / select(sum > 0, sum, 1);
}

/// H and Z^H, with a row of zeros behind both and a column behind H, so that windows of three rows fit. Rows are
/// contiguous, so Z's columns are kept as rows.
struct State {
  Matrix matrix;
  std::optional<Matrix> vectors;

  Matrices carries() const {
    Matrices all{matrix};
    if (vectors)
      all.push_back(*vectors);
    return all;
  }
  static State of(ArrayRef<Matrix> x) { return {x[0], x.size() > 1 ? std::optional(x[1]) : std::nullopt}; }
};

/// The step of a sweep from row `at` on: a reflection of the bulge's rows, of those that are left at the end of the
/// block.
State chase(const State &x, const Block &block, const Matrix &bulge, const Matrix &at) {
  Translation &t = at.translation();
  int64_t width = widthOf(x.matrix);
  Matrix rows = x.matrix.rowsAt(at, width), isFirst = block.first == at;
  Matrix own = select(isFirst, bulge, rows.column(at + -1));
  own = select(block.last >= own.rowNumbers() + at, own, 0);
  Reflector by = reflectorOf(own, Matrix(t, t.splatLike(at.get(), 0)));
  Matrix isInside = (at >= block.first) & (block.last > at);
  by.tau = select(isInside, by.tau, 0);
  // The column before the block's first one is not part of it.
  Matrix isReflected = (rows.columnNumbers() == at + -1) & isInside & (at > block.first);
  rows = select(isReflected, select(own.rowNumbers() == 0, by.beta, own.filled(0)), reflectRows(by, rows));
  Matrix next = x.matrix.withRowsAt(at, rows);
  State result{next.withColumnsAt(at, reflectColumns(next.columnsAt(at, width), by)), x.vectors};
  if (x.vectors)
    result.vectors = x.vectors->withRowsAt(at, reflectRows(by, x.vectors->rowsAt(at, width)));
  return result;
}

Matrix columnOfZeros(const Matrix &x) { return x.columns(0, 1).filled(0); }

/// The iteration for a Hessenberg matrix whose largest element is about 1.
State iterate(State state, Matrix &last) {
  Translation &t = last.translation();
  int64_t size = state.matrix.rows();
  Matrix norm = last.converted(state.matrix.elementType()).filled(1);
  state.matrix = stackColumns({state.matrix.paddedRows(0, 1), columnOfZeros(state.matrix.paddedRows(0, 1))});
  if (state.vectors)
    state.vectors = state.vectors->adjoint().paddedRows(0, 1);
  state.matrix = deflated(state.matrix, norm);
  auto inner = [&](const Matrix &padded) { return padded.block(0, size, 0, size); };
  Block block = findBlock(inner(state.matrix));
  Matrix sweeps(t, t.splat(ArrayType::get({}, t.b.getI32Type()), 0));
  // As many as LAPACK's; two or three for each eigenvalue are usual.
  auto limit = static_cast<double>(30 * std::max<int64_t>(10, size));
  constexpr double kExceptionalSweep = 9; // Without success.
  // Sweeps end behind the last block of all matrices.
  Matrices initials{block.first, block.last, block.last.filled(0), sweeps, block.last.largest()};
  llvm::append_range(initials, state.carries());
  Matrices done = repeatWhile(
      initials, [&](ArrayRef<Matrix> x) { return (x[4] > 0) & (x[3] < limit); },
      [&](ArrayRef<Matrix> x) {
        Block own{x[0], x[1]};
        State before = State::of(x.drop_front(5));
        Matrix bulge = bulgeOf(inner(before.matrix), own, x[2] == kExceptionalSweep);
        Matrices swept{x[3].filled(0)};
        llvm::append_range(swept, before.carries());
        swept = repeatWhile(
            swept, [&](ArrayRef<Matrix> inside) { return x[4] > inside[0]; },
            [&](ArrayRef<Matrix> inside) {
              Matrices moved{inside[0] + 1};
              llvm::append_range(moved, chase(State::of(inside.drop_front()), own, bulge, inside[0]).carries());
              return moved;
            });
        State after = State::of(ArrayRef(swept).drop_front());
        after.matrix = deflated(after.matrix, norm);
        Block next = findBlock(inner(after.matrix));
        Matrix isStuck = (next.last == own.last) & (x[2] < kExceptionalSweep);
        Matrices all{next.first, next.last, select(isStuck, x[2] + 1, 0), x[3] + 1, next.last.largest()};
        llvm::append_range(all, after.carries());
        return all;
      });
  last = done[1];
  state = State::of(ArrayRef(done).drop_front(5));
  state.matrix = inner(state.matrix);
  if (state.vectors)
    state.vectors = state.vectors->rows(0, size).adjoint();
  return state;
}

} // namespace

Schur schur(const Matrix &a, bool hasVectors) {
  int64_t size = a.rows();
  Matrix row = a.rowNumbers(), column = a.columnNumbers();
  Matrix largest = absolute(a).reduceColumns(ReductionKind::max).reduceRows(ReductionKind::max);
  Matrix isFinite = largest * 0 == 0, scale = select(isFinite & (largest > 0), largest, 1);
  State state{a / scale, std::nullopt};
  if (hasVectors)
    state.vectors = select(row == column, a.filled(1), 0);
  if (size > 1) {
    Reflectors reduced = hessenberg(state.matrix);
    state.matrix = select(row > column + 1, 0, reduced.matrix);
    if (hasVectors) {
      // The reflections leave the first row and column.
      Matrix inner = multiplyReflectors(reduced.matrix.block(1, size, 0, size - 1), reduced.taus);
      Matrix right = stackRows({state.vectors->block(0, 1, 1, size), inner});
      state.vectors = stackColumns({state.vectors->columns(0, 1), right});
    }
  }
  Matrix last = largest.converted(a.translation().b.getI32Type()).filled(0);
  if (size >= widthOf(a))
    state = iterate(state, last);
  Matrix info = select(isFinite, select(last > 0, last + 1, 0), -4);
  return {state.matrix * scale, state.vectors, info};
}

} // namespace spmdc::stablehlo
