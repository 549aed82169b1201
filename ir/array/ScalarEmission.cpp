//===- ScalarEmission.cpp - generated code of one element -----------------===//

#include "ir/array/ScalarEmission.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

bool isFloat(Type type) { return isa<FloatType>(type); }

unsigned widthOf(Value x) { return getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth(); }

Value select(OpBuilder &b, Location loc, Value condition, Value onTrue, Value onFalse) {
  return b.create<arith::SelectOp>(loc, condition, onTrue, onFalse);
}

Value compareInt(OpBuilder &b, Location loc, arith::CmpIPredicate predicate, Value x, Value y) {
  return b.create<arith::CmpIOp>(loc, predicate, x, y);
}

Value compareFloat(OpBuilder &b, Location loc, arith::CmpFPredicate predicate, Value x, Value y) {
  return b.create<arith::CmpFOp>(loc, predicate, x, y);
}

/// The type of `like` (scalar or vector) with another element type.
Type withElementType(Type like, Type elementType) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(elementType);
  return elementType;
}

/// The lowest value of a signed integer type of this width.
int64_t lowestOf(unsigned width) { return -(int64_t(1) << (width - 2)) * 2; }

} // namespace

Value emitFloatConstant(OpBuilder &b, Location loc, Type like, double value) {
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(like), value);
  if (auto vector = dyn_cast<VectorType>(like))
    attr = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attr));
  return b.create<arith::ConstantOp>(loc, attr);
}

Value emitIntConstant(OpBuilder &b, Location loc, Type like, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(like), value);
  if (auto vector = dyn_cast<VectorType>(like))
    attr = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attr));
  return b.create<arith::ConstantOp>(loc, attr);
}

Value emitLogistic(OpBuilder &b, Location loc, Value x) {
  // exp(-|x|) cannot overflow: 1 / (1 + e) of positive numbers, e / (1 + e) of negative ones.
  Value zero = emitFloatConstant(b, loc, x.getType(), 0.0), one = emitFloatConstant(b, loc, x.getType(), 1.0);
  Value e = b.create<math::ExpOp>(loc, b.create<arith::NegFOp>(loc, b.create<math::AbsFOp>(loc, x)));
  Value top = select(b, loc, compareFloat(b, loc, arith::CmpFPredicate::OLT, x, zero), e, one);
  auto quotient = b.create<arith::DivFOp>(loc, top, b.create<arith::AddFOp>(loc, one, e));
  quotient->setAttr(kFunctionsQuotientAttrName, b.getUnitAttr());
  return quotient;
}

Value emitErf(OpBuilder &b, Location loc, Value x) {
  // Polynomials of vector libraries stop one unit below 1, and 1 + erf(-inf) would not be 0.
  Value size = b.create<math::AbsFOp>(loc, x);
  double end = getElementTypeOrSelf(x.getType()).isF64() ? 6.0 : 4.0;
  Value isFar = compareFloat(b, loc, arith::CmpFPredicate::OGT, size, emitFloatConstant(b, loc, x.getType(), end));
  Value limit = b.create<math::CopySignOp>(loc, emitFloatConstant(b, loc, x.getType(), 1.0), x);
  return select(b, loc, isFar, limit, b.create<math::ErfOp>(loc, x));
}

Value emitAbs(OpBuilder &b, Location loc, Type type, Value x) {
  if (isFloat(type))
    return b.create<math::AbsFOp>(loc, x);
  return isUnsigned(type) ? x : b.create<math::AbsIOp>(loc, x);
}

Value emitNegate(OpBuilder &b, Location loc, Type type, Value x) {
  if (isFloat(type))
    return b.create<arith::NegFOp>(loc, x);
  return b.create<arith::SubIOp>(loc, emitIntConstant(b, loc, x.getType(), 0), x);
}

