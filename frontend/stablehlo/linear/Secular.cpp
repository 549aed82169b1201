//===- Secular.cpp - eigenvalues of a diagonal and a rank-one matrix ------===//
//
// Cuppen's divide and conquer (1981), with the vector of Gu and Eisenstat (1995), of which the computed eigenvalues are
// the exact ones, so that eigenvectors are orthogonal however near the eigenvalues are. All roots are found at once, by
// LAPACK's iteration (Li 1993, "the middle way"): each half of the sum by a pole and a constant, with the same value
// and slope. No array is sorted: poles have ranks, and sums over other poles take them by their ranks.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Secular.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Where no pole and no root is.
constexpr double kOutside = 4;
/// Four to ten iterations are usual, up to 50 where clusters of poles make the model poor and the interval is halved
/// instead. Roots that are left have an interval of rounding errors.
constexpr double kMostIterations = 80;

Matrix rootOf(const Matrix &x) { return map<spmdc::SqrtOp>(map<spmdc::AbsOp>(x)); }

/// Elements whose column belongs to another matrix than their row become this number.
Matrix ofGroup(const std::optional<Matrix> &group, const Matrix &x, double otherwise) {
  return group ? select(*group == group->transposed(), x, otherwise) : x;
}
Matrix isOfGroup(const std::optional<Matrix> &group, const Matrix &predicate) {
  return group ? predicate & (*group == group->transposed()) : predicate;
}

/// x - y, or x^2 - y^2.
Matrix distanceOf(const Matrix &x, const Matrix &y, bool isSquared) { return isSquared ? (x - y) * (x + y) : x - y; }

/// The poles that have a root of their own, and what the roots need of them. Those that have none are outside, with
/// weights 0.
struct Poles {
  std::optional<Matrix> group;
  bool isSquared;
  Matrix isSolved, position, weight; ///< z_i^2.
  Matrix rank;                       ///< Among them, as a float.
  Matrix width;                      ///< Of the interval behind a pole, in which its root is.
  Matrix next, nextWeight;           ///< Of the pole at the end of the interval; 0 if there is none.
  Matrix isLast, constant;           ///< 1 / rho.
};

Poles findPoles(const RankOneSum &sum) {
  const Matrix &d = sum.diagonal, &z = sum.vector;
  double epsilon = epsilonOf(d.elementType());
  // LAPACK's limit, for a matrix whose largest element is 1; here its norm is at most 1.
  Matrix isSolved = sum.weight * absolute(z) > 4 * epsilon;
  if (sum.isKept)
    isSolved = isSolved | *sum.isKept;
  Matrix key = materialized(select(isSolved, d, kOutside)), keys = key.transposed();
  Matrix row = key.rowNumbers(), column = key.columns(0, 1).transposed().columnNumbers();
  Matrix isBefore = (keys < key) | ((keys == key) & (row > column));
  isBefore = isOfGroup(sum.group, isBefore);
  Matrix rank = materialized(sumOfColumns(select(isBefore, key.filled(1), 0))), ranks = rank.transposed();
  Matrix chosen = isOfGroup(sum.group, isSolved.transposed());
  // Poles that are equal, or nearly, are moved apart by rounding errors. LAPACK rotates them instead, one by one.
  double distance = 2 * epsilon;
  Matrix pushed =
      select(chosen & (rank >= ranks), keys - ranks * distance, -kOutside).reduceColumns(ReductionKind::max);
  pushed = pushed + rank * distance;
  Matrix moved = select(pushed > d + distance / 2, pushed, d);
  Matrix position = materialized(select(isSolved, moved, kOutside)), weight = materialized(select(isSolved, z * z, 0));
  Matrix isNext = chosen & (ranks == rank + 1);
  Matrix next = sumOfColumns(select(isNext, position.transposed(), 0));
  Matrix nextWeight = sumOfColumns(select(isNext, weight.transposed(), 0));
  Matrix isLast = sumOfColumns(select(isNext, position.transposed().filled(1), 0)) == 0;
  // Above the last root, in spite of rounding errors.
  Matrix most = sum.weight * sumOfColumns(ofGroup(sum.group, weight.transposed(), 0)) * 1.125;
  Matrix width = select(isSolved, select(isLast, most, distanceOf(next, position, sum.isSquared)), 1);
  Matrix constant = 1 / select(sum.weight > 0, sum.weight, 1);
  return {sum.group,
          sum.isSquared,
          isSolved,
          position,
          weight,
          rank,
          materialized(width),
          materialized(next),
          materialized(nextWeight),
          isLast,
          constant};
}

