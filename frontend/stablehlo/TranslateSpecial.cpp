//===- TranslateSpecial.cpp - functions that the array dialect lacks ------===//
//
// asinh, erfc, lgamma, zeta and others, as formulas of the dialect's operations. 16-bit floats are computed in f32.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Short names for formulas over one array.
class Formula {
public:
  Formula(Translation &t, Value like) : t(t), like(like) {}

  Value number(double value) { return t.splatLike(like, value); }
  Value add(Value x, Value y) { return t.create<spmdc::AddOp>(x, y); }
  Value subtract(Value x, Value y) { return t.create<spmdc::SubtractOp>(x, y); }
  Value multiply(Value x, Value y) { return t.create<spmdc::MultiplyOp>(x, y); }
  Value divide(Value x, Value y) { return t.create<spmdc::DivideOp>(x, y); }
  Value negate(Value x) { return t.create<spmdc::NegateOp>(x); }
  Value exp(Value x) { return t.create<spmdc::ExpOp>(x); }
  Value log(Value x) { return t.create<spmdc::LogOp>(x); }
  Value log1p(Value x) { return t.create<spmdc::Log1pOp>(x); }
  Value sqrt(Value x) { return t.create<spmdc::SqrtOp>(x); }
  Value abs(Value x) { return t.create<spmdc::AbsOp>(x); }
  Value isLess(Value x, double value) { return t.compare(x, spmdc::ComparisonDirection::lt, number(value)); }
  Value select(Value predicate, Value x, Value y) { return t.select(predicate, x, y); }

  Translation &t;
  Value like;
};

/// The operand of a function of floats in at least f32, and the result back in its type.
template <typename Op, typename Compute> FailureOr<Value> inFloat(Translation &t, Op op, Compute compute) {
  Value x = t.get(op.getOperand());
  auto type = llvm::dyn_cast<FloatType>(typeOf(x).getElementType());
  if (!type)
    return refuse(op, "takes floats");
  Value wide = type.getWidth() < 32 ? t.convert(x, t.b.getF32Type()) : x;
  return t.convert(compute(Formula(t, wide), wide, type.getWidth() == 64), type);
}

//===- Inverse hyperbolic functions ---------------------------------------===//

/// From this size on x^2 would overflow, and 1 is lost beside it: asinh(x) = log(2) + log(x), and acosh alike.
Value isLarge(Formula f, Value size, bool isDouble) {
  return f.t.compare(size, spmdc::ComparisonDirection::gt, f.number(isDouble ? 1e100 : 1e18));
}
Value logOfTwice(Formula f, Value x) { return f.add(f.log(x), f.number(std::numbers::ln2)); }

/// log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))): no cancellation near zero.
FailureOr<Value> asinh(Translation &t, chlo::AsinhOp op) {
  return inFloat(t, op, [&](Formula f, Value x, bool isDouble) {
    Value size = f.abs(x), one = f.number(1), isFar = isLarge(f, size, isDouble);
    Value safe = f.select(isFar, one, size), squared = f.multiply(safe, safe);
    Value near = f.log1p(f.add(safe, f.divide(squared, f.add(one, f.sqrt(f.add(squared, one))))));
    return t.odd(x, f.select(isFar, logOfTwice(f, size), near));
  });
}

/// log1p((x - 1) + sqrt((x - 1) (x + 1))); NaN below 1.
FailureOr<Value> acosh(Translation &t, chlo::AcoshOp op) {
  return inFloat(t, op, [&](Formula f, Value x, bool isDouble) {
    Value one = f.number(1), isFar = isLarge(f, x, isDouble);
    Value safe = f.select(isFar, one, x), less = f.subtract(safe, one);
    Value near = f.log1p(f.add(less, f.sqrt(f.multiply(less, f.add(safe, one)))));
    return f.select(f.isLess(x, 1), f.number(NAN), f.select(isFar, logOfTwice(f, x), near));
  });
}

/// (log1p(x) - log1p(-x)) / 2.
FailureOr<Value> atanh(Translation &t, chlo::AtanhOp op) {
  return inFloat(t, op, [&](Formula f, Value x, bool) {
    return f.multiply(f.subtract(f.log1p(x), f.log1p(f.negate(x))), f.number(0.5));
  });
}