Value emitSign(OpBuilder &b, Location loc, Type type, Value x) {
  if (isFloat(type)) {
    Value zero = emitFloatConstant(b, loc, x.getType(), 0.0), one = emitFloatConstant(b, loc, x.getType(), 1.0);
    Value isNonzero = compareFloat(b, loc, arith::CmpFPredicate::ONE, x, zero);
    return select(b, loc, isNonzero, b.create<math::CopySignOp>(loc, one, x), x);
  }
  Value one = emitIntConstant(b, loc, x.getType(), 1);
  if (isUnsigned(type))
    return b.create<arith::MinUIOp>(loc, x, one);
  Value minusOne = emitIntConstant(b, loc, x.getType(), -1);
  return b.create<arith::MaxSIOp>(loc, minusOne, b.create<arith::MinSIOp>(loc, x, one));
}

Value emitNot(OpBuilder &b, Location loc, Value x) {
  return b.create<arith::XOrIOp>(loc, x, emitIntConstant(b, loc, x.getType(), -1));
}

Value emitIsFinite(OpBuilder &b, Location loc, Value x) {
  Value magnitude = b.create<math::AbsFOp>(loc, x);
  Value infinity = emitFloatConstant(b, loc, x.getType(), std::numeric_limits<double>::infinity());
  return compareFloat(b, loc, arith::CmpFPredicate::OLT, magnitude, infinity);
}

/// Float to integer, truncating and saturating, NaN to 0: `fptosi` alone is undefined out of range.
static Value emitFloatToInt(OpBuilder &b, Location loc, Type to, Value x) {
  unsigned width = to.getIntOrFloatBitWidth();
  Type resultType = withElementType(x.getType(), b.getIntegerType(width));
  bool isUnsignedTarget = isUnsigned(to);
  double low = isUnsignedTarget ? 0.0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsignedTarget ? width : width - 1);
  Value tooLow = compareFloat(b, loc, arith::CmpFPredicate::OLE, x, emitFloatConstant(b, loc, x.getType(), low));
  Value tooHigh = compareFloat(b, loc, arith::CmpFPredicate::OGE, x, emitFloatConstant(b, loc, x.getType(), high));
  Value isNumber = compareFloat(b, loc, arith::CmpFPredicate::ORD, x, x);
  Value inRange =
      b.create<arith::AndIOp>(loc, isNumber, emitNot(b, loc, b.create<arith::OrIOp>(loc, tooLow, tooHigh).getResult()));
  Value safe = select(b, loc, inRange, x, emitFloatConstant(b, loc, x.getType(), 0.0));
  Value converted = isUnsignedTarget ? b.create<arith::FPToUIOp>(loc, resultType, safe).getResult()
                                     : b.create<arith::FPToSIOp>(loc, resultType, safe).getResult();
  int64_t lowest = isUnsignedTarget ? 0 : lowestOf(width);
  int64_t highest = isUnsignedTarget ? -1 : static_cast<int64_t>(~uint64_t(0) >> (65 - width));
  converted = select(b, loc, tooLow, emitIntConstant(b, loc, resultType, lowest), converted);
  return select(b, loc, tooHigh, emitIntConstant(b, loc, resultType, highest), converted);
}

Value emitConvert(OpBuilder &b, Location loc, Type from, Type to, Value x) {
  if (from == to)
    return x;
  Type elementType = getElementTypeOrSelf(x.getType());
  if (to.isInteger(1)) {
    if (isFloat(from))
      return compareFloat(b, loc, arith::CmpFPredicate::UNE, x, emitFloatConstant(b, loc, x.getType(), 0.0));
    return compareInt(b, loc, arith::CmpIPredicate::ne, x, emitIntConstant(b, loc, x.getType(), 0));
  }
  if (isFloat(to)) {
    // Half precision is computed in f32; the caller narrows what it stores.
    Type target = to.getIntOrFloatBitWidth() == 16 ? b.getF32Type() : to;
    Type resultType = withElementType(x.getType(), target);
    if (isFloat(from)) {
      unsigned have = elementType.getIntOrFloatBitWidth(), want = target.getIntOrFloatBitWidth();
      if (have == want)
        return x;
      return have < want ? b.create<arith::ExtFOp>(loc, resultType, x).getResult()
                         : b.create<arith::TruncFOp>(loc, resultType, x).getResult();
    }
    if (isUnsigned(from) || from.isInteger(1))
      return b.create<arith::UIToFPOp>(loc, resultType, x);
    return b.create<arith::SIToFPOp>(loc, resultType, x);
  }
  if (isFloat(from))
    return emitFloatToInt(b, loc, to, x);
  unsigned have = from.getIntOrFloatBitWidth(), want = to.getIntOrFloatBitWidth();
  Type resultType = withElementType(x.getType(), b.getIntegerType(want));
  if (have == want)
    return x;
  if (have > want)
    return b.create<arith::TruncIOp>(loc, resultType, x);
  if (isUnsigned(from) || from.isInteger(1))
    return b.create<arith::ExtUIOp>(loc, resultType, x);
  return b.create<arith::ExtSIOp>(loc, resultType, x);
}

