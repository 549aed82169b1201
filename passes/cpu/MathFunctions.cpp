//===- MathFunctions.cpp - functions of f32 as arithmetic -----------------===//
//
// Polynomials of exp, sin, cos, atan and asin in f32 are those of Cephes (S. Moshier); tanh and erf are rational
// minimax approximations as in Eigen; the reduction of huge angles follows Payne and Hanek.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/MathFunctions.h"

#include "passes/cpu/VectorCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace spmdc {
namespace {

constexpr double kPi = std::numbers::pi, kLn2 = std::numbers::ln2, kLog2e = std::numbers::log2e;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

} // namespace

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value MathFunctions::constant(Value like, double value) {
  return b.create<arith::ConstantOp>(loc, b.getFloatAttr(like.getType(), value));
}
Value MathFunctions::integer(Value like, int64_t value) {
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(like.getType(), value));
}
Value MathFunctions::add(Value x, Value y) {
  if (isa<FloatType>(x.getType()))
    return b.create<arith::AddFOp>(loc, x, y);
  return b.create<arith::AddIOp>(loc, x, y);
}
Value MathFunctions::sub(Value x, Value y) {
  if (isa<FloatType>(x.getType()))
    return b.create<arith::SubFOp>(loc, x, y);
  return b.create<arith::SubIOp>(loc, x, y);
}
Value MathFunctions::mul(Value x, Value y) { return b.create<arith::MulFOp>(loc, x, y); }
Value MathFunctions::div(Value x, Value y) { return b.create<arith::DivFOp>(loc, x, y); }
Value MathFunctions::fma(Value x, Value y, Value z) { return b.create<math::FmaOp>(loc, x, y, z); }
Value MathFunctions::neg(Value x) { return b.create<arith::NegFOp>(loc, x); }
Value MathFunctions::abs(Value x) { return b.create<math::AbsFOp>(loc, x); }
Value MathFunctions::sqrt(Value x) { return b.create<math::SqrtOp>(loc, x); }
Value MathFunctions::floor(Value x) { return b.create<math::FloorOp>(loc, x); }
Value MathFunctions::copySign(Value magnitude, Value sign) { return b.create<math::CopySignOp>(loc, magnitude, sign); }
Value MathFunctions::select(Value condition, Value x, Value y) {
  return b.create<arith::SelectOp>(loc, condition, x, y);
}
Value MathFunctions::less(Value x, Value y) { return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, y); }
Value MathFunctions::equal(Value x, Value y) { return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x, y); }
Value MathFunctions::both(Value x, Value y) { return b.create<arith::AndIOp>(loc, x, y); }

Value MathFunctions::clamp(Value x, double low, double high) {
  Value lowest = constant(x, low), highest = constant(x, high);
  x = select(less(x, lowest), lowest, x);
  return select(less(highest, x), highest, x);
}

Value MathFunctions::polynomial(Value x, std::initializer_list<double> coefficients) {
  Value result;
  for (double coefficient : coefficients)
    result = result ? fma(result, x, constant(x, coefficient)) : constant(x, coefficient);
  return result;
}

Value MathFunctions::toF64(Value x) { return b.create<arith::ExtFOp>(loc, b.getF64Type(), x); }
Value MathFunctions::toF32(Value x) { return b.create<arith::TruncFOp>(loc, b.getF32Type(), x); }

Value MathFunctions::bits(Value x) {
  return b.create<arith::BitcastOp>(loc, b.getIntegerType(x.getType().getIntOrFloatBitWidth()), x);
}
Value MathFunctions::fromBits(Value x) {
  Type type = x.getType().isInteger(32) ? Type(b.getF32Type()) : Type(b.getF64Type());
  return b.create<arith::BitcastOp>(loc, type, x);
}

MathFunctions::Rounded MathFunctions::roundToInt(Value x) {
  // Adding 1.5 * 2^(mantissa bits) leaves the integer in the last bits.
  Value magic = constant(x, x.getType().isF32() ? 0x1.8p23 : 0x1.8p52);
  Value shifted = add(x, magic);
  return {sub(shifted, magic), sub(bits(shifted), bits(magic))};
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

Value MathFunctions::expWithScale(Value x, double log2OfBase, llvm::function_ref<Value(Value)> reduce) {
  // x log2(base) = n + rest. The sum with this number, in whose last bits it leaves n + 2 * 127, rounds to n.
  Value magic = constant(x, 0x1.8p23 + 2 * 127), factor = constant(x, log2OfBase);
  Value shifted = log2OfBase == 1 ? add(x, magic) : fma(x, factor, magic);
  Value number = sub(shifted, magic), r = reduce(number);
  Value p = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
                           5.0000001201e-1, 1.0, 1.0});
  if (hasScale)
    return b.create<LLVM::CallOp>(loc, TypeRange(p.getType()), kScaleFunction, ValueRange{p, number}).getResult();
  // In two steps, since 2^n alone may be no normal number. Both exponents have their bias of 127 already, and the bits
  // above them leave by the shift.
  Value n = bits(shifted);
  Value half = b.create<arith::ShRUIOp>(loc, n, integer(n, 1)), rest = sub(n, half);
  auto power = [&](Value biased) { return fromBits(b.create<arith::ShLIOp>(loc, biased, integer(n, 23))); };
  return mul(mul(p, power(half)), power(rest));
}

