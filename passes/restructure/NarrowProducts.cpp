//===- NarrowProducts.cpp - products of the types before a conversion -----===//
//
// A program may convert the operands of a product, so that it is summed in the wider type:
//
//   cast(x: bf16[m, k], f32) @ cast(y: bf16[k, n], f32)
//
// The library sums products of 16-bit floats in f32, and those of small integers in 32 bits anyway. So it can read the
// operands as they are: half or a quarter of the bytes, by instructions for these types. Integer products of JAX with a
// `preferred_element_type` are imported this way, too.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/ReducePrecision.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/restructure/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_NARROWPRODUCTS
#include "passes/restructure/Passes.h.inc"

namespace {

DebugTrace trace("narrow-products", "not narrowed");

/// Whether the library multiplies operands of the narrow type into the wide one (runtime/device/cpu/Gemm.cpp), with the
/// same products and sums as for converted operands: products of 16-bit floats are exact in f32, and integers wrap.
bool isMultipliedInto(Type narrow, Type wide) {
  if (isHalfFloat(narrow))
    return wide.isF32();
  auto from = dyn_cast<IntegerType>(narrow), to = dyn_cast<IntegerType>(wide);
  bool isSmall = from && to && (from.getWidth() == 8 || from.getWidth() == 16) && to.getWidth() == 32;
  return isSmall && (!to.isUnsigned() || from.isUnsigned());
}

/// Operations that move or repeat elements of any type.
bool isMove(Operation *op) { return isa<TransposeOp, ReshapeOp, BroadcastInDimOp, SliceOp, ReverseOp>(op); }

/// The conversion of the elements, behind which they are only moved.
ConvertOp findConvert(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isMove(op))
    op = op->getOperand(0).getDefiningOp();
  auto convert = dyn_cast_or_null<ConvertOp>(op);
  // Partial sums are reduced in the type that they have.
  bool isComplete = convert && typeOf(convert.getOperand()).getShardingOrOpen().getUnreduced().empty();
  return isComplete ? convert : ConvertOp();
}

/// The value without its conversion, moved in the same way.
Value buildNarrow(OpBuilder &builder, Value value) {
  Operation *op = value.getDefiningOp();
  Value narrow = op->getOperand(0);
  if (isMove(op))
    narrow = buildNarrow(builder, narrow);
  ArrayType type = typeOf(value).withElementType(typeOf(narrow).getElementType());
  if (isMove(op)) {
    Operation *move = builder.clone(*op);
    move->setOperand(0, narrow);
    move->getResult(0).setType(type);
    return move->getResult(0);
  }
  return narrow.getType() == type ? narrow : builder.create<ReshardOp>(op->getLoc(), type, narrow, StringAttr());
}

/// Whether the library can read both operands before their conversions.
bool canNarrow(DotGeneralOp op) {
  ConvertOp lhs = findConvert(op.getLhs()), rhs = findConvert(op.getRhs());
  if (!lhs && !rhs)
    return false;
  if (!lhs || !rhs)
    return trace.skip(op, "only one operand was converted");
  Type narrow = typeOf(lhs.getOperand()).getElementType(), wide = typeOf(op.getLhs()).getElementType();
  if (typeOf(rhs.getOperand()).getElementType() != narrow)
    return trace.skip(op, "the operands were ", typeOf(lhs.getOperand()), " and ", typeOf(rhs.getOperand()));
  if (op.getType().getElementType() != wide || !isMultipliedInto(narrow, wide))
    return trace.skip(op, "products of ", typeOf(lhs.getOperand()), " are not summed in ", op.getType());
  return true;
}

void narrow(DotGeneralOp op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *converted = operand.get().getDefiningOp();
    operand.set(buildNarrow(builder, operand.get()));
    while (converted && isOpTriviallyDead(converted)) {
      Operation *next = isMove(converted) ? converted->getOperand(0).getDefiningOp() : nullptr;
      converted->erase();
      converted = next;
    }
  }
}

class NarrowProductsPass : public impl::NarrowProductsBase<NarrowProductsPass> {
  void runOnOperation() override {
    for (DotGeneralOp op : collectOps<DotGeneralOp>(getOperation()))
      if (canNarrow(op))
        narrow(op);
  }
};

} // namespace
} // namespace spmdc