/// The sums over the poles up to a root's own and over those behind it, and their slopes. The first is negative.
struct Sums {
  Matrix before, behind, slopeBefore, slopeBehind;
};
Sums sumsAt(const Poles &poles, const Matrix &origin, const Matrix &offset) {
  // Poles of other groups may be where this root is.
  Matrix distance = ofGroup(poles.group, distanceOf(poles.position.transposed(), origin, poles.isSquared) - offset, 1);
  Matrix term = ofGroup(poles.group, poles.weight.transposed(), 0) / distance, slope = term / distance;
  Matrix isBefore = poles.rank >= poles.rank.transposed();
  return {sumOfColumns(select(isBefore, term, 0)), sumOfColumns(select(isBefore, 0, term)),
          sumOfColumns(select(isBefore, slope, 0)), sumOfColumns(select(isBefore, 0, slope))};
}

/// The state of all roots: an interval of offsets that has the root, and where to look next.
struct State {
  Matrix offset, low, high, isOpen, number;
  Matrices carries() const { return {offset, low, high, isOpen, number}; }
  static State of(ArrayRef<Matrix> x) { return {x[0], x[1], x[2], x[3], x[4]}; }
};

Matrix isBetween(const Matrix &low, const Matrix &x, const Matrix &high) { return (x > low) & (high > x); }

/// The first offsets (LAPACK's laed4): the equation in the middle of the interval says which end is nearer, which is
/// the origin, and what is left beside the terms of both ends.
struct Beginning {
  Matrix isLeft, origin, offset, low, high; ///< Origins are positions of poles.
};
Beginning begin(const Poles &poles) {
  Matrix middle = poles.width * 0.5;
  Sums sums = sumsAt(poles, poles.position, middle);
  Matrix value = materialized(poles.constant + sums.before + sums.behind);
  Matrix isBelow = value < 0, isLeft = poles.isLast | (value >= 0);
  Matrix rest = value + poles.weight / middle - poles.nextWeight / middle;
  Matrix both = poles.weight + poles.nextWeight, linear = rest * poles.width + select(isLeft, both, -both);
  Matrix product = select(isLeft, poles.weight, poles.nextWeight) * poles.width;
  Matrix root = rootOf(linear * linear + select(isLeft, -product, product) * rest * 4);
  Matrix own = select(linear > 0, product * 2 / (linear + root), (linear - root) / (rest * 2));
  Matrix other = select(linear < 0, product * 2 / (linear - root), -(linear + root) / (rest * 2));
  Matrix isFar = poles.isLast & isBelow;
  Matrix low = select(isLeft, select(isFar, middle, 0), -middle);
  Matrix high = select(isLeft, select(isFar, poles.width, middle), 0);
  Matrix offset = select(isLeft, own, other);
  offset = select(isBetween(low, offset, high), offset, (low + high) * 0.5);
  return {isLeft, select(isLeft, poles.position, poles.next), offset, low, high};
}

State improve(const Poles &poles, const Beginning &from, const State &x) {
  double epsilon = epsilonOf(x.offset.elementType());
  Sums sums = sumsAt(poles, from.origin, x.offset);
  Matrix value = poles.constant + sums.before + sums.behind, slope = sums.slopeBefore + sums.slopeBehind;
  Matrix error = (sums.behind - sums.before) * 8 + poles.constant + absolute(x.offset) * slope;
  Matrix isRight = absolute(value) > error * epsilon;
  Matrix low = select((value < 0) & (x.offset > x.low), x.offset, x.low);
  Matrix high = select((value > 0) & (x.high > x.offset), x.offset, x.high);
  // constant + a / (left - step) + b / (right - step) = 0, with the distances of both ends.
  Matrix zero = poles.width.filled(0);
  Matrix left = select(from.isLeft, zero, -poles.width) - x.offset,
         right = select(from.isLeft, poles.width, 0) - x.offset;
  Matrix constant = value - left * sums.slopeBefore - right * sums.slopeBehind;
  Matrix linear = (left + right) * value - left * right * slope, product = left * right * value;
  Matrix root = rootOf(linear * linear - product * constant * 4);
  Matrix step = select(linear > 0, product * 2 / (linear + root), (linear - root) / (constant * 2));
  Matrix next = x.offset + step, isInside = isBetween(low, next, high);
  next = select(isInside, next, (low + high) * 0.5);
  // A last step where the value is a rounding error, if it is one of the model.
  Matrix isChanged = x.isOpen & isBetween(low, next, high) & (isRight | isInside);
  return {select(isChanged, next, x.offset), low, high, isChanged & isRight, x.number + 1};
}

} // namespace