Value emitBitcast(OpBuilder &b, Location loc, Type from, Type to, Value x) {
  Type elementType = isFloat(to) ? to : b.getIntegerType(to.getIntOrFloatBitWidth());
  Type resultType = withElementType(x.getType(), elementType);
  return x.getType() == resultType ? x : b.create<arith::BitcastOp>(loc, resultType, x).getResult();
}

Value emitAdd(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (isFloat(type))
    return b.create<arith::AddFOp>(loc, x, y);
  return type.isInteger(1) ? b.create<arith::OrIOp>(loc, x, y).getResult() : b.create<arith::AddIOp>(loc, x, y);
}

Value emitSubtract(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  return isFloat(type) ? b.create<arith::SubFOp>(loc, x, y).getResult() : b.create<arith::SubIOp>(loc, x, y);
}

Value emitMultiply(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (isFloat(type))
    return b.create<arith::MulFOp>(loc, x, y);
  return type.isInteger(1) ? b.create<arith::AndIOp>(loc, x, y).getResult() : b.create<arith::MulIOp>(loc, x, y);
}

/// Integer division and remainder avoid the values for which the machine traps: y = 0, and lowest / -1.
static Value emitIntDivision(OpBuilder &b, Location loc, Type type, Value x, Value y, bool wantRemainder) {
  Value zero = emitIntConstant(b, loc, x.getType(), 0), one = emitIntConstant(b, loc, x.getType(), 1);
  Value minusOne = emitIntConstant(b, loc, x.getType(), -1);
  Value isZero = compareInt(b, loc, arith::CmpIPredicate::eq, y, zero);
  if (isUnsigned(type)) {
    Value safe = select(b, loc, isZero, one, y);
    if (wantRemainder)
      return select(b, loc, isZero, x, b.create<arith::RemUIOp>(loc, x, safe));
    return select(b, loc, isZero, minusOne, b.create<arith::DivUIOp>(loc, x, safe));
  }
  Value isMinusOne = compareInt(b, loc, arith::CmpIPredicate::eq, y, minusOne);
  Value safe = select(b, loc, b.create<arith::OrIOp>(loc, isZero, isMinusOne), one, y);
  if (wantRemainder) {
    Value remainder = select(b, loc, isMinusOne, zero, b.create<arith::RemSIOp>(loc, x, safe));
    return select(b, loc, isZero, x, remainder);
  }
  Value quotient = b.create<arith::DivSIOp>(loc, x, safe);
  quotient = select(b, loc, isMinusOne, b.create<arith::SubIOp>(loc, zero, x), quotient);
  return select(b, loc, isZero, minusOne, quotient);
}

Value emitDivide(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (isFloat(type))
    return b.create<arith::DivFOp>(loc, x, y);
  return emitIntDivision(b, loc, type, x, y, /*wantRemainder=*/false);
}

Value emitRemainder(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (isFloat(type))
    return b.create<arith::RemFOp>(loc, x, y);
  return emitIntDivision(b, loc, type, x, y, /*wantRemainder=*/true);
}