//===- erfc ---------------------------------------------------------------===//

/// Chebyshev coefficients in u = 2 t - 1 of log(erfc(x) exp(x^2) / t), where t = 2 / (2 + x), for x >= 0: a
/// least-squares fit at 400 Chebyshev nodes to scipy.special.erfcx. Relative error of erfc: 3e-15 with all, 6e-9 with
/// the first 13.
constexpr double kErfcCoefficients[] = {
    -0.651326859890855,      0.6419697923564899,      0.019476473204185763,    -0.009561514786808606,
    -0.00094659534448206,    0.0003668394978527303,   4.252332480697737e-05,   -2.0278578112471568e-05,
    -1.6242900048590098e-06, 1.3036558354893973e-06,  1.56264415989913e-08,    -8.523809589691237e-08,
    6.529054226336511e-09,   5.059343538974566e-09,   -9.913642286111658e-10,  -2.2736521221652348e-10,
    9.646796265382045e-11,   2.3939691433361906e-12,  -6.8861156911579474e-12, 8.941255901593264e-13,
    3.1318167699214585e-13,  -1.1277226281613186e-13, 3.1497824946348836e-16,  7.038453348141468e-15,
    -1.7106085895375402e-15, -2.9742969532542e-16,    -9.276591093092691e-17,
};
constexpr size_t kErfcTermsOfFloat = 13;

/// The sum of Chebyshev polynomials (Clenshaw's recurrence).
Value chebyshev(Formula &f, Value u, ArrayRef<double> coefficients) {
  Value twice = f.add(u, u), next = f.number(0), afterNext = f.number(0);
  for (double coefficient : llvm::reverse(coefficients.drop_front())) {
    Value current = f.add(f.subtract(f.multiply(twice, next), afterNext), f.number(coefficient));
    afterNext = next;
    next = current;
  }
  return f.add(f.subtract(f.multiply(u, next), afterNext), f.number(coefficients.front()));
}

FailureOr<Value> erfc(Translation &t, chlo::ErfcOp op) {
  return inFloat(t, op, [&](Formula f, Value x, bool isDouble) {
    ArrayRef<double> coefficients(kErfcCoefficients);
    Value size = f.abs(x), near = f.divide(f.number(2), f.add(size, f.number(2)));
    Value u = f.subtract(f.add(near, near), f.number(1));
    Value series = chebyshev(f, u, isDouble ? coefficients : coefficients.take_front(kErfcTermsOfFloat));
    Value tail = f.multiply(near, f.exp(f.subtract(series, f.multiply(size, size))));
    return f.select(f.isLess(x, 0), f.subtract(f.number(2), tail), tail);
  });
}

//===- bessel_i1e ---------------------------------------------------------===//

/// Chebyshev coefficients of the modified Bessel function e^-|x| I1(x), as Cephes divides its range: of i1e(x) / x in
/// x / 4 - 1 up to x = 8, and of i1e(x) sqrt(x) in 16 / x - 1 from there on. Least-squares fits at 400 Chebyshev nodes
/// to scipy.special.i1e; relative error 2e-14 with all, 2e-8 with those that a float needs.
constexpr double kBesselNear[] = {
    0.12629359322181685,    -0.17641651835783415,    0.10264365868984701,    -0.052945981208095065,
    0.024726449030626613,   -0.010564084894626269,   0.004156422944312934,   -0.0015135724506312336,
    0.0005122859561685786,  -0.0001617608158259522,  4.781565107546719e-05,  -1.3273163656001252e-05,
    3.470251308135173e-06,  -8.568720265191989e-07,  2.0032947540556874e-07, -4.4450591256668444e-08,
    9.381537344386296e-09,  -1.8872496947780675e-09, 3.6255899916168515e-10, -6.663488684363203e-11,
    1.1736166362480955e-11, -1.98401593356658e-12,   3.223635331546595e-13,  -5.0436766965749615e-14,
    7.599247500029478e-15,  -1.0809105270251124e-15, 1.4915878357495878e-16};
