//===- TranslateBits.cpp - operations on the bits of elements -------------===//
//
// Integers by their bits, and floats as the unsigned integers of their bits: sign, exponent, fraction.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include <cmath>

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

Type elementOf(Value array) { return typeOf(array).getElementType(); }

/// The same bits in a type of the same width.
Value bitcastTo(Translation &t, Value x, Type to) {
  ArrayType from = plainTypeOf(x);
  return from.getElementType() == to ? x : t.create<spmdc::BitcastConvertOp>(from.withElementType(to), x).getResult();
}

/// Between types of different widths, the array of the narrower one has an additional last dimension: the parts of a
/// wide element, the one of the lowest bits first.
One bitcast(Translation &t, BitcastConvertOp op) {
  Value x = t.get(op.getOperand());
  Type from = elementOf(x), to = Translation::typeOf(op.getType()).getElementType();
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromBits == toBits)
    return bitcastTo(t, x, to);
  if (fromBits == 1 || toBits == 1)
    return refuse(op, "changes the width of bools, which is not supported; compare with zero instead");
  unsigned wideBits = std::max(fromBits, toBits), narrowBits = std::min(fromBits, toBits);
  int64_t parts = wideBits / narrowBits;
  // By the types of the text: in scalar code, which has no such dimension, the array has another shape.
  Value narrowSide = fromBits < toBits ? Value(op.getOperand()) : Value(op.getResult());
  ArrayRef<int64_t> withParts = Translation::typeOf(narrowSide.getType()).getShape();
  if (withParts.empty() || withParts.back() != parts)
    return refuse(op, "needs a last dimension of " + Twine(parts) + " elements, the parts of a wider one");
  Type wide = t.b.getIntegerType(wideBits, /*isSigned=*/false), narrow = t.b.getIntegerType(narrowBits, false);
  // How far each part is from the lowest bit.
  auto placesOf = [&](ArrayRef<int64_t> shape) {
    auto type = ArrayType::get(shape, wide);
    Value part = t.create<spmdc::IotaOp>(type, shape.size() - 1);
    return t.create<spmdc::MultiplyOp>(part, t.splat(type, narrowBits)).getResult();
  };
  SmallVector<int64_t> shape(shapeOf(x));
  if (fromBits > toBits) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    shape.push_back(parts);
    Value repeated = t.broadcast(bitcastTo(t, x, wide), shape, dims);
    Value shifted = t.create<spmdc::ShiftRightLogicalOp>(repeated, placesOf(shape));
    return bitcastTo(t, t.convert(shifted, narrow), to);
  }
  Value shifted = t.create<spmdc::ShiftLeftOp>(t.convert(bitcastTo(t, x, narrow), wide), placesOf(shape));
  auto last = static_cast<int64_t>(shape.size()) - 1;
  return bitcastTo(t, t.create<spmdc::ReduceOp>(shifted, ReductionKind::or_, last).getResult(), to);
}

/// StableHLO repeats the highest bit of unsigned numbers, too; the array operation shifts zeros into those.
One shiftRightArithmetic(Translation &t, ShiftRightArithmeticOp op) {
  Value x = t.get(op.getLhs()), y = t.get(op.getRhs());
  Type type = elementOf(x);
  if (!isUnsigned(type))
    return t.create<spmdc::ShiftRightArithmeticOp>(x, y).getResult();
  Type signedType = t.b.getIntegerType(type.getIntOrFloatBitWidth());
  Value shifted = t.create<spmdc::ShiftRightArithmeticOp>(bitcastTo(t, x, signedType), bitcastTo(t, y, signedType));
  return bitcastTo(t, shifted, type);
}

/// The bits below the highest one are set, and the zeros counted.
One countLeadingZeros(Translation &t, CountLeadingZerosOp op) {
  Value x = t.get(op.getOperand());
  int64_t bits = elementOf(x).getIntOrFloatBitWidth();
  for (int64_t distance = 1; distance < bits; distance *= 2)
    x = t.create<spmdc::OrOp>(x,
                              t.create<spmdc::ShiftRightLogicalOp>(x, t.splatLike(x, static_cast<double>(distance))));
  return t.create<spmdc::PopcntOp>(t.create<spmdc::NotOp>(x)).getResult();
}

//===- Bits of floats -----------------------------------------------------===//

/// Formulas over the bits of floats, unsigned integers of their width.
class FloatBits {
public:
  FloatBits(Translation &t, FloatType type)
      : t(t), width(type.getWidth()), fraction(type.getFPMantissaWidth() - 1), exponent(width - 1 - fraction),
        integer(t.b.getIntegerType(width, /*isSigned=*/false)) {}

