//===- Accuracy.cpp - accuracy of a value ---------------------------------===//

#include "tests/programs/generator/Accuracy.h"

#include <algorithm>
#include <cmath>

namespace spmdc {

using spmd::DType;

double roundoff(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 0x1p-53;
  case DType::F32:
    return 0x1p-24;
  case DType::F16:
    return 0x1p-11;
  default:
    return 0x1p-8;
  }
}

double accumulatorRoundoff(DType dtype) { return dtype == DType::F64 ? 0x1p-53 : 0x1p-24; }

double integerBound(DType dtype) {
  if (dtype == DType::Bool)
    return 1;
  auto bits = static_cast<int>(8 * spmd::byteSize(dtype));
  return std::ldexp(1.0, spmd::isUnsigned(dtype) ? bits : bits - 1);
}

bool isInRange(DType dtype, double bound) {
  return !spmd::isFloat(dtype) || bound < (dtype == DType::F16 ? 30000.0 : 1e30);
}

Accuracy computed(DType dtype, bool isExact, double bound, int grain, double error, double partials) {
  if (!spmd::isFloat(dtype))
    return {.bound = std::min(bound, integerBound(dtype)), .bits = true};
  if (isExact && std::ldexp(bound, grain) <= 1.0 / roundoff(dtype))
    return {.bound = bound, .grain = grain};
  return {.exact = false, .bound = bound, .error = error + 8 * partials * roundoff(dtype) * bound};
}

double Accuracy::errorAt(double value) const {
  return sumError < 0 ? error : std::min(error, sumError + relative * std::abs(value));
}

Accuracy summed(DType dtype, bool isExact, double bound, int grain, double terms, double errorOfTerms) {
  double error = errorOfTerms + terms * accumulatorRoundoff(dtype) * bound;
  Accuracy sum = computed(dtype, isExact, bound, grain, error, 4);
  if (sum.exact)
    return sum;
  // One rounding of the expected value, one of the actual value, those of a tree of additions, and those of subnormal
  // numbers.
  sum.sumError = error + 32 * accumulatorRoundoff(dtype) * bound + 0x1p-24;
  sum.relative = 2.02 * roundoff(dtype);
  return sum;
}

Accuracy converted(const Accuracy &accuracy, DType from, DType to) {
  if (from == to)
    return accuracy;
  if (!spmd::isFloat(to)) {
    // Values that fit keep their bound; floats saturate, integers wrap.
    double bound = accuracy.bound < integerBound(to) && !spmd::isUnsigned(to) ? accuracy.bound : integerBound(to);
    return {.bound = bound, .bits = true};
  }
  if (accuracy.exact && std::ldexp(accuracy.bound, accuracy.grain) <= 1.0 / roundoff(to))
    return {.bound = accuracy.bound, .grain = accuracy.grain};
  return {.exact = false, .bound = accuracy.bound, .error = accuracy.error + 2 * roundoff(to) * accuracy.bound};
}

Accuracy eitherOf(const Accuracy &x, const Accuracy &y) {
  return {.exact = x.exact && y.exact,
          .bound = std::max(x.bound, y.bound),
          .error = std::max(x.error, y.error),
          .grain = std::max(x.grain, y.grain),
          .bits = x.bits && y.bits};
}

} // namespace spmdc
