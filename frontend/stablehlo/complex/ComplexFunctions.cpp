//===- ComplexFunctions.cpp - quotients and functions ---------------------===//
//
// Formulas that neither overflow nor cancel where the result is a float. Branch cuts are those of C's annex G, but
// where XLA's values on a CPU differ, which the tests compare with.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/complex/ComplexFormula.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

/// XLA's: the larger size times sqrt(1 + q^2). The quotient is NaN for two zeros and two infinities, where the result
/// is the smaller one, and for NaN.
Real hypot(Real x, Real y) {
  Real low = min(abs(x), abs(y)), high = max(abs(x), abs(y)), q = low / high;
  Real size = high * sqrt(q * q + 1.0);
  return isNan(size).select(low, size);
}

/// 1 for an infinity, 0 for other numbers, with the sign.
static Real infinityOf(Real x) { return isInfinite(x).select(x.like(1), x.like(0)).withSignOf(x); }

/// Smith's algorithm: division by the larger part of y first, so that no square overflows. Where it gives NaN, the
/// special cases of annex G follow.
Complex operator/(Complex x, Complex y) {
  Real isTall = abs(y.re) < abs(y.im);
  Real high = isTall.select(y.im, y.re), low = isTall.select(y.re, y.im), q = low / high, divisor = high + low * q;
  Real re = (isTall.select(x.im, x.re) + isTall.select(x.re, x.im) * q) / divisor;
  Real across = isTall.select(x.im * q - x.re, x.im - x.re * q) / divisor;
  Complex result{re, across};
  // Finite over infinite: zeros.
  Real isInfiniteX = isInfinite(x.re) | isInfinite(x.im), isInfiniteY = isInfinite(y.re) | isInfinite(y.im);
  Real isFiniteX = isFinite(x.re) & isFinite(x.im), isFiniteY = isFinite(y.re) & isFinite(y.im);
  Complex unit{infinityOf(y.re), infinityOf(y.im)};
  Complex special{(x.re * unit.re + x.im * unit.im) * 0.0, (x.im * unit.re - x.re * unit.im) * 0.0};
  result = select(isNan(re) & isNan(across) & isFiniteX & isInfiniteY, special, result);
  // Infinite over finite: infinities.
  unit = {infinityOf(x.re), infinityOf(x.im)};
  special = {(unit.re * y.re + unit.im * y.im) * INFINITY, (unit.im * y.re - unit.re * y.im) * INFINITY};
  result = select(isNan(re) & isNan(across) & isInfiniteX & isFiniteY, special, result);
  // Over zero: infinities with the sign of the zero.
  Real infinity = y.re.like(INFINITY).withSignOf(y.re);
  Real isOverZero = (y.re == 0.0) & (y.im == 0.0);
  return select(isNan(re) & isNan(across) & isOverZero, {infinity * x.re, infinity * x.im}, result);
}

