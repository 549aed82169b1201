//===- Real.h - formulas over arrays of floats ------------------*- C++ -*-===//
//
// Operators and functions over arrays of the exported program, so that a formula reads as it is printed in a book. Each
// call emits one operation of StableHLO; the operands of operators have one shape and type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/Formula.h"

namespace spmdc::stablehlo {

/// An array of floats, or of bools where a comparison gives it.
class Real : public Formula<Real> {
public:
  using Formula::Formula;

  bool isDouble() const { return type().getElementType().isF64(); }
  /// Whether the sign bit is set, also that of -0 and NaN.
  Real isNegative() const;
  /// The absolute value of this array with the sign of another one.
  Real withSignOf(Real other) const;

  Real reshape(llvm::ArrayRef<int64_t> shape) const;
  Real transpose(llvm::ArrayRef<int64_t> perm) const;
  /// Dimension i becomes dimension `dims[i]` of the shape.
  Real broadcast(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) const;
  /// Elements [begin, end) of one dimension.
  Real slice(int64_t dim, int64_t begin, int64_t end) const;
  /// This array and behind it the other one.
  Real concatenate(Real other, int64_t dim) const;
  /// With zeros behind its elements up to `size` of them.
  Real pad(int64_t dim, int64_t size) const;
  /// The sum of products over dimension `dim` of this array and the first one of a constant matrix [size, columns]:
  /// [other dimensions, columns].
  Real contract(int64_t dim, Real matrix) const;
  /// A constant of this element type.
  Real constant(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> numbers) const;
};

inline Real operator+(Real x, Real y) { return x.binary<AddOp>(y); }
inline Real operator-(Real x, Real y) { return x.binary<SubtractOp>(y); }
inline Real operator*(Real x, Real y) { return x.binary<MultiplyOp>(y); }
inline Real operator/(Real x, Real y) { return x.binary<DivideOp>(y); }
inline Real operator-(Real x) { return x.unary<NegateOp>(); }
inline Real operator+(Real x, double y) { return x + x.like(y); }
inline Real operator-(Real x, double y) { return x - x.like(y); }
inline Real operator*(Real x, double y) { return x * x.like(y); }
inline Real operator-(double x, Real y) { return y.like(x) - y; }
inline Real operator/(double x, Real y) { return y.like(x) / y; }

/// Comparisons give arrays of bools, which `&` and `|` combine.
inline Real operator<(Real x, Real y) { return x.compare("LT", y); }
inline Real operator>(Real x, Real y) { return x.compare("GT", y); }
inline Real operator==(Real x, Real y) { return x.compare("EQ", y); }
inline Real operator!=(Real x, Real y) { return x.compare("NE", y); }
inline Real operator<(Real x, double y) { return x < x.like(y); }
inline Real operator>(Real x, double y) { return x > x.like(y); }
inline Real operator==(Real x, double y) { return x == x.like(y); }
inline Real operator&(Real x, Real y) { return x.binary<AndOp>(y); }
inline Real operator|(Real x, Real y) { return x.binary<OrOp>(y); }

inline Real abs(Real x) { return x.unary<AbsOp>(); }
inline Real exp(Real x) { return x.unary<ExponentialOp>(); }
inline Real expm1(Real x) { return x.unary<ExponentialMinusOneOp>(); }
inline Real log(Real x) { return x.unary<LogOp>(); }
inline Real log1p(Real x) { return x.unary<LogPlusOneOp>(); }
inline Real sqrt(Real x) { return x.unary<SqrtOp>(); }
inline Real sin(Real x) { return x.unary<SineOp>(); }
inline Real cos(Real x) { return x.unary<CosineOp>(); }
inline Real sinh(Real x) { return x.unary<chlo::SinhOp>(); }
inline Real cosh(Real x) { return x.unary<chlo::CoshOp>(); }
inline Real asinh(Real x) { return x.unary<chlo::AsinhOp>(); }
inline Real max(Real x, Real y) { return x.binary<MaximumOp>(y); }
inline Real min(Real x, Real y) { return x.binary<MinimumOp>(y); }
inline Real atan2(Real y, Real x) { return y.binary<Atan2Op>(x); }
inline Real pow(Real x, Real y) { return x.binary<PowerOp>(y); }
Real isInfinite(Real x);
Real isFinite(Real x);
inline Real isNan(Real x) { return x != x; }

} // namespace spmdc::stablehlo
