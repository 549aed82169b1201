//===- EmitOperators.cpp - arithmetic, comparisons, logic -----------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Emitter.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

using spmd::DType;

static std::optional<ComparisonDirection> directionOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Equal:
    return ComparisonDirection::eq;
  case BinaryOp::NotEqual:
    return ComparisonDirection::ne;
  case BinaryOp::Less:
    return ComparisonDirection::lt;
  case BinaryOp::LessEqual:
    return ComparisonDirection::le;
  case BinaryOp::Greater:
    return ComparisonDirection::gt;
  case BinaryOp::GreaterEqual:
    return ComparisonDirection::ge;
  default:
    return std::nullopt;
  }
}

Value Emitter::binary(BinaryOp op, const Value &left, const Value &right, Range range) {
  if (left.isConstant() && right.isConstant()) {
    std::string error;
    std::optional<Constant> folded = foldBinary(op, left.constant, right.constant, error);
    if (!folded)
      fail(range, error);
    return Value::ofConstant(*folded, range);
  }
  std::string quoted = "'" + std::string(spelling(op)) + "'";
  if (op == BinaryOp::MatMul)
    return emitMatmul(*this, left, right, range);
  if (auto tree = leafByLeaf({left, right}, range, quoted,
                             [&](llvm::ArrayRef<Value> leaves) { return binary(op, leaves[0], leaves[1], range); }))
    return *tree;
  DTypeClass common = commonClass({left, right}, quoted);
  auto operands = [&](DType dtype) { return unify({left, right}, dtype, range, quoted); };
  if (auto direction = directionOf(op)) {
    auto xy = operands(common.dtype);
    return Value::ofArray(compare(*direction, xy[0], xy[1]), false, range);
  }
  if (op == BinaryOp::LogicalAnd || op == BinaryOp::LogicalOr) {
    // Compares each side with zero in its own dtype.
    auto truth = [&](const Value &value) { return Value::ofArray(isNonZero(materialize(value)), false, value.range); };
    auto xy = unify({truth(left), truth(right)}, DType::Bool, range, quoted);
    mlir::Value result = op == BinaryOp::LogicalAnd ? apply<AndOp>(xy[0], xy[1]) : apply<OrOp>(xy[0], xy[1]);
    return Value::ofArray(result, false, range);
  }
  if (op == BinaryOp::Power)
    return power(left, right, range);
  return arithmetic(op, left, right, range);
}

Value Emitter::arithmetic(BinaryOp op, const Value &left, const Value &right, Range range) {
  std::string quoted = "'" + std::string(spelling(op)) + "'";
  DTypeClass common = commonClass({left, right}, quoted);
  bool isBitwise = op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor;
  bool isShift = op == BinaryOp::ShiftLeft || op == BinaryOp::ShiftRight;
  if ((isBitwise || isShift) && spmd::isFloat(common.dtype))
    fail(range, quoted + " takes integers" + (isBitwise ? " or bools" : "") + ", not " + left.describe() + " and " +
                    right.describe());
  bool refusesBools = isShift || op == BinaryOp::Subtract || op == BinaryOp::Remainder;
  if (common.dtype == DType::Bool && refusesBools)
    fail(range, quoted + " does not take bools" + (op == BinaryOp::Subtract ? "; use '^'" : ""));
  if (op == BinaryOp::Divide)
    common = toInexact(common);
  auto xy = unify({left, right}, common.dtype, range, quoted);
  auto result = [&](mlir::Value value) { return Value::ofArray(value, common.isWeak, range); };
  switch (op) {
  case BinaryOp::Add:
    return result(apply<AddOp>(xy[0], xy[1]));
  case BinaryOp::Subtract:
    return result(apply<SubtractOp>(xy[0], xy[1]));
  case BinaryOp::Multiply:
    return result(apply<MultiplyOp>(xy[0], xy[1]));
  case BinaryOp::Divide:
    return result(apply<DivideOp>(xy[0], xy[1]));
  case BinaryOp::Remainder:
    return result(emitRemainder(*this, xy[0], xy[1]));
  case BinaryOp::BitAnd:
    return result(apply<AndOp>(xy[0], xy[1]));
  case BinaryOp::BitOr:
    return result(apply<OrOp>(xy[0], xy[1]));
  case BinaryOp::BitXor:
    return result(apply<XorOp>(xy[0], xy[1]));
  case BinaryOp::ShiftLeft:
    return result(apply<ShiftLeftOp>(xy[0], xy[1]));
  case BinaryOp::ShiftRight: // For unsigned integers it fills with zeros.
    return result(apply<ShiftRightArithmeticOp>(xy[0], xy[1]));
  default:
    llvm_unreachable("not arithmetic");
  }
}

/// A constant integer exponent is repeated multiplication, as in JAX; everything else is `power`.
Value Emitter::power(const Value &left, const Value &right, Range range) {
  DTypeClass common = commonClass({left, right}, "'**'");
  if (right.isInt()) {
    // A bool counts as an integer here.
    DType dtype = common.dtype;
    int64_t exponent = right.constant.i;
    if (exponent < 0 && !spmd::isFloat(dtype))
      fail(range, "an integer to a negative power is not an integer; convert the base with cast(..., f32)");
    mlir::Value base = materialize(left, dtype);
    bool isWeak = common.isWeak && left.dtype() != DType::Bool;
    return Value::ofArray(emitIntegerPower(*this, base, exponent), isWeak, range);
  }
  if (common.dtype == DType::Bool)
    common.dtype = DType::I32;
  auto xy = unify({left, right}, common.dtype, range, "'**'");
  return Value::ofArray(apply<PowerOp>(xy[0], xy[1]), common.isWeak && spmd::isFloat(common.dtype), range);
}