namespace {

Complex sum(Complex x, Complex y) { return {x.re + y.re, x.im + y.im}; }
Complex numberLike(Real x, double re) { return {x.like(re), x.like(0)}; }

/// log |z|. Near 1 it is that of |z|^2 - 1 = (high - 1) (high + 1) + low^2, which does not cancel.
Real logOfSize(Complex z) {
  Real low = min(abs(z.re), abs(z.im)), high = max(abs(z.re), abs(z.im)), q = low / high;
  Real isNear = (high > 0.5) & (high < 2.0);
  Real near = log1p((high - 1.0) * (high + 1.0) + low * low) * 0.5;
  Real far = log(high) + log1p(q * q) * 0.5;
  // Two zeros or infinities have no quotient.
  return isNear.select(near, isNan(far).select(log(low), far));
}

/// e^x times a number of at most 1 in size. The power alone may overflow.
Real scaledExp(Real x, Real factor) {
  Real power = exp(x), half = exp(x * 0.5);
  return isInfinite(power).select(factor * half * half, power * factor);
}

Complex exp(Complex z) {
  Real isReal = z.im == 0.0;
  return {isReal.select(exp(z.re), scaledExp(z.re, cos(z.im))), isReal.select(z.im, scaledExp(z.re, sin(z.im)))};
}

Complex log(Complex z) { return {logOfSize(z), atan2(z.im, z.re)}; }

/// |1 + z|^2 - 1 = x (2 + x) + y^2 is exact enough near 0.
Complex log1p(Complex z) {
  Complex moved{z.re + 1.0, z.im};
  Real isSmall = max(abs(z.re), abs(z.im)) < 0.5;
  Real near = log1p(z.re * (z.re + 2.0) + z.im * z.im) * 0.5;
  return {isSmall.select(near, logOfSize(moved)), atan2(z.im, moved.re)};
}

/// e^x cos y - 1 = (e^x - 1) cos y - 2 sin(y / 2)^2.
Complex expm1(Complex z) {
  Real half = sin(z.im * 0.5), isReal = z.im == 0.0;
  Real re = expm1(z.re) * cos(z.im) - half * half * 2.0;
  return {isReal.select(expm1(z.re), re), isReal.select(z.im, scaledExp(z.re, sin(z.im)))};
}

/// The root of (|x| + |z|) / 2 is the larger part, and the other one is y / 2 over it. An infinite y has both infinite.
/// Left of zero, -0 is as 0: XLA's values differ from annex G there.
Complex sqrt(Complex z) {
  Real large = sqrt(abs(z.re) * 0.5 + hypot(z.re, z.im) * 0.5);
  Real small = abs(z.im) * 0.5 / large;
  small = (large == 0.0).select(large, isInfinite(z.im).select(abs(z.im), small));
  Real isLeft = z.re < 0.0;
  Real im = isLeft.select(large, small);
  return {isLeft.select(small, large), (z.im < 0.0).select(-im, im)};
}

Complex rsqrt(Complex z) {
  Complex root = sqrt(z);
  return numberLike(z.re, 1) / root;
}

/// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y) (Kahan, "Branch cuts for complex elementary functions",
/// 1987). From 20 on, the real part is 1 and the other one at most 4 e^-40.
Complex tanh(Complex z) {
  Real isLarge = abs(z.re) > 20.0;
  Real x = isLarge.select(z.re.like(0), z.re), sine = sin(z.im), cosine = cos(z.im);
  Real sinhX = sinh(x), divisor = sinhX * sinhX + cosine * cosine;
  Real re = sinhX * cosh(x) / divisor, im = sine * cosine / divisor;
  Real decay = exp(-abs(z.re)), far = isFinite(z.im).select(sine * cosine, z.im.like(0));
  return {isLarge.select(z.re.like(1).withSignOf(z.re), re), isLarge.select(far * 4.0 * decay * decay, im)};
}

Complex sinh(Complex z) {
  Real isReal = z.im == 0.0;
  return {isReal.select(sinh(z.re), sinh(z.re) * cos(z.im)), isReal.select(z.im, cosh(z.re) * sin(z.im))};
}

Complex cosh(Complex z) {
  Real isReal = z.im == 0.0, isImaginary = z.re == 0.0;
  Real im = (isReal | isImaginary).select(z.re * z.im, sinh(z.re) * sin(z.im));
  return {isReal.select(cosh(z.re), cosh(z.re) * cos(z.im)), im};
}

/// f(iz) of the hyperbolic functions: sin z = -i sinh(iz), cos z = cosh(iz), tan z = -i tanh(iz).
Complex timesI(Complex z) { return {-z.im, z.re}; }
Complex overI(Complex z) { return {z.im, -z.re}; }
Complex sin(Complex z) { return overI(sinh(timesI(z))); }
Complex cos(Complex z) { return cosh(timesI(z)); }
Complex tan(Complex z) { return overI(tanh(timesI(z))); }

/// The inverse functions are Kahan's, of the article above.
Complex asin(Complex z) {
  Complex less = sqrt({1.0 - z.re, -z.im}), more = sqrt({z.re + 1.0, z.im});
  return {atan2(z.re, (less * more).re), asinh((Complex{less.re, -less.im} * more).im)};
}

Complex acos(Complex z) {
  Complex less = sqrt({1.0 - z.re, -z.im}), more = sqrt({z.re + 1.0, z.im});
  return {atan2(less.re, more.re) * 2.0, asinh((Complex{more.re, -more.im} * less).im)};
}

Complex acosh(Complex z) {
  Complex less = sqrt({z.re - 1.0, z.im}), more = sqrt({z.re + 1.0, z.im});
  return {asinh((Complex{less.re, -less.im} * more).re), atan2(less.im, more.re) * 2.0};
}

Complex atanh(Complex z) {
  Real less = 1.0 - z.re, divisor = less * less + z.im * z.im;
  return {log1p(z.re * 4.0 / divisor) * 0.25, atan2(z.im * 2.0, less * (z.re + 1.0) - z.im * z.im) * 0.5};
}

Complex asinh(Complex z) { return overI(asin(timesI(z))); }
Complex atan(Complex z) { return overI(atanh(timesI(z))); }

Complex logistic(Complex z) {
  Complex power = exp({-z.re, -z.im});
  return numberLike(z.re, 1) / sum(numberLike(z.re, 1), power);
}

Complex square(Complex z) { return z * z; }
Complex conj(Complex z) { return {z.re, -z.im}; }

/// z / |z|, and 0 of 0.
Complex sign(Complex z) {
  Real size = hypot(z.re, z.im), isZero = size == 0.0;
  return select(isZero, numberLike(z.re, 0), {z.re / size, z.im / size});
}

/// The principal root: a third of the angle, which is in (-60, 60] degrees.
Complex cbrt(Complex z) {
  Real size = hypot(z.re, z.im).unary<CbrtOp>(), angle = atan2(z.im, z.re) / size.like(3);
  return {size * cos(angle), (angle == 0.0).select(z.im, size * sin(angle))};
}

/// |x|^c e^(-d arg x), at the angle c arg x + d log |x|, for y = c + id. A power of 0 is 0 or, for the exponent 0, 1.
Complex power(Complex x, Complex y) {
  Real size = hypot(x.re, x.im), argument = atan2(x.im, x.re);
  Real isZero = size == 0.0, safe = isZero.select(size.like(1), size);
  Real length = pow(safe, y.re) * exp(-(y.im * argument)), angle = y.re * argument + y.im * logOfSize(x);
  Real isOne = (y.re == 0.0) & (y.im == 0.0);
  Real ofZero = isOne.select(size.like(1), (y.re > 0.0).select(size.like(0), size.like(NAN)));
  Real imaginary = isOne.select(size.like(0), (y.re > 0.0).select(size.like(0), size.like(NAN)));
  return select(isZero, {ofZero, imaginary}, {length * cos(angle), length * sin(angle)});
}

Expander::Results absolute(Expander &e, Operation *op) {
  if (!isComplex(op->getOperand(0).getType()))
    return refuseMixed(op);
  Complex z = complexOf(e, e.get(op->getOperand(0)));
  return SmallVector<Parts>{{hypot(z.re, z.im).get(), {}}};
}

template <Complex (*function)(Complex, Complex)> Expander::Results binary(Expander &e, Operation *op) {
  if (!haveComplexValues(op))
    return refuseMixed(op);
  Complex x = complexOf(e, e.get(op->getOperand(0))), y = complexOf(e, e.get(op->getOperand(1)));
  return SmallVector<Parts>{partsOf(function(x, y))};
}

template <typename Op, Complex (*function)(Complex)> void add(ComplexRules &rules) {
  rules[Op::getOperationName()] = [](Expander &e, Operation *op) -> Expander::Results {
    if (!haveComplexValues(op))
      return refuseMixed(op);
    return SmallVector<Parts>{partsOf(function(complexOf(e, e.get(op->getOperand(0)))))};
  };
}

} // namespace