  Value of(Value array) { return bitcastTo(t, array, integer); }
  /// A number of these bits, as an array like `x`.
  Value number(Value x, uint64_t bits) {
    return t.create<spmdc::ConstantOp>(plainTypeOf(x), roundTo(Scalar::ofInt(static_cast<int64_t>(bits)), integer));
  }
  Value add(Value x, Value y) { return t.create<spmdc::AddOp>(x, y); }
  Value add(Value x, uint64_t bits) { return add(x, number(x, bits)); }
  Value subtract(Value x, uint64_t bits) { return t.create<spmdc::SubtractOp>(x, number(x, bits)); }
  Value both(Value x, uint64_t bits) { return t.create<spmdc::AndOp>(x, number(x, bits)); }
  Value either(Value x, Value y) { return t.create<spmdc::OrOp>(x, y); }
  Value shiftRight(Value x, unsigned by) { return t.create<spmdc::ShiftRightLogicalOp>(x, number(x, by)); }
  Value compare(Value x, ComparisonDirection direction, uint64_t bits) {
    return t.compare(x, direction, number(x, bits));
  }

  uint64_t signMask() const { return uint64_t(1) << (width - 1); }
  uint64_t sizeMask() const { return signMask() - 1; }
  uint64_t infinity() const { return ((uint64_t(1) << exponent) - 1) << fraction; }

  Translation &t;
  unsigned width, fraction, exponent;
  IntegerType integer;
};

/// XLA's rounding to a format of fewer bits: to the nearest, halves to even; numbers above the largest exponent are
/// infinite, those below the smallest one zero, as the format has no denormal numbers. NaN stays.
One reducePrecision(Translation &t, ReducePrecisionOp op) {
  Value x = t.get(op.getOperand());
  auto type = llvm::dyn_cast<FloatType>(elementOf(x));
  if (!type || op.getExponentBits() < 1)
    return refuse(op, "takes floats, and a format of at least one bit of exponent");
  FloatBits f(t, type);
  unsigned exponent = op.getExponentBits(), fraction = op.getMantissaBits();
  if (exponent >= f.exponent && fraction >= f.fraction)
    return x;
  if (type.isF32() && exponent == f.exponent && fraction == 7) // A conversion is one instruction.
    return t.convert(t.convert(x, t.b.getBF16Type()), type);
  Value own = f.of(x), bits = own;
  if (fraction < f.fraction) {
    unsigned dropped = f.fraction - fraction;
    uint64_t unit = uint64_t(1) << dropped;
    Value isOdd = f.both(f.shiftRight(bits, dropped), 1);
    bits = f.both(f.add(f.add(bits, isOdd), (unit >> 1) - 1), ~(unit - 1));
  }
  if (exponent < f.exponent) {
    uint64_t bias = (uint64_t(1) << (f.exponent - 1)) - 1, newBias = (uint64_t(1) << (exponent - 1)) - 1;
    Value size = f.both(bits, f.infinity()), zero = f.both(bits, f.signMask());
    Value isLarge = f.compare(size, ComparisonDirection::gt, (bias + newBias) << f.fraction);
    Value isSmall = f.compare(size, ComparisonDirection::le, (bias - newBias) << f.fraction);
    Value infinite = f.either(zero, f.number(zero, f.infinity()));
    bits = t.select(isSmall, zero, t.select(isLarge, infinite, bits));
  }
  return t.select(t.compare(x, ComparisonDirection::eq, x), bitcastTo(t, bits, type), x);
}

/// The float beside x towards y: of the next larger or smaller bits, because floats of one sign order like their bits.
One nextAfter(Translation &t, chlo::NextAfterOp op) {
  Value x = t.get(op.getLhs()), y = t.get(op.getRhs());
  auto type = llvm::dyn_cast<FloatType>(elementOf(x));
  if (!type || elementOf(y) != type)
    return refuse(op, "takes two floats of one type");
  FloatBits f(t, type);
  Value bits = f.of(x), other = f.of(y), size = f.both(bits, f.sizeMask());
  Value sign = f.both(bits, f.signMask()), otherSign = f.both(other, f.signMask());
  Value isZero = f.compare(size, ComparisonDirection::eq, 0);
  Value isInward = t.create<spmdc::OrOp>(t.compare(sign, ComparisonDirection::ne, otherSign),
                                         t.compare(size, ComparisonDirection::gt, f.both(other, f.sizeMask())));
  Value moved = t.select(isInward, f.subtract(bits, 1), f.add(bits, 1));
  Value smallest = f.either(otherSign, f.number(bits, 1));
  Value next = bitcastTo(t, t.select(isZero, smallest, moved), type);
  Value isEqual = t.compare(x, ComparisonDirection::eq, y);
  Value isNan =
      t.create<spmdc::OrOp>(t.compare(x, ComparisonDirection::ne, x), t.compare(y, ComparisonDirection::ne, y));
  return t.select(isNan, t.splatLike(x, NAN), t.select(isEqual, y, next));
}

} // namespace

void addBitRules(Rules &rules) {
  rules.add<BitcastConvertOp>(bitcast);
  rules.add<ShiftRightArithmeticOp>(shiftRightArithmetic);
  rules.add<CountLeadingZerosOp>(countLeadingZeros);
  rules.add<ReducePrecisionOp>(reducePrecision);
  rules.add<chlo::NextAfterOp>(nextAfter);
}

} // namespace spmdc::stablehlo