Value MathFunctions::exp(Value x) {
  x = clamp(x, -104.0, 89.0);
  return expWithScale(
      x, kLog2e, [&](Value n) { return fma(n, constant(x, 2.12194440e-4), fma(n, constant(x, -0.693359375), x)); });
}

Value MathFunctions::exp2(Value x) {
  x = clamp(x, -151.0, 129.0);
  return expWithScale(x, 1, [&](Value n) { return mul(sub(x, n), constant(x, kLn2)); });
}

std::pair<Value, Value> MathFunctions::expPartsF64(Value x) {
  Value magic = constant(x, 0x1.8p52 + 1023); // As in `expWithScale`.
  Value shifted = fma(x, constant(x, kLog2e), magic), n = sub(shifted, magic);
  Value r = fma(n, constant(x, -kLn2), x);
  r = fma(n, constant(x, -2.3190468138462996e-17), r);
  Value p = polynomial(
      r, {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0});
  p = mul(p, r);
  Value exponent = bits(shifted);
  Value scale = fromBits(b.create<arith::ShLIOp>(loc, exponent, integer(exponent, 52)));
  return {p, scale};
}

Value MathFunctions::expm1F64(Value x) {
  auto [p, scale] = expPartsF64(x);
  return fma(p, scale, sub(scale, constant(x, 1.0)));
}

Value MathFunctions::expF64(Value x) {
  auto [p, scale] = expPartsF64(x);
  return fma(p, scale, scale);
}

Value MathFunctions::expm1(Value x) {
  // -0 stays -0.
  Value result = toF32(expm1F64(toF64(clamp(x, -40.0, 90.0))));
  return select(equal(x, constant(x, 0.0)), x, result);
}

Value MathFunctions::sinh(Value x) {
  Value grown = expm1F64(toF64(abs(clamp(x, -100.0, 100.0))));
  Value sum = add(grown, div(grown, add(grown, constant(grown, 1.0))));
  return copySign(toF32(mul(sum, constant(sum, 0.5))), x);
}

Value MathFunctions::cosh(Value x) {
  Value e = expF64(toF64(abs(clamp(x, -100.0, 100.0))));
  return toF32(mul(add(e, div(constant(e, 1.0), e)), constant(e, 0.5)));
}

Value MathFunctions::tanh(Value x) {
  Value bounded = clamp(x, -7.99881172180175781, 7.99881172180175781);
  Value square = mul(bounded, bounded);
  Value p =
      polynomial(square, {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
                          1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03});
  Value q =
      polynomial(square, {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03});
  return select(less(abs(x), constant(x, 4e-4)), x, div(mul(bounded, p), q));
}

Value MathFunctions::erf(Value x) {
  // In f32 the division of two sums of this length would cost 4 units in the last place.
  Value wide = toF64(clamp(x, -3.832506856900711, 3.832506856900711));
  Value square = mul(wide, wide);
  Value p = polynomial(square, {0.00022905065861350646, 0.0034082910107109506, 0.050955695062380861,
                                0.18520832239976145, 1.128379143519084});
  Value q = polynomial(square, {-1.1791602954361697e-7, 0.000023547966471313185, 0.0010179625278914885,
                                0.014070470171167667, 0.11098505178285362, 0.49746925110067538, 1.0});
  return toF32(div(mul(wide, p), q));
}

//===----------------------------------------------------------------------===//
// Logarithms and powers
//===----------------------------------------------------------------------===//

