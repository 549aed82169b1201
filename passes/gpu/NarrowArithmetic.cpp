//===- NarrowArithmetic.cpp - arithmetic of bf16 without that of f32 ------===//
//
// A kernel computes with f32 and rounds each result. The f32 sum, difference or product of two bf16 values, rounded to
// bf16, is the bf16 operation's result: a format of at least 2p + 2 bits rounds first without changing what p bits
// round to (Figueroa, "When is double rounding innocuous?", 1995); bf16 has 8 bits, f32 24.
//
// A normal quotient of two bf16 values is no tie between two adjacent bf16 values, nor near one: with integers a and b
// of at most 8 bits, and a tie's odd M of 9 bits, a 2^k - M b is an integer other than 0, so quotient and tie differ by
// at least 1 / (M b) > 2^-17 of the tie. `div.full.f32` is off by at most two units in the last place of f32, 2^-22 of
// the quotient, and supports subnormal numbers (PTX ISA, "Floating Point Instructions: div"). So its result is rounded
// to the same bf16 value. Below 2^-126 a tie has fewer bits, and a quotient that is one may be rounded to either side,
// which is 2^-133 away. On sm_90 it is eight instructions; `div.rn.f32` is nine with a branch, which keeps ptxas from
// moving other instructions across, and a call for special numbers.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Passes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_NARROWARITHMETIC
#include "passes/gpu/Passes.h.inc"

namespace {

/// Returns the bf16 value of which this f32 value is the exact equal, or null. A widened value is its bits, moved to
/// the upper half (ElementValues.h).
Value getNarrow(OpBuilder &b, Location loc, Value value) {
  Type narrow = b.getBF16Type();
  APFloat constant(0.0f);
  if (matchPattern(value, m_ConstantFloat(&constant))) {
    bool losesBits = false;
    constant.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &losesBits);
    return losesBits ? Value() : b.create<arith::ConstantOp>(loc, b.getFloatAttr(narrow, constant)).getResult();
  }
  auto bits = value.getDefiningOp<arith::BitcastOp>();
  auto shift = bits ? bits.getIn().getDefiningOp<arith::ShLIOp>() : nullptr;
  auto wide = shift ? shift.getLhs().getDefiningOp<arith::ExtUIOp>() : nullptr;
  APInt distance;
  if (!wide || !wide.getIn().getType().isInteger(16) || !matchPattern(shift.getRhs(), m_ConstantInt(&distance)) ||
      distance != 16)
    return {};
  if (auto half = wide.getIn().getDefiningOp<arith::BitcastOp>(); half && half.getIn().getType().isBF16())
    return half.getIn();
  return b.create<arith::BitcastOp>(loc, narrow, wide.getIn());
}

/// Replaces the rounding of Op's result by Op of bf16 if both operands are bf16 values.
template <typename Op> bool narrow(arith::TruncFOp rounded) {
  auto op = rounded.getIn().getDefiningOp<Op>();
  if (!op || op.getFastmath() != arith::FastMathFlags::none)
    return false;
  OpBuilder b(rounded);
  Value left = getNarrow(b, op.getLoc(), op.getLhs()), right = left ? getNarrow(b, op.getLoc(), op.getRhs()) : Value();
  if (!right)
    return false;
  rounded.replaceAllUsesWith(b.create<Op>(op.getLoc(), left, right).getResult());
  rounded.erase();
  return true;
}

/// Replaces the quotient of two bf16 values, before it is rounded, by the faster one of two units in the last place.
void relaxDivision(arith::TruncFOp rounded) {
  auto op = rounded.getIn().getDefiningOp<arith::DivFOp>();
  OpBuilder b(rounded);
  if (!op || !getNarrow(b, op.getLoc(), op.getLhs()) || !getNarrow(b, op.getLoc(), op.getRhs()))
    return;
  rounded.setOperand(emitFullDivision(b, op));
  if (op.use_empty())
    op.erase();
}

class NarrowArithmeticPass : public impl::NarrowArithmeticBase<NarrowArithmeticPass> {
  using NarrowArithmeticBase::NarrowArithmeticBase;

  void runOnOperation() override {
    SmallVector<arith::TruncFOp> roundings;
    getOperation().walk([&](arith::TruncFOp op) {
      if (op.getIn().getType().isF32() && op.getType().isBF16())
        roundings.push_back(op);
    });
    // In program order, so that operands are narrow already.
    for (arith::TruncFOp op : roundings)
      if (!hasInstructions || !(narrow<arith::AddFOp>(op) || narrow<arith::SubFOp>(op) || narrow<arith::MulFOp>(op)))
        relaxDivision(op);
  }
};

} // namespace

Value emitFullDivision(OpBuilder &b, arith::DivFOp op) {
  return b
      .create<LLVM::InlineAsmOp>(op.getLoc(), op->getResultTypes(), op->getOperands(), "div.full.f32 $0, $1, $2;",
                                 "=f,f,f", /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::AsmDialectAttr(),
                                 ArrayAttr())
      .getResult(0);
}

} // namespace spmdc