constexpr double kBesselFar[] = {0.3892881175091401,      -0.00976109749136146,    -0.00011058893876261722,
                                 -3.8825648088793914e-06, -2.512236237836529e-07,  -2.6314688458666482e-08,
                                 -3.83538038266813e-09,   -5.589743401630905e-10,  -1.8974954180786068e-11,
                                 3.252604239186399e-11,   1.4125813295338148e-11,  2.0356335283359527e-12,
                                 -7.19850180883859e-13,   -4.0834919037282786e-13, -2.101243245004355e-14,
                                 4.2731852761010113e-14,  1.0423844594576941e-14,  -3.809436827881511e-15,
                                 -1.8787137575938056e-15, 3.365272390936671e-16,   2.9831756714991746e-16};
constexpr size_t kBesselNearOfFloat = 18, kBesselFarOfFloat = 8;

FailureOr<Value> besselI1e(Translation &t, chlo::BesselI1eOp op) {
  return inFloat(t, op, [&](Formula f, Value x, bool isDouble) {
    auto terms = [&](ArrayRef<double> all, size_t ofFloat) { return isDouble ? all : all.take_front(ofFloat); };
    Value size = f.abs(x), isNear = f.isLess(size, 8);
    // Each series is evaluated in its own range, where it does not overflow.
    Value small = f.select(isNear, size, f.number(8)), large = f.select(isNear, f.number(8), size);
    Value near = chebyshev(f, f.subtract(f.multiply(small, f.number(0.25)), f.number(1)),
                           terms(kBesselNear, kBesselNearOfFloat));
    Value far =
        chebyshev(f, f.subtract(f.divide(f.number(16), large), f.number(1)), terms(kBesselFar, kBesselFarOfFloat));
    Value scaled = f.divide(far, f.sqrt(large));
    return t.odd(x, f.select(isNear, f.multiply(near, size), scaled));
  });
}

//===- lgamma, digamma ----------------------------------------------------===//

/// Lanczos' approximation with g = 7 and nine terms (P. Godfrey, "A note on the computation of the convergent Lanczos
/// complex gamma approximation", 2001), as XLA's lgamma has it.
constexpr double kLanczosG = 7;
constexpr double kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                               771.3234287776530788486528258894,   -176.61502916214059906584551354,
                               12.507343278686904814458936853,     -0.13857109526572011689554707,
                               9.984369578019570859563e-6,         1.50563273514931155834e-7};

/// Parts of the approximation at z = x - 1, for x >= 1/2.
struct Lanczos {
  Value sum, derivative; ///< The series, and its derivative.
  Value t, logT;         ///< z + g + 1/2 and its logarithm.
};

Lanczos lanczos(Formula &f, Value z) {
  Lanczos parts{f.number(kLanczosBase), f.number(0), {}, {}};
  for (auto [index, coefficient] : llvm::enumerate(kLanczos)) {
    Value place = f.add(z, f.number(static_cast<double>(index) + 1)), term = f.divide(f.number(coefficient), place);
    parts.sum = f.add(parts.sum, term);
    parts.derivative = f.subtract(parts.derivative, f.divide(term, place));
  }
  double half = kLanczosG + 0.5;
  parts.t = f.add(z, f.number(half));
  // log(half + z), exact near z = 0.
  parts.logT = f.add(f.number(std::log(half)), f.log1p(f.divide(z, f.number(half))));
  return parts;
}

/// x minus the nearest integer, in [-1/2, 1/2]. Exact, where x - floor(x) and pi x lose the digits of a small x or of
/// one near an integer.
Value distanceToInteger(Formula &f, Value x) { return f.subtract(x, f.t.create<spmdc::RoundNearestEvenOp>(x)); }

/// log(pi / |sin(pi x)|); infinite at integers. Near one, the sine of pi d is pi d to every digit, and log(1 / d) keeps
/// the digits of a subnormal d.
Value logOfReflection(Formula &f, Value x) {
  Value distance = f.abs(distanceToInteger(f, x)), isTiny = f.isLess(distance, 1e-8);
  Value sine = f.t.create<spmdc::SinOp>(f.multiply(distance, f.number(std::numbers::pi)));
  Value logOfPi = f.select(isTiny, f.number(0), f.number(std::log(std::numbers::pi)));
  return f.subtract(logOfPi, f.log(f.select(isTiny, distance, sine)));
}

