//===- ComplexFunctions.cpp - quotients and functions ---------------------===//
//
// Formulas that neither overflow nor cancel where the result is a float. Branch cuts are those of C's annex G, but
// where XLA's values on a CPU differ, which the tests compare with.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/complex/ComplexFormula.h"

#include <cmath>
#include <limits>
#include <numbers>

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
/// Left of zero, -0 is as 0: XLA's values differ from annex G there. The root is taken of an eighth of large parts,
/// whose sum would overflow, and of twice the small ones, which keeps the bits of subnormal parts.
Complex sqrt(Complex z) {
  Real isLarge = max(abs(z.re), abs(z.im)) > 1.0;
  Real scale = isLarge.select(z.re.like(0.125), z.re.like(2)), factor = isLarge.select(z.re.like(2), z.re.like(0.5));
  Real re = z.re * scale, large = sqrt(abs(re) + hypot(re, z.im * scale)) * factor;
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

/// 1 with the sign of x.
Real unitOf(Real x) { return x.like(1).withSignOf(x); }

/// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y) (Kahan, "Branch cuts for complex elementary functions",
/// 1987). From 20 on, the real part is 1 and the other one at most 4 e^-40; at an infinite x, no angle matters.
Complex tanh(Complex z) {
  Real isLarge = abs(z.re) > 20.0, isReal = z.im == 0.0;
  Real x = isLarge.select(z.re.like(0), z.re), sine = sin(z.im), cosine = cos(z.im);
  Real sinhX = sinh(x), divisor = sinhX * sinhX + cosine * cosine;
  Real re = sinhX * cosh(x) / divisor, im = sine * cosine / divisor;
  Real decay = exp(-abs(z.re)), isEnd = isInfinite(z.re), far = isEnd.select(z.im.like(0), sine * cosine);
  im = isLarge.select(far * 4.0 * decay * decay, im);
  return {isLarge.select(unitOf(z.re) + far * 0.0, re), isReal.select(z.im, im)};
}

/// From 20 on, sinh x and cosh x are e^x / 2, which may overflow where the result does not.
Complex sinh(Complex z) {
  Real isReal = z.im == 0.0, isLarge = abs(z.re) > 20.0, power = abs(z.re);
  Real re = isLarge.select(scaledExp(power, unitOf(z.re) * cos(z.im) * 0.5), sinh(z.re) * cos(z.im));
  Real im = isLarge.select(scaledExp(power, sin(z.im) * 0.5), cosh(z.re) * sin(z.im));
  return {isReal.select(sinh(z.re), re), isReal.select(z.im, im)};
}

Complex cosh(Complex z) {
  Real isReal = z.im == 0.0, isImaginary = z.re == 0.0, isLarge = abs(z.re) > 20.0, power = abs(z.re);
  Real re = isLarge.select(scaledExp(power, cos(z.im) * 0.5), cosh(z.re) * cos(z.im));
  Real im = isLarge.select(scaledExp(power, unitOf(z.re) * sin(z.im) * 0.5), sinh(z.re) * sin(z.im));
  im = isReal.select(unitOf(z.re) * z.im, isImaginary.select(z.re * unitOf(z.im), im));
  return {isReal.select(cosh(z.re), re), im};
}

/// f(iz) of the hyperbolic functions: sin z = -i sinh(iz), cos z = cosh(iz), tan z = -i tanh(iz).
Complex timesI(Complex z) { return {-z.im, z.re}; }
Complex overI(Complex z) { return {z.im, -z.re}; }
Complex sin(Complex z) { return overI(sinh(timesI(z))); }
Complex cos(Complex z) { return cosh(timesI(z)); }
Complex tan(Complex z) { return overI(tanh(timesI(z))); }

/// Whether 1 is lost beside z^2, which may overflow: the inverse functions are those of log 2z and 1 / z.
Real isHuge(Complex z) { return max(abs(z.re), abs(z.im)) > (z.re.isDouble() ? 1e150 : 1e18); }
Real logOfTwice(Complex z) { return logOfSize(z) + std::numbers::ln2; }

/// The inverse functions are Kahan's, of the article above. On the branch cuts of asin and acos, -0 is as 0, as XLA has
/// it: the sign of y alone decides on that of the imaginary part.
Complex asin(Complex z) {
  Complex less = sqrt({1.0 - z.re, -z.im}), more = sqrt({z.re + 1.0, z.im});
  Real angle = atan2(z.re, isHuge(z).select(abs(z.im), (less * more).re));
  Real size = isHuge(z).select(logOfTwice(z), abs(asinh((Complex{less.re, -less.im} * more).im)));
  return {angle, (z.im < 0.0).select(-size, size)};
}

Complex acos(Complex z) {
  Complex less = sqrt({1.0 - z.re, -z.im}), more = sqrt({z.re + 1.0, z.im});
  Real angle = isHuge(z).select(atan2(abs(z.im), z.re), atan2(less.re, more.re) * 2.0);
  Real size = isHuge(z).select(logOfTwice(z), abs(asinh((Complex{more.re, -more.im} * less).im)));
  return {angle, (z.im < 0.0).select(size, -size)};
}

Complex acosh(Complex z) {
  Complex less = sqrt({z.re - 1.0, z.im}), more = sqrt({z.re + 1.0, z.im});
  Real size = isHuge(z).select(logOfTwice(z), asinh((Complex{less.re, -less.im} * more).re));
  Real angle = atan2(abs(z.im), z.re), far = (z.im < 0.0).select(-angle, angle);
  return {size, isHuge(z).select(far, atan2(less.im, more.re) * 2.0)};
}

/// Odd: the real part is computed at |x|, where the logarithm does not cancel beside -1.
Complex atanh(Complex z) {
  Real x = abs(z.re), less = 1.0 - x, divisor = less * less + z.im * z.im;
  Real re = (log1p(x * 4.0 / divisor) * 0.25).withSignOf(z.re);
  Real im = atan2(z.im * 2.0, less * (x + 1.0) - z.im * z.im) * 0.5, right = z.re.like(std::numbers::pi / 2);
  Complex far{(numberLike(z.re, 1) / z).re, (z.im < 0.0).select(-right, right)};
  return select(isHuge(z), far, {re, im});
}

Complex asinh(Complex z) { return overI(asin(timesI(z))); }
Complex atan(Complex z) { return overI(atanh(timesI(z))); }

Complex logistic(Complex z) {
  Complex power = exp({-z.re, -z.im});
  return numberLike(z.re, 1) / sum(numberLike(z.re, 1), power);
}

/// x^2 - y^2 as a product does not cancel, and is no difference of infinities. The sum alone may overflow.
Complex square(Complex z) { return {(z.re - z.im) * (z.re * 0.5 + z.im * 0.5) * 2.0, z.re * z.im * 2.0}; }
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
  // The power 0 is 1 of infinities and NaN, too.
  return select(isZero | isOne, {ofZero, imaginary}, {length * cos(angle), length * sin(angle)});
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