Value MathFunctions::log(Value x) {
  // Subnormal numbers are scaled up first.
  Value isTiny = less(x, constant(x, 0x1p-126));
  Value scaled = select(isTiny, mul(x, constant(x, 0x1p23)), x);
  // x = 2^k m with m within [sqrt(1/2), sqrt(2))
  Value i = bits(scaled);
  Value offset = integer(i, 0x3f3504f3), shifted = sub(i, offset);
  Value k = b.create<arith::ShRSIOp>(loc, shifted, integer(i, 23));
  Value m = fromBits(add(b.create<arith::AndIOp>(loc, shifted, integer(i, 0x7fffff)), offset));
  Value number = b.create<arith::SIToFPOp>(loc, x.getType(), k);
  number = sub(number, select(isTiny, constant(x, 23.0), constant(x, 0.0)));
  Value f = sub(m, constant(x, 1.0));
  Value s = div(f, add(f, constant(x, 2.0))), z = mul(s, s);
  Value r = mul(z, polynomial(z, {0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693}));
  Value half = mul(mul(f, f), constant(x, 0.5));
  Value low = fma(number, constant(x, 9.0580006145e-06), mul(s, add(half, r)));
  Value result = fma(number, constant(x, 6.9313812256e-01), add(sub(low, half), f));
  result = select(equal(x, constant(x, 0.0)), constant(x, -kInfinity), result);
  result = select(less(x, constant(x, 0.0)), constant(x, kNan), result);
  return select(less(x, constant(x, kInfinity)), result, x); // infinity and NaN
}