Value emitPower(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (isFloat(type))
    return b.create<math::PowFOp>(loc, x, y);
  // Squaring for every bit of the exponent, without a branch.
  Value one = emitIntConstant(b, loc, x.getType(), 1), zero = emitIntConstant(b, loc, x.getType(), 0);
  Value result = one, base = x;
  unsigned width = widthOf(x), bits = isUnsigned(type) ? width : width - 1;
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value shifted = b.create<arith::ShRUIOp>(loc, y, emitIntConstant(b, loc, x.getType(), bit));
    Value isSet = compareInt(b, loc, arith::CmpIPredicate::ne, b.create<arith::AndIOp>(loc, shifted, one), zero);
    result = select(b, loc, isSet, b.create<arith::MulIOp>(loc, result, base), result);
    base = b.create<arith::MulIOp>(loc, base, base);
  }
  if (isUnsigned(type))
    return result;
  Value minusOne = emitIntConstant(b, loc, x.getType(), -1);
  Value isOdd = compareInt(b, loc, arith::CmpIPredicate::ne, b.create<arith::AndIOp>(loc, y, one), zero);
  Value ofMinusOne = select(b, loc, isOdd, minusOne, one);
  Value negative = select(b, loc, compareInt(b, loc, arith::CmpIPredicate::eq, x, minusOne), ofMinusOne, zero);
  negative = select(b, loc, compareInt(b, loc, arith::CmpIPredicate::eq, x, one), one, negative);
  return select(b, loc, compareInt(b, loc, arith::CmpIPredicate::slt, y, zero), negative, result);
}

/// Maximum or minimum of f16, computed on the bits of the f32 that it is widened to. LLVM would narrow llvm.maximum.f32
/// of two widened operands back to f16, which x86 without AVX512-FP16 does element by element, with wrong results for
/// NaN.
static Value emitHalfExtremum(OpBuilder &b, Location loc, Value x, Value y, bool isMax) {
  Type floatType = x.getType(), intType = withElementType(floatType, b.getI32Type());
  Value magnitudeMask = emitIntConstant(b, loc, intType, 0x7fffffff);
  Value infinity = emitIntConstant(b, loc, intType, 0x7f800000);
  Value signShift = emitIntConstant(b, loc, intType, 31);
  // Integers in the order of the floats, -0 before +0; the map is its own inverse.
  auto order = [&](Value bits) -> Value {
    Value sign = b.create<arith::ShRSIOp>(loc, bits, signShift);
    return b.create<arith::XOrIOp>(loc, bits, b.create<arith::AndIOp>(loc, sign, magnitudeMask));
  };
  auto isNan = [&](Value bits) {
    Value magnitude = b.create<arith::AndIOp>(loc, bits, magnitudeMask);
    return compareInt(b, loc, arith::CmpIPredicate::ugt, magnitude, infinity);
  };
  Value xBits = b.create<arith::BitcastOp>(loc, intType, x), yBits = b.create<arith::BitcastOp>(loc, intType, y);
  Value chosen = isMax ? b.create<arith::MaxSIOp>(loc, order(xBits), order(yBits)).getResult()
                       : b.create<arith::MinSIOp>(loc, order(xBits), order(yBits)).getResult();
  Value result = select(b, loc, isNan(yBits), yBits, order(chosen));
  result = select(b, loc, isNan(xBits), xBits, result);
  return b.create<arith::BitcastOp>(loc, floatType, result);
}

Value emitMaximum(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (type.isF16() && getElementTypeOrSelf(x.getType()).isF32())
    return emitHalfExtremum(b, loc, x, y, /*isMax=*/true);
  if (isFloat(type))
    return b.create<arith::MaximumFOp>(loc, x, y);
  if (isUnsigned(type) || type.isInteger(1))
    return b.create<arith::MaxUIOp>(loc, x, y);
  return b.create<arith::MaxSIOp>(loc, x, y);
}

Value emitMinimum(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (type.isF16() && getElementTypeOrSelf(x.getType()).isF32())
    return emitHalfExtremum(b, loc, x, y, /*isMax=*/false);
  if (isFloat(type))
    return b.create<arith::MinimumFOp>(loc, x, y);
  if (isUnsigned(type) || type.isInteger(1))
    return b.create<arith::MinUIOp>(loc, x, y);
  return b.create<arith::MinSIOp>(loc, x, y);
}