Matrix SecularRoots::values() const {
  if (!isSquared)
    return origin + offset;
  Matrix square = origin * origin + offset;
  return select(isSolved, map<spmdc::SqrtOp>(select(square > 0, square, 0)), origin);
}

SecularRoots SecularRoots::taken(const Matrix &order) const {
  // Bools as numbers: positions read floats and integers.
  Matrix solved = select(isSolved, origin.filled(1), 0).takeRows(order);
  return {solved > 0, origin.takeRows(order), offset.takeRows(order), number.takeRows(order), isSquared};
}

/// A factor of each row that keeps the squares of its elements in range. The distances of square poles may be nearly as
/// small as floats are.
static Matrix scaleOf(const Matrix &rows, bool isSquared) {
  Matrix most = absolute(rows).reduceColumns(ReductionKind::max);
  return isSquared ? materialized(1 / most) : most.filled(1);
}

Matrix SecularForm::normalized(const SecularRoots &chosen, const Matrix &factors,
                               const std::optional<Matrix> &isRow) const {
  Matrix origins = chosen.origin.transposed(), offsets = chosen.offset.transposed();
  // The lengths by sums over rows, which are contiguous.
  Matrix own = materialized(factors);
  Matrix rows = own.transposed() / (distanceOf(poles.transposed(), chosen.origin, roots.isSquared) - chosen.offset);
  Matrix columns = own / (distanceOf(poles, origins, roots.isSquared) - offsets);
  if (isRow) {
    rows = select(isRow->transposed(), -1, rows);
    columns = select(*isRow, -1, columns);
  }
  rows = ofGroup(group, rows, 0);
  Matrix scale = scaleOf(rows, roots.isSquared);
  rows = rows * scale;
  Matrix length = materialized(scale / map<spmdc::SqrtOp>(sumOfColumns(rows * rows)));
  Matrix elements = ofGroup(group, columns * length.transposed(), 0);
  Matrix unit = select(poles.rowNumbers() == chosen.number.transposed(), elements.filled(1), 0);
  return select(chosen.isSolved.transposed(), elements, unit);
}

Matrices SecularForm::combine(ArrayRef<Matrix> rows) const {
  Matrix distance = distanceOf(poles.transposed(), roots.origin, roots.isSquared) - roots.offset;
  Matrix elements = numerators.transposed() / distance;
  elements = elements * scaleOf(elements, roots.isSquared);
  Matrix length = 1 / map<spmdc::SqrtOp>(sumOfColumns(elements * elements));
  Matrices sums;
  for (const Matrix &row : rows)
    sums.push_back(select(roots.isSolved, sumOfColumns(row.transposed() * elements) * length, row));
  return sums;
}

SecularForm solveSecular(const RankOneSum &sum) {
  Poles poles = findPoles(sum);
  Beginning from = begin(poles);
  Matrix origin = materialized(from.origin);
  Translation &t = origin.translation();
  Matrix number(t, t.splat(ArrayType::get({}, t.b.getI32Type()), 0));
  State initial{from.offset, from.low, from.high, poles.isSolved, number};
  State done = State::of(repeatWhile(
      initial.carries(),
      [](ArrayRef<Matrix> x) { return (select(x[3], x[0].filled(1), 0).largest() > 0) & (x[4] < kMostIterations); },
      [&](ArrayRef<Matrix> x) { return improve(poles, from, State::of(x)).carries(); }));
  Matrix column = poles.rank.rowNumbers() + poles.rank.converted(t.b.getI32Type()).filled(0);
  SecularRoots roots{poles.isSolved, select(poles.isSolved, origin, sum.diagonal),
                     select(poles.isSolved, done.offset, 0), column, sum.isSquared};
  // The z of which the roots are exact: its squares are products of quotients of distances.
  Matrix distance = distanceOf(poles.position, origin.transposed(), sum.isSquared) - done.offset.transposed();
  Matrix isOwn = column == column.transposed();
  Matrix gap = select(isOwn, 1, distanceOf(poles.position, poles.position.transposed(), sum.isSquared));
  Matrix quotient = select(isOfGroup(sum.group, poles.isSolved.transposed()), distance / gap, 1);
  Matrix squares = -quotient.reduceColumns(ReductionKind::prod);
  Matrix size = map<spmdc::SqrtOp>(select(squares > 0, squares, 0));
  Matrix numerators = select(poles.isSolved, select(sum.vector < 0, -size, size), 0);
  return {poles.position, materialized(numerators), roots, sum.group};
}

} // namespace spmdc::stablehlo