Value Emitter::unary(UnaryOp op, const Value &operand, Range range) {
  if (operand.isConstant()) {
    std::string error;
    std::optional<Constant> folded = foldUnary(op, operand.constant, error);
    if (!folded)
      fail(range, error);
    return Value::ofConstant(*folded, range);
  }
  std::string quoted = "'" + std::string(spelling(op)) + "'";
  if (auto tree = leafByLeaf({operand}, range, quoted,
                             [&](llvm::ArrayRef<Value> leaves) { return unary(op, leaves[0], range); }))
    return *tree;
  DTypeClass own = commonClass({operand}, quoted);
  if (op == UnaryOp::Not) {
    mlir::Value x = operand.array;
    mlir::Value result =
        own.dtype == DType::Bool ? apply<NotOp>(x) : compare(ComparisonDirection::eq, x, splatLike(x, 0));
    return Value::ofArray(result, false, range);
  }
  if (own.dtype == DType::Bool)
    fail(range, "'-' does not take bools; use '!'");
  return Value::ofArray(apply<NegateOp>(operand.array), own.isWeak, range);
}

//===----------------------------------------------------------------------===//
// Quotients and powers
//===----------------------------------------------------------------------===//

/// True if the divisor must be added to a remainder, so that both have the same sign.
static mlir::Value needsCorrection(Emitter &e, mlir::Value remainder, mlir::Value divisor) {
  mlir::Value zero = e.splatLike(divisor, 0);
  mlir::Value isNegative = e.compare(ComparisonDirection::lt, remainder, zero);
  mlir::Value divisorIsNegative = e.compare(ComparisonDirection::lt, divisor, zero);
  mlir::Value differs = e.compare(ComparisonDirection::ne, isNegative, divisorIsNegative);
  mlir::Value isNonZero = e.compare(ComparisonDirection::ne, remainder, zero);
  return e.apply<AndOp>(differs, isNonZero);
}

mlir::Value emitRemainder(Emitter &e, mlir::Value x, mlir::Value y) {
  mlir::Type type = plainTypeOf(x).getElementType();
  // As in JAX, an integer leaves no remainder by zero.
  if (!llvm::isa<mlir::FloatType>(type))
    y = e.select(e.compare(ComparisonDirection::eq, y, e.splatLike(y, 0)), e.splatLike(y, 1), y);
  mlir::Value remainder = e.apply<RemainderOp>(x, y);
  if (isUnsigned(type))
    return remainder;
  return e.select(needsCorrection(e, remainder, y), e.apply<AddOp>(remainder, y), remainder);
}

mlir::Value emitFloorDivide(Emitter &e, mlir::Value x, mlir::Value y) {
  mlir::Type type = plainTypeOf(x).getElementType();
  if (isUnsigned(type))
    return e.apply<DivideOp>(x, y);
  mlir::Value remainder = e.apply<RemainderOp>(x, y);
  if (!llvm::isa<mlir::FloatType>(type)) {
    mlir::Value quotient = e.apply<DivideOp>(x, y);
    mlir::Value zero = e.splatLike(y, 0);
    // The signs of x and y: a zero has neither, so 0 / y stays 0.
    mlir::Value signs = e.compare(ComparisonDirection::ne, e.apply<SignOp>(x), e.apply<SignOp>(y));
    mlir::Value isInexact = e.compare(ComparisonDirection::ne, remainder, zero);
    mlir::Value lower = e.apply<SubtractOp>(quotient, e.splatLike(y, 1));
    return e.select(e.apply<AndOp>(signs, isInexact), lower, quotient);
  }
  // As in JAX: the quotient without its remainder is exact up to rounding, which `round` removes. Division by zero has
  // no remainder, and the quotient is infinite.
  mlir::Value isByZero = e.compare(ComparisonDirection::eq, y, e.splatLike(y, 0));
  mlir::Value multiple = e.select(isByZero, x, e.apply<SubtractOp>(x, remainder));
  mlir::Value quotient = e.apply<DivideOp>(multiple, y);
  mlir::Value lower = e.apply<SubtractOp>(quotient, e.splatLike(y, 1));
  return e.apply<RoundNearestEvenOp>(e.select(needsCorrection(e, remainder, y), lower, quotient));
}

mlir::Value emitIntegerPower(Emitter &e, mlir::Value x, int64_t exponent) {
  if (exponent == 0)
    return e.splatLike(x, 1);
  uint64_t bits = exponent < 0 ? 0 - static_cast<uint64_t>(exponent) : exponent;
  mlir::Value result;
  for (mlir::Value square = x; bits > 0; bits >>= 1) {
    if (bits & 1)
      result = result ? e.apply<MultiplyOp>(result, square) : square;
    if (bits > 1)
      square = e.apply<MultiplyOp>(square, square);
  }
  return exponent < 0 ? e.apply<DivideOp>(e.splatLike(x, 1), result) : result;
}

} // namespace spmdc