/// For x < 1/2 by reflection: log(pi / |sin(pi x)|) - lgamma(1 - x). Infinite at 0, -1, -2, ... and at infinities.
Value lgammaOf(Formula f, Value x) {
  auto isInfinite = [&](Value array) {
    return f.t.compare(f.abs(array), spmdc::ComparisonDirection::eq, f.number(INFINITY));
  };
  Value isSmall = f.isLess(x, 0.5);
  Value z = f.select(isSmall, f.negate(x), f.subtract(x, f.number(1)));
  Lanczos parts = lanczos(f, z);
  Value isRoot = f.t.compare(f.multiply(z, z), spmdc::ComparisonDirection::eq, z); // 1 and 2, without rounding errors.
  Value scale = f.subtract(f.add(z, f.number(0.5)), f.divide(parts.t, parts.logT));
  Value value =
      f.add(f.add(f.multiply(scale, parts.logT), f.number(0.5 * std::log(2 * std::numbers::pi))), f.log(parts.sum));
  value = f.select(isRoot, f.number(0), value);
  // At a pole lgamma(1 - x) may be infinite, too.
  Value reflection = logOfReflection(f, x);
  Value reflected = f.select(isInfinite(reflection), reflection, f.subtract(reflection, value));
  return f.select(isInfinite(x), f.number(INFINITY), f.select(isSmall, reflected, value));
}

FailureOr<Value> lgamma(Translation &t, chlo::LgammaOp op) {
  return inFloat(t, op, [](Formula f, Value x, bool) { return lgammaOf(f, x); });
}

/// For x < 1/2 by reflection: digamma(1 - x) - pi / tan(pi x). NaN at 0, -1, -2, ..., as in SciPy for negative ones.
Value digammaOf(Formula f, Value x) {
  Translation &t = f.t;
  Value isSmall = f.isLess(x, 0.5);
  Value z = f.select(isSmall, f.negate(x), f.subtract(x, f.number(1)));
  Lanczos parts = lanczos(f, z);
  Value value =
      f.subtract(f.add(parts.logT, f.divide(parts.derivative, parts.sum)), f.divide(f.number(kLanczosG), parts.t));
  Value distance = distanceToInteger(f, x);
  Value angle = f.multiply(distance, f.number(std::numbers::pi));
  Value cotangent = f.divide(f.number(std::numbers::pi), t.create<spmdc::TanOp>(angle));
  Value isPole = f.t.create<spmdc::AndOp>(t.compare(distance, spmdc::ComparisonDirection::eq, f.number(0)),
                                          t.compare(x, spmdc::ComparisonDirection::le, f.number(0)));
  Value reflected = f.select(isPole, f.number(NAN), f.subtract(value, cotangent));
  return f.select(isSmall, reflected, value);
}

FailureOr<Value> digamma(Translation &t, chlo::DigammaOp op) {
  return inFloat(t, op, [](Formula f, Value x, bool) { return digammaOf(f, x); });
}

//===- zeta, polygamma ----------------------------------------------------===//

/// (2k)! / B_2k for k = 1, 2, ...: the divisors of the terms of the Euler-Maclaurin formula.
constexpr double kEulerMaclaurin[] = {12.0,
                                      -720.0,
                                      30240.0,
                                      -1209600.0,
                                      47900160.0,
                                      -1.8924375803183791606e9,
                                      7.47242496e10,
                                      -2.950130727918164224e12,
                                      1.1646782814350067249e14,
                                      -4.5979787224074726105e15,
                                      1.8152105401943546773e17,
                                      -7.1661652561756670113e18};