Value MathFunctions::logF64(Value x) {
  Value i = bits(x);
  Value offset = integer(i, 0x3fe6a09e667f3bcd), shifted = sub(i, offset);
  Value k = b.create<arith::ShRSIOp>(loc, shifted, integer(i, 52));
  Value m = fromBits(add(b.create<arith::AndIOp>(loc, shifted, integer(i, 0xfffffffffffff)), offset));
  Value number = b.create<arith::SIToFPOp>(loc, x.getType(), b.create<arith::TruncIOp>(loc, b.getI32Type(), k));
  Value f = sub(m, constant(x, 1.0));
  Value s = div(f, add(f, constant(x, 2.0))), z = mul(s, s);
  Value p = polynomial(z, {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
  return fma(number, constant(x, kLn2), mul(p, s));
}

Value MathFunctions::log2(Value x) {
  Value wide = toF64(x);
  Value result = toF32(mul(logF64(wide), constant(wide, kLog2e)));
  result = select(equal(x, constant(x, 0.0)), constant(x, -kInfinity), result);
  result = select(less(x, constant(x, 0.0)), constant(x, kNan), result);
  return select(less(x, constant(x, kInfinity)), result, x);
}

Value MathFunctions::log1p(Value x) {
  // ln(u) x / (u - 1) with u = 1 + x rounded: the errors of u cancel.
  Value wide = toF64(x), one = constant(wide, 1.0);
  Value u = add(wide, one), rest = sub(u, one);
  Value isZero = equal(rest, constant(wide, 0.0));
  Value result = toF32(mul(logF64(u), div(wide, select(isZero, one, rest))));
  result = select(isZero, x, result);
  result = select(equal(x, constant(x, -1.0)), constant(x, -kInfinity), result);
  result = select(less(x, constant(x, -1.0)), constant(x, kNan), result);
  return select(less(x, constant(x, kInfinity)), result, x);
}

Value MathFunctions::cbrt(Value x) {
  Value magnitude = abs(x), wide = toF64(magnitude);
  Value result = toF32(expF64(mul(logF64(wide), constant(wide, 1.0 / 3))));
  // Zeros, infinities and NaN are their own roots.
  Value isOrdinary = both(less(constant(x, 0.0), magnitude), less(magnitude, constant(x, kInfinity)));
  return select(isOrdinary, copySign(result, x), x);
}

Value MathFunctions::pow(Value x, Value y) {
  Value zero = constant(x, 0.0), one = constant(x, 1.0);
  Value magnitude = abs(x), wide = toF64(magnitude);
  Value logarithm = logF64(wide);
  logarithm = select(equal(magnitude, zero), constant(wide, -kInfinity), logarithm);
  logarithm = select(less(magnitude, constant(x, kInfinity)), logarithm, wide); // infinity and NaN
  Value exponent = clamp(mul(toF64(y), logarithm), -300.0, 300.0);
  Value result = toF32(expF64(exponent));
  // Negative numbers have powers with integers only.
  Value isInteger = equal(floor(y), y), half = mul(y, constant(y, 0.5));
  Value isEven = equal(floor(half), half);
  Value isNegative = less(copySign(one, x), zero);
  Value isOdd = both(isInteger, b.create<arith::XOrIOp>(loc, isEven, integer(isEven, 1)));
  result = select(both(isNegative, isOdd), neg(result), result);
  Value hasNoPower = both(less(x, zero), b.create<arith::XOrIOp>(loc, isInteger, integer(isInteger, 1)));
  Value isFinite = less(magnitude, constant(x, kInfinity));
  result = select(both(hasNoPower, isFinite), constant(x, kNan), result);
  // 1 to any power, anything to the power of 0, and -1 to an infinite power are 1.
  Value isOne = equal(x, one), isInfinitePower = equal(abs(y), constant(y, kInfinity));
  isOne = b.create<arith::OrIOp>(loc, isOne, both(equal(magnitude, one), isInfinitePower));
  isOne = b.create<arith::OrIOp>(loc, isOne, equal(y, zero));
  return select(isOne, one, result);
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

std::pair<Value, Value> MathFunctions::reduceHugeAngle(Value x) {
  // Payne and Hanek: the bits of 2/pi that matter for this exponent, times the mantissa, in 96 bits.
  static constexpr uint32_t kTwoOverPi[] = {0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770,
                                            0x36d8a566, 0x4f10e410, 0x7f9458ea};
  Value i = bits(x);
  auto wide = [&](Value narrow) -> Value { return b.create<arith::ExtUIOp>(loc, b.getI64Type(), narrow); };
  auto logicalShift = [&](Value value, int64_t count) -> Value {
    return b.create<arith::ShRUIOp>(loc, value, integer(value, count));
  };
  Value mantissa =
      b.create<arith::OrIOp>(loc, b.create<arith::ShLIOp>(loc, i, integer(i, 8)), integer(i, int64_t(0x80000000)));
  Value exponent = b.create<arith::AndIOp>(loc, logicalShift(i, 23), integer(i, 0xff));
  exponent = sub(exponent, integer(i, 126));
  Value word = b.create<arith::ShRSIOp>(loc, exponent, integer(i, 5));
  Value shift = b.create<arith::AndIOp>(loc, exponent, integer(i, 31));
  // Word number `word` + offset, for exponents of huge numbers: word is 1 to 4.
  auto pick = [&](int offset) {
    Value result = integer(i, kTwoOverPi[1 + offset]);
    for (int64_t number = 2; number <= 4; ++number) {
      Value isHere = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, word, integer(i, number));
      result = select(isHere, integer(i, kTwoOverPi[number + offset]), result);
    }
    return result;
  };
  Value words[] = {pick(-1), pick(0), pick(1), pick(2)};
  Value shift64 = wide(shift);
  auto joined = [&](int number) -> Value {
    Value pair = b.create<arith::OrIOp>(loc, b.create<arith::ShLIOp>(loc, wide(words[number]), integer(shift64, 32)),
                                        wide(words[number + 1]));
    pair = b.create<arith::ShLIOp>(loc, pair, shift64);
    return logicalShift(pair, 32);
  };
  Value high = joined(0), middle = joined(1), low = joined(2), m = wide(mantissa);
  auto product = [&](Value x, Value y) -> Value { return b.create<arith::MulIOp>(loc, x, y); };
  Value p = add(product(m, middle), logicalShift(product(m, low), 32));
  p = add(b.create<arith::ShLIOp>(loc, product(m, high), integer(p, 32)), p);
  // Two bits of quadrant, 62 of fraction: rounded to the nearest quadrant by the sign of the rest.
  Value quadrant = logicalShift(add(p, integer(p, int64_t(1) << 61)), 62);
  Value fraction = sub(p, b.create<arith::ShLIOp>(loc, quadrant, integer(p, 62)));
  Value angle = mul(b.create<arith::SIToFPOp>(loc, b.getF64Type(), fraction),
                    b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(kPi / 2 * 0x1p-62)));
  Value turns = b.create<arith::TruncIOp>(loc, b.getI32Type(), quadrant);
  // Up to here p is a magnitude; negate it if the angle is negative.
  Value isNegative = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, i, integer(i, 0));
  return {select(isNegative, neg(angle), angle), select(isNegative, sub(integer(i, 0), turns), turns)};
}

std::pair<Value, Value> MathFunctions::reduceAngle(Value x) {
  Value wide = toF64(x);
  Rounded n = roundToInt(mul(wide, constant(wide, 2 / kPi)));
  Value r = fma(n.number, constant(wide, -kPi / 2), wide);
  r = fma(n.number, constant(wide, -6.123233995736766e-17), r);
  Value quadrant = b.create<arith::TruncIOp>(loc, b.getI32Type(), n.integer);
  auto [hugeAngle, hugeQuadrant] = reduceHugeAngle(x);
  Value isHuge = less(constant(x, 0x1p32), abs(x));
  return {toF32(select(isHuge, hugeAngle, r)), select(isHuge, hugeQuadrant, quadrant)};
}

