//===- Accuracy.h - accuracy of a value -------------------------*- C++ -*-===//
//
// Each value of a random program has an accuracy, so that results can be compared as strictly as possible:
//   exact   integers, bools, and floats that are multiples of 2^-grain and not too large: every order of evaluation
//           gives the same number;
//   error   otherwise, the absolute error that correct code may have, from the operations before.
// Operations that jump (comparisons, rounding, argmax, conversion to integers) are applied to exact values only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

namespace spmdc {

struct Accuracy {
  bool exact = true;
  double bound = 0; ///< Largest absolute value; infinities and NaNs of the data do not count.
  double error = 0; ///< Absolute; 0 if exact.
  int grain = 0;    ///< Exact floats are multiples of 2^-grain.
  /// Exact including the sign of each zero, and without NaNs: operations on its bits are reproducible.
  bool bits = false;
  /// For sums that are not yet used in another value: the error of the additions, plus `relative` times each element. A
  /// sum of 16-bit floats is rounded once, no matter how many devices add. Negative: only `error` is known.
  double sumError = -1, relative = 0;

  /// Returns the absolute error that an element with this value may have.
  double errorAt(double value) const;
};

/// Half a unit in the last place of 1.
double roundoff(spmd::DType dtype);
/// For the type in which sums are accumulated: f32 for narrower floats.
double accumulatorRoundoff(spmd::DType dtype);
/// Returns the largest absolute value of an integer type (bool: 1).
double integerBound(spmd::DType dtype);
/// Returns whether values with this bound are far enough from overflow to compute with.
bool isInRange(spmd::DType dtype, double bound);

/// Returns the accuracy of a result that is exact if all operands were and the type can represent its multiples of
/// 2^-grain. Otherwise it has this error, and `partials` rounding errors of its own. Integers are always exact and
/// wrap.
Accuracy computed(spmd::DType dtype, bool isExact, double bound, int grain, double error, double partials = 1);

/// For sums of `terms` numbers, each with an error: exact where `computed` says so.
Accuracy summed(spmd::DType dtype, bool isExact, double bound, int grain, double terms, double errorOfTerms);

/// After conversion to another element type, as by promotion and `cast`.
Accuracy converted(const Accuracy &accuracy, spmd::DType from, spmd::DType to);

/// For a value that is one of the two.
Accuracy eitherOf(const Accuracy &x, const Accuracy &y);

} // namespace spmdc