/// Hurwitz' zeta function, the sum of (q + k)^-x, as Cephes and XLA have it: ten terms, and the rest by the
/// Euler-Maclaurin formula. Its domain is theirs: NaN for x < 1, infinity at x = 1 and at poles of even x.
Value zetaOf(Formula f, Value x, Value q) {
  Translation &t = f.t;
  auto isEqual = [&](Value a, Value b) { return t.compare(a, spmdc::ComparisonDirection::eq, b); };
  auto isInteger = [&](Value a) { return isEqual(a, t.create<spmdc::FloorOp>(a)); };
  Value exponent = f.negate(x), w = q, power = t.create<spmdc::PowerOp>(q, exponent), sum = power;
  for (int i = 0; i < 9; ++i) {
    w = f.add(w, f.number(1));
    power = t.create<spmdc::PowerOp>(w, exponent);
    sum = f.add(sum, power);
  }
  // x / w (1 / 12 + (x + 1) (x + 2) / w^2 (-1 / 720 + ...)), from the last term on.
  Value series = f.number(0), square = f.multiply(w, w);
  for (int k = std::size(kEulerMaclaurin) - 1; k >= 0; --k) {
    series = f.add(series, f.number(1 / kEulerMaclaurin[k]));
    if (k > 0)
      series =
          f.multiply(series, f.divide(f.multiply(f.add(x, f.number(2 * k - 1)), f.add(x, f.number(2 * k))), square));
  }
  series = f.multiply(series, f.divide(x, w));
  Value rest = f.add(f.subtract(f.divide(w, f.subtract(x, f.number(1))), f.number(0.5)), series);
  // For a large x the power is 0, and the series may overflow.
  Value result = f.add(sum, f.select(isEqual(power, f.number(0)), f.number(0), f.multiply(power, rest)));
  // Infinity is no even number: the difference is NaN.
  Value half = f.multiply(x, f.number(0.5)), odd = f.subtract(half, t.create<spmdc::FloorOp>(half));
  Value isBelow = t.compare(q, spmdc::ComparisonDirection::le, f.number(0));
  Value atPole = f.select(isEqual(odd, f.number(0)), f.number(INFINITY), f.number(NAN));
  result = f.select(f.isLess(x, 1), f.number(NAN), result);
  result = f.select(isBelow, f.select(isInteger(q), atPole, f.select(isInteger(x), result, f.number(NAN))), result);
  return f.select(isEqual(x, f.number(1)), f.number(INFINITY), result);
}

/// The derivative of order n of digamma: (-1)^(n + 1) n! zeta(n + 1, x). NaN for an n that is no natural number.
Value polygammaOf(Formula f, Value n, Value x) {
  Translation &t = f.t;
  Value next = f.add(n, f.number(1)), half = f.multiply(n, f.number(0.5));
  Value isOdd = t.compare(half, spmdc::ComparisonDirection::ne, t.create<spmdc::FloorOp>(half));
  Value size = f.multiply(f.exp(lgammaOf(f, next)), zetaOf(f, next, x));
  Value result = f.select(isOdd, size, f.negate(size));
  result = f.select(t.compare(n, spmdc::ComparisonDirection::eq, f.number(0)), digammaOf(f, x), result);
  Value fraction = f.subtract(n, t.create<spmdc::FloorOp>(n)); // NaN of infinity.
  Value isOther =
      t.create<spmdc::OrOp>(f.isLess(n, 0), t.compare(fraction, spmdc::ComparisonDirection::ne, f.number(0)));
  return f.select(isOther, f.number(NAN), result);
}

template <typename Op, Value (*function)(Formula, Value, Value)> FailureOr<Value> ofTwo(Translation &t, Op op) {
  Value x = t.get(op.getLhs()), y = t.get(op.getRhs());
  auto type = llvm::dyn_cast<FloatType>(typeOf(x).getElementType());
  if (!type || typeOf(y).getElementType() != type)
    return refuse(op, "takes two floats of one type");
  Type wide = type.getWidth() < 32 ? Type(t.b.getF32Type()) : type;
  Value first = t.convert(x, wide);
  return t.convert(function(Formula(t, first), first, t.convert(y, wide)), type);
}

} // namespace

void addSpecialRules(Rules &rules) {
  rules.add<chlo::AsinhOp>(asinh);
  rules.add<chlo::AcoshOp>(acosh);
  rules.add<chlo::AtanhOp>(atanh);
  rules.add<chlo::ErfcOp>(erfc);
  rules.add<chlo::BesselI1eOp>(besselI1e);
  rules.add<chlo::LgammaOp>(lgamma);
  rules.add<chlo::DigammaOp>(digamma);
  rules.add<chlo::ZetaOp>(ofTwo<chlo::ZetaOp, zetaOf>);
  rules.add<chlo::PolygammaOp>(ofTwo<chlo::PolygammaOp, polygammaOf>);
}

} // namespace spmdc::stablehlo
