//===- Accuracy.h - what is known of a value's error ------------*- C++ -*-===//
//
// Each value of a random program carries what is known of it, so that results can be compared as strictly as they
// deserve:
//   exact   integers, bools, and floats that are multiples of 2^-grain and not too large: every order of evaluation
//           gives the same number;
//   error   otherwise, the absolute error that correct code may have, from the operations on the way.
// Operations that jump (comparisons, rounding, argmax, conversion to integers) are applied to exact values only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

namespace spmdc {

struct Accuracy {
  bool exact = true;
  double bound = 0;  ///< Largest absolute value; infinities and NaNs of the data do not count.
  double error = 0;  ///< Absolute; 0 where exact.
  int grain = 0;     ///< Exact floats are multiples of 2^-grain.
  bool bits = false; ///< Exact to the sign of each zero, and no NaN: what may be looked at bit by bit.
  /// Of sums that are no part of another value yet: what adding up leaves, and beside it `relative` of each element.
  /// However many devices add up 16-bit floats, a sum is rounded once. Negative: nothing nearer than `error` is known.
  double sumError = -1, relative = 0;

  /// The absolute error that an element may have of which this is the value.
  double errorAt(double value) const;
};

bool isUnsignedInteger(spmd::DType dtype);

/// Half a unit in the last place of 1.
double roundoff(spmd::DType dtype);
/// Of the type that sums are kept in: f32 for narrower floats.
double accumulatorRoundoff(spmd::DType dtype);
/// No integer (bool: 1) is beyond this.
double integerBound(spmd::DType dtype);
/// Whether values of this bound are far enough from overflow to compute with.
bool isInRange(spmd::DType dtype, double bound);

/// Of a result that is exact if everything that went in was and its multiples of 2^-grain can be held; else it has this
/// error, and `partials` roundings of its own. Integers are always exact and wrap.
Accuracy computed(spmd::DType dtype, bool isExact, double bound, int grain, double error, double partials = 1);

/// Of sums of `terms` numbers, each with an error: exact where `computed` says so.
Accuracy summed(spmd::DType dtype, bool isExact, double bound, int grain, double terms, double errorOfTerms);

/// After conversion to another element type, as promotion and `cast` do it.
Accuracy converted(const Accuracy &accuracy, spmd::DType from, spmd::DType to);

/// Of a value that is one of the two.
Accuracy eitherOf(const Accuracy &x, const Accuracy &y);

} // namespace spmdc
