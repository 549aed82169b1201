//===- ElementValues.cpp - elements in registers and in memory ------------===//

#include "passes/kernel/ElementValues.h"

#include "ir/array/ScalarEmission.h"
#include "ir/array/ScalarEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isHalf(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16; }

/// Is every NaN of `value` one of `operands` or the default NaN of the processor? Of `operands`, which are bf16 in
/// registers, such a NaN has no bits below those of bf16. The functions are arithmetic too (`MathFunctions.h`), or
/// libm's.
bool keepsNans(Value value, ValueRange operands) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (llvm::is_contained(operands, next) || (op && !seen.insert(op).second) || isa_and_nonnull<arith::ConstantOp>(op))
      continue;
    if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::SelectOp,
                         math::AbsFOp, math::CopySignOp, math::FmaOp, math::SqrtOp, math::ExpOp, math::Exp2Op,
                         math::TanhOp, math::ErfOp>(op))
      return false;
    // All but the condition of a select.
    llvm::append_range(open, op->getOperands().drop_front(isa<arith::SelectOp>(op) ? 1 : 0));
  }
  return true;
}

/// f32 to the nearest bf16, ties to even, in integers: the x86 instruction flushes subnormal numbers. The result is
/// f32. `mayCarryIntoNans`: `x` may be a NaN whose low bits would carry into those of bf16, and make it an infinity or
/// zero.
Value roundToBf16(OpBuilder &b, Location loc, Value x, bool mayCarryIntoNans) {
  Type i32 = b.getI32Type();
  auto constant = [&](int64_t value) { return emitIntConstant(b, loc, i32, value); };
  Value bits = b.create<arith::BitcastOp>(loc, i32, x);
  Value isOdd = b.create<arith::AndIOp>(loc, b.create<arith::ShRUIOp>(loc, bits, constant(16)), constant(1));
  Value rounded = b.create<arith::AddIOp>(loc, b.create<arith::AddIOp>(loc, bits, constant(0x7fff)), isOdd);
  if (mayCarryIntoNans) {
    Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
    Value quiet = b.create<arith::OrIOp>(loc, bits, constant(0x400000));
    rounded = b.create<arith::SelectOp>(loc, isNan, quiet, rounded);
  }
  return b.create<arith::BitcastOp>(loc, x.getType(), b.create<arith::AndIOp>(loc, rounded, constant(0xffff0000)));
}

} // namespace

Type registerType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (isHalf(elementType))
    return Float32Type::get(context);
  if (isa<FloatType>(elementType))
    return elementType;
  return IntegerType::get(context, elementType.getIntOrFloatBitWidth());
}

Type memoryType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (elementType.isBF16())
    return IntegerType::get(context, 16);
  if (isa<FloatType>(elementType))
    return elementType;
  return IntegerType::get(context, std::max(8u, elementType.getIntOrFloatBitWidth()));
}

Value toMemory(OpBuilder &b, Location loc, Type elementType, Value value) {
  if (elementType.isBF16()) {
    Value bits = b.create<arith::BitcastOp>(loc, b.getI32Type(), value);
    bits = b.create<arith::ShRUIOp>(loc, bits, emitIntConstant(b, loc, b.getI32Type(), 16));
    return b.create<arith::TruncIOp>(loc, b.getI16Type(), bits);
  }
  if (elementType.isF16())
    return b.create<arith::TruncFOp>(loc, elementType, value);
  if (elementType.isInteger(1))
    return b.create<arith::ExtUIOp>(loc, b.getI8Type(), value);
  return value;
}

Value fromMemory(OpBuilder &b, Location loc, Type elementType, Value value) {
  if (elementType.isBF16()) {
    Value wide = b.create<arith::ExtUIOp>(loc, b.getI32Type(), value);
    wide = b.create<arith::ShLIOp>(loc, wide, emitIntConstant(b, loc, b.getI32Type(), 16));
    return b.create<arith::BitcastOp>(loc, b.getF32Type(), wide);
  }
  if (elementType.isF16())
    return b.create<arith::ExtFOp>(loc, b.getF32Type(), value);
  if (elementType.isInteger(1))
    return b.create<arith::TruncIOp>(loc, b.getI1Type(), value);
  return value;
}

Value roundElement(OpBuilder &b, Location loc, Type elementType, Value value, Bf16Rounding rounding,
                   ValueRange operands) {
  if (rounding == Bf16Rounding::InMemoryAlone)
    return value;
  if (elementType.isBF16() && rounding == Bf16Rounding::Conversion) {
    Value narrow = b.create<arith::TruncFOp>(loc, elementType, value);
    return fromMemory(b, loc, elementType, b.create<arith::BitcastOp>(loc, b.getI16Type(), narrow));
  }
  if (elementType.isBF16())
    return roundToBf16(b, loc, value, !keepsNans(value, operands));
  if (elementType.isF16())
    return fromMemory(b, loc, elementType, toMemory(b, loc, elementType, value));
  return value;
}

Value combineElements(OpBuilder &b, Location loc, Type elementType, ReductionKind kind, Value x, Value y,
                      bool mayReorder) {
  Value result = emitReduction(b, loc, elementType, kind, x, y);
  if (!mayReorder)
    return result;
  if (auto add = result.getDefiningOp<arith::AddFOp>())
    add.setFastmath(arith::FastMathFlags::reassoc);
  if (auto multiply = result.getDefiningOp<arith::MulFOp>())
    multiply.setFastmath(arith::FastMathFlags::reassoc);
  return result;
}

Value elementIdentity(OpBuilder &b, Location loc, Type elementType, ReductionKind kind) {
  Scalar value = getReductionIdentity(elementType, kind);
  Type type = registerType(elementType);
  return isa<FloatType>(type) ? emitFloatConstant(b, loc, type, value.f) : emitIntConstant(b, loc, type, value.i);
}

} // namespace spmdc
