//===- ScalarEvaluation.cpp - reference evaluation of one element ---------===//

#include "ir/array/ScalarEvaluation.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

bool isFloat(Type type) { return isa<FloatType>(type); }

unsigned widthOf(Type type) { return type.getIntOrFloatBitWidth(); }

/// The element's bits, zero-extended.
uint64_t bitsOf(Type type, Scalar x) {
  unsigned width = widthOf(type);
  uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  if (!isFloat(type))
    return static_cast<uint64_t>(x.i) & mask;
  llvm::APFloat value(x.f);
  bool losesInfo;
  value.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

int64_t lowest(Type type) {
  if (isUnsigned(type) || widthOf(type) == 1)
    return 0;
  return -(int64_t(1) << (widthOf(type) - 2)) * 2;
}

int64_t highest(Type type) {
  unsigned width = widthOf(type), bits = isUnsigned(type) || width == 1 ? width : width - 1;
  return static_cast<int64_t>(~uint64_t(0) >> (64 - bits));
}

// Two's complement arithmetic without the undefined behaviour of signed overflow.
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t raw(Scalar x) { return static_cast<uint64_t>(x.i); }

} // namespace

double evaluateErfInv(double x) {
  if (std::isnan(x) || x < -1 || x > 1)
    return std::numeric_limits<double>::quiet_NaN();
  if (std::abs(x) == 1)
    return x * std::numeric_limits<double>::infinity();
  // Bisection of a positive argument, then Newton: slow and exact to the last bits. The tails use erfc, since erf is 1
  // there in all digits.
  double target = std::abs(x), low = 0, high = 6;
  for (int i = 0; i < 60; ++i) {
    double middle = 0.5 * (low + high);
    (std::erfc(middle) > 1 - target ? low : high) = middle;
  }
  double y = 0.5 * (low + high);
  for (int i = 0; i < 3; ++i)
    y -= (target < 0.5 ? std::erf(y) - target : (1 - target) - std::erfc(y)) / (2 / std::sqrt(M_PI) * std::exp(-y * y));
  return std::copysign(y, x);
}

Scalar evaluateAbs(Type type, Scalar x) {
  if (isFloat(type))
    return Scalar::ofFloat(std::abs(x.f));
  return x.i < 0 && !isUnsigned(type) ? Scalar::ofInt(wrap(0 - raw(x))) : x;
}

Scalar evaluateNegate(Type type, Scalar x) {
  return isFloat(type) ? Scalar::ofFloat(-x.f) : Scalar::ofInt(wrap(0 - raw(x)));
}

Scalar evaluateSign(Type type, Scalar x) {
  if (isFloat(type))
    return Scalar::ofFloat(std::isnan(x.f) || x.f == 0 ? x.f : std::copysign(1.0, x.f));
  Scalar zero;
  return Scalar::ofInt(isLessInteger(zero, x, type) - isLessInteger(x, zero, type));
}

Scalar evaluatePopcount(Type type, Scalar x) { return Scalar::ofInt(std::popcount(bitsOf(type, x))); }