void addFunctionRules(ComplexRules &rules) {
  rules[AbsOp::getOperationName()] = absolute;
  rules[DivideOp::getOperationName()] = binary<operator/ >;
  rules[PowerOp::getOperationName()] = binary<power>;
  add<CbrtOp, cbrt>(rules);
  add<CosineOp, cos>(rules);
  add<ExponentialMinusOneOp, expm1>(rules);
  add<ExponentialOp, exp>(rules);
  add<LogOp, log>(rules);
  add<LogPlusOneOp, log1p>(rules);
  add<LogisticOp, logistic>(rules);
  add<RsqrtOp, rsqrt>(rules);
  add<SignOp, sign>(rules);
  add<SineOp, sin>(rules);
  add<SqrtOp, sqrt>(rules);
  add<TanOp, tan>(rules);
  add<TanhOp, tanh>(rules);
  add<chlo::AcosOp, acos>(rules);
  add<chlo::AcoshOp, acosh>(rules);
  add<chlo::AsinOp, asin>(rules);
  add<chlo::AsinhOp, asinh>(rules);
  add<chlo::AtanOp, atan>(rules);
  add<chlo::AtanhOp, atanh>(rules);
  add<chlo::ConjOp, conj>(rules);
  add<chlo::CoshOp, cosh>(rules);
  add<chlo::SinhOp, sinh>(rules);
  add<chlo::SquareOp, square>(rules);
  add<chlo::TanOp, tan>(rules);
}

} // namespace spmdc::stablehlo