/// A shift by at least the width is poison in LLVM: shift by a safe amount and choose.
template <typename ShiftOp> static Value emitLogicalShift(OpBuilder &b, Location loc, Value x, Value y) {
  Value width = emitIntConstant(b, loc, x.getType(), widthOf(x)), zero = emitIntConstant(b, loc, x.getType(), 0);
  Value isInRange = compareInt(b, loc, arith::CmpIPredicate::ult, y, width);
  Value shifted = b.create<ShiftOp>(loc, x, select(b, loc, isInRange, y, zero));
  return select(b, loc, isInRange, shifted, zero);
}

Value emitShiftLeft(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  return emitLogicalShift<arith::ShLIOp>(b, loc, x, y);
}

Value emitShiftRightLogical(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  return emitLogicalShift<arith::ShRUIOp>(b, loc, x, y);
}

Value emitShiftRightArithmetic(OpBuilder &b, Location loc, Type type, Value x, Value y) {
  if (isUnsigned(type))
    return emitShiftRightLogical(b, loc, type, x, y);
  Value most = emitIntConstant(b, loc, x.getType(), widthOf(x) - 1);
  return b.create<arith::ShRSIOp>(loc, x, b.create<arith::MinUIOp>(loc, y, most));
}

Value emitCompare(OpBuilder &b, Location loc, Type type, ComparisonDirection direction, Value x, Value y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F kFloat[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static constexpr I kSigned[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I kUnsigned[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto index = static_cast<size_t>(direction);
  if (isFloat(type))
    return compareFloat(b, loc, kFloat[index], x, y);
  bool unsignedOrder = isUnsigned(type) || type.isInteger(1);
  return compareInt(b, loc, unsignedOrder ? kUnsigned[index] : kSigned[index], x, y);
}

Value emitThreefry(OpBuilder &b, Location loc, ValueRange operands, int64_t word) {
  // As in evaluateThreefry. Both words are computed; the unused one is dead code.
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Type type = operands[0].getType();
  auto constant = [&](int64_t value) { return emitIntConstant(b, loc, type, value); };
  auto add = [&](Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y).getResult(); };
  auto exclusiveOr = [&](Value x, Value y) { return b.create<arith::XOrIOp>(loc, x, y).getResult(); };
  // The parity constant 0x1BD11BDA of the cipher's key schedule.
  Value parity = exclusiveOr(exclusiveOr(operands[0], operands[1]), constant(0x1BD11BDA));
  Value key[3] = {operands[0], operands[1], parity};
  Value x[2] = {add(operands[2], key[0]), add(operands[3], key[1])};
  for (int round = 0; round < 5; ++round) {
    for (int rotation : kRotations[round % 2]) {
      x[0] = add(x[0], x[1]);
      Value high = b.create<arith::ShLIOp>(loc, x[1], constant(rotation));
      Value low = b.create<arith::ShRUIOp>(loc, x[1], constant(32 - rotation));
      x[1] = exclusiveOr(b.create<arith::OrIOp>(loc, high, low), x[0]);
    }
    x[0] = add(x[0], key[(round + 1) % 3]);
    x[1] = add(x[1], add(key[(round + 2) % 3], constant(round + 1)));
  }
  return x[word];
}

Value emitReduction(OpBuilder &b, Location loc, Type type, ReductionKind kind, Value x, Value y) {
  switch (kind) {
  case ReductionKind::sum:
    return emitAdd(b, loc, type, x, y);
  case ReductionKind::prod:
    return emitMultiply(b, loc, type, x, y);
  case ReductionKind::max:
    return emitMaximum(b, loc, type, x, y);
  case ReductionKind::min:
    return emitMinimum(b, loc, type, x, y);
  case ReductionKind::and_:
    return b.create<arith::AndIOp>(loc, x, y);
  case ReductionKind::or_:
    return b.create<arith::OrIOp>(loc, x, y);
  }
  llvm_unreachable("unknown reduction");
}

} // namespace spmdc