Scalar evaluateBitcast(Type from, Type to, Scalar x) {
  uint64_t bits = bitsOf(from, x);
  if (!isFloat(to))
    return roundTo(Scalar::ofInt(static_cast<int64_t>(bits)), to);
  llvm::APFloat value(cast<FloatType>(to).getFloatSemantics(), llvm::APInt(widthOf(to), bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return Scalar::ofFloat(value.convertToDouble());
}

Scalar evaluateAdd(Type type, Scalar x, Scalar y) {
  if (isFloat(type))
    return Scalar::ofFloat(x.f + y.f);
  return type.isInteger(1) ? Scalar::ofInt(x.i | y.i) : Scalar::ofInt(wrap(raw(x) + raw(y)));
}

Scalar evaluateSubtract(Type type, Scalar x, Scalar y) {
  return isFloat(type) ? Scalar::ofFloat(x.f - y.f) : Scalar::ofInt(wrap(raw(x) - raw(y)));
}

Scalar evaluateMultiply(Type type, Scalar x, Scalar y) {
  if (isFloat(type))
    return Scalar::ofFloat(x.f * y.f);
  return type.isInteger(1) ? Scalar::ofInt(x.i & y.i) : Scalar::ofInt(wrap(raw(x) * raw(y)));
}

Scalar evaluateDivide(Type type, Scalar x, Scalar y) {
  if (isFloat(type))
    return Scalar::ofFloat(x.f / y.f);
  if (y.i == 0)
    return Scalar::ofInt(-1);
  if (isUnsigned(type))
    return Scalar::ofInt(wrap(raw(x) / raw(y)));
  return y.i == -1 ? Scalar::ofInt(wrap(0 - raw(x))) : Scalar::ofInt(x.i / y.i);
}

Scalar evaluateRemainder(Type type, Scalar x, Scalar y) {
  if (isFloat(type))
    return Scalar::ofFloat(std::fmod(x.f, y.f));
  if (y.i == 0)
    return x;
  if (isUnsigned(type))
    return Scalar::ofInt(wrap(raw(x) % raw(y)));
  return y.i == -1 ? Scalar::ofInt(0) : Scalar::ofInt(x.i % y.i);
}

Scalar evaluatePower(Type type, Scalar x, Scalar y) {
  if (isFloat(type))
    return Scalar::ofFloat(std::pow(x.f, y.f));
  if (!isUnsigned(type) && y.i < 0) {
    if (x.i == 1)
      return x;
    if (x.i == -1)
      return Scalar::ofInt(y.i % 2 ? -1 : 1);
    return Scalar::ofInt(0);
  }
  uint64_t result = 1, base = raw(x);
  for (uint64_t exponent = raw(y); exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return Scalar::ofInt(wrap(result));
}

Scalar evaluateMaximum(Type type, Scalar x, Scalar y) {
  if (!isFloat(type))
    return Scalar::ofInt(isUnsigned(type) ? wrap(std::max(raw(x), raw(y))) : std::max(x.i, y.i));
  if (std::isnan(x.f) || std::isnan(y.f))
    return Scalar::ofFloat(std::numeric_limits<double>::quiet_NaN());
  if (x.f == 0 && y.f == 0)
    return std::signbit(x.f) ? y : x;
  return Scalar::ofFloat(std::max(x.f, y.f));
}

Scalar evaluateMinimum(Type type, Scalar x, Scalar y) {
  if (!isFloat(type))
    return Scalar::ofInt(isUnsigned(type) ? wrap(std::min(raw(x), raw(y))) : std::min(x.i, y.i));
  if (std::isnan(x.f) || std::isnan(y.f))
    return Scalar::ofFloat(std::numeric_limits<double>::quiet_NaN());
  if (x.f == 0 && y.f == 0)
    return std::signbit(x.f) ? x : y;
  return Scalar::ofFloat(std::min(x.f, y.f));
}

Scalar evaluateShiftLeft(Type type, Scalar x, Scalar y) {
  return bitsOf(type, y) >= widthOf(type) ? Scalar::ofInt(0) : Scalar::ofInt(wrap(raw(x) << y.i));
}

Scalar evaluateShiftRightArithmetic(Type type, Scalar x, Scalar y) {
  unsigned width = widthOf(type);
  if (isUnsigned(type))
    return evaluateShiftRightLogical(type, x, y);
  return Scalar::ofInt(x.i >> std::min<uint64_t>(bitsOf(type, y), width - 1));
}

Scalar evaluateShiftRightLogical(Type type, Scalar x, Scalar y) {
  return bitsOf(type, y) >= widthOf(type) ? Scalar::ofInt(0) : Scalar::ofInt(wrap(bitsOf(type, x) >> y.i));
}

Scalar evaluateCompare(Type type, ComparisonDirection direction, Scalar x, Scalar y) {
  auto compare = [&](auto a, auto b) {
    switch (direction) {
    case ComparisonDirection::eq:
      return a == b;
    case ComparisonDirection::ne:
      return a != b;
    case ComparisonDirection::lt:
      return a < b;
    case ComparisonDirection::le:
      return a <= b;
    case ComparisonDirection::gt:
      return a > b;
    case ComparisonDirection::ge:
      return a >= b;
    }
    llvm_unreachable("unknown comparison");
  };
  if (isFloat(type))
    return Scalar::ofBool(compare(x.f, y.f));
  return Scalar::ofBool(isUnsigned(type) ? compare(raw(x), raw(y)) : compare(x.i, y.i));
}

Scalar evaluateReduction(Type type, ReductionKind kind, Scalar x, Scalar y) {
  switch (kind) {
  case ReductionKind::sum:
    return evaluateAdd(type, x, y);
  case ReductionKind::prod:
    return evaluateMultiply(type, x, y);
  case ReductionKind::max:
    return evaluateMaximum(type, x, y);
  case ReductionKind::min:
    return evaluateMinimum(type, x, y);
  case ReductionKind::and_:
    return Scalar::ofInt(x.i & y.i);
  case ReductionKind::or_:
    return Scalar::ofInt(x.i | y.i);
  }
  llvm_unreachable("unknown reduction");
}

Scalar getReductionIdentity(Type type, ReductionKind kind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  bool isReal = isFloat(type);
  switch (kind) {
  case ReductionKind::sum:
    return Scalar(); // +0, as in JAX: a sum of negative zeros is 0
  case ReductionKind::prod:
    return isReal ? Scalar::ofFloat(1) : Scalar::ofInt(1);
  case ReductionKind::max:
    return isReal ? Scalar::ofFloat(-kInfinity) : Scalar::ofInt(lowest(type));
  case ReductionKind::min:
    return isReal ? Scalar::ofFloat(kInfinity) : Scalar::ofInt(highest(type));
  case ReductionKind::and_:
    return roundTo(Scalar::ofInt(-1), type);
  case ReductionKind::or_:
    return Scalar::ofInt(0);
  }
  llvm_unreachable("unknown reduction");
}

mlir::TypedAttr scalarAttr(Type elementType, Scalar value) {
  if (auto floatType = dyn_cast<FloatType>(elementType))
    return FloatAttr::get(floatType, roundTo(value, elementType).f);
  return IntegerAttr::get(elementType, APInt(elementType.getIntOrFloatBitWidth(), static_cast<uint64_t>(value.i)));
}

} // namespace spmdc