MathFunctions::SinCos MathFunctions::sinCos(Value x) {
  auto [r, quadrant] = reduceAngle(x);
  Value z = mul(r, r);
  Value sine = fma(mul(polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), z), r, r);
  Value cosine = polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0});
  // Infinite angles have no sine.
  Value isFinite = less(abs(x), constant(x, kInfinity));
  return {select(isFinite, sine, constant(x, kNan)), select(isFinite, cosine, constant(x, kNan)), quadrant};
}

Value MathFunctions::sinOrCos(Value x, int64_t shift) {
  SinCos both = sinCos(x);
  Value quadrant = add(both.quadrant, integer(both.quadrant, shift));
  auto hasBit = [&](int64_t bit) -> Value {
    Value masked = b.create<arith::AndIOp>(loc, quadrant, integer(quadrant, bit));
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, masked, integer(quadrant, 0));
  };
  Value result = select(hasBit(1), both.cos, both.sin);
  return select(hasBit(2), neg(result), result);
}

Value MathFunctions::sin(Value x) {
  // -0 stays -0.
  return select(equal(x, constant(x, 0.0)), x, sinOrCos(x, 0));
}

Value MathFunctions::cos(Value x) { return sinOrCos(x, 1); }

Value MathFunctions::tan(Value x) {
  SinCos parts = sinCos(x);
  Value masked = b.create<arith::AndIOp>(loc, parts.quadrant, integer(parts.quadrant, 1));
  Value isOdd = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, masked, integer(masked, 0));
  Value result = div(select(isOdd, neg(parts.cos), parts.sin), select(isOdd, parts.sin, parts.cos));
  return select(equal(x, constant(x, 0.0)), x, result);
}

Value MathFunctions::atanUnit(Value x) {
  Value isSteep = less(constant(x, 0.4142135623730950), x);
  Value one = constant(x, 1.0);
  Value reduced = select(isSteep, div(sub(x, one), add(x, one)), x);
  Value z = mul(reduced, reduced);
  Value p = polynomial(z, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1});
  Value result = fma(mul(p, z), reduced, reduced);
  return add(result, select(isSteep, constant(x, kPi / 4), constant(x, 0.0)));
}

Value MathFunctions::atan(Value x) {
  Value magnitude = abs(x), one = constant(x, 1.0), isLarge = less(one, magnitude);
  Value result = atanUnit(select(isLarge, div(one, magnitude), magnitude));
  result = select(isLarge, sub(constant(x, kPi / 2), result), result);
  return copySign(result, x);
}

Value MathFunctions::atan2(Value y, Value x) {
  Value rise = abs(y), run = abs(x), isSteep = less(run, rise);
  Value small = select(isSteep, run, rise), large = select(isSteep, rise, run);
  Value zero = constant(x, 0.0), infinity = constant(x, kInfinity);
  Value ratio = div(small, large);
  ratio = select(equal(large, zero), zero, ratio);
  ratio = select(equal(small, infinity), constant(x, 1.0), ratio);
  Value result = atanUnit(ratio);
  result = select(isSteep, sub(constant(x, kPi / 2), result), result);
  Value isBehind = less(copySign(constant(x, 1.0), x), zero);
  result = select(isBehind, sub(constant(x, kPi), result), result);
  result = copySign(result, y);
  Value hasNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, y);
  return select(hasNan, constant(x, kNan), result);
}

Value MathFunctions::asinUnit(Value s, Value z) {
  Value p = polynomial(z, {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1});
  return fma(mul(p, z), s, s);
}

Value MathFunctions::asin(Value x) {
  Value magnitude = abs(x), half = constant(x, 0.5), isLarge = less(half, magnitude);
  Value far = mul(sub(constant(x, 1.0), magnitude), half);
  Value z = select(isLarge, far, mul(magnitude, magnitude));
  Value result = asinUnit(select(isLarge, sqrt(far), magnitude), z);
  Value doubled = fma(result, constant(x, -2.0), constant(x, kPi / 2));
  return copySign(select(isLarge, doubled, result), x);
}

Value MathFunctions::acos(Value x) {
  Value magnitude = abs(x), half = constant(x, 0.5), isLarge = less(half, magnitude);
  Value far = mul(sub(constant(x, 1.0), magnitude), half);
  Value z = select(isLarge, far, mul(magnitude, magnitude));
  Value result = asinUnit(select(isLarge, sqrt(far), magnitude), z);
  Value isNegative = less(x, constant(x, 0.0)), doubled = mul(result, constant(x, 2.0));
  Value large = select(isNegative, sub(constant(x, kPi), doubled), doubled);
  return select(isLarge, large, sub(constant(x, kPi / 2), copySign(result, x)));
}

} // namespace spmdc
