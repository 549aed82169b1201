//===- LinearOperands.cpp - in which operands operations are linear -------===//
//
// LinearOpInterface: f(x + y) = f(x) + f(y) for all numbers that may occur. Sums of floats are rounded, so the equation
// holds up to rounding; it does not hold where an infinity or NaN could appear on one side alone.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/PartialSums.h"
#include "ir/spmd/SpmdOps.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

using MayBePartial = llvm::function_ref<bool(Value)>;

Type elementTypeOf(Value value) { return cast<ArrayType>(value.getType()).getElementType(); }

/// Whether multiplying partial sums by the other operand, or dividing them by it, gives partial sums of the result. A
/// constant that is infinite, or a divisor of 0, makes NaN of zeros, and a large factor makes infinities of numbers
/// that cancel. A scalar that is known at run time only (a momentum, a count of tokens) is assumed to be none of these
/// (docs/differentiation.md says what follows if it is). An array may be so in any of its elements, as masks are.
bool isLinearScale(Operation *op, unsigned term) {
  if (isa<IntegerType>(elementTypeOf(op->getResult(0))))
    return isa<MultiplyOp>(op); // Products wrap around; quotients are rounded.
  Value factor = getBroadcastSource(op->getOperand(1 - term));
  if (!isUniform(factor) || (isa<DivideOp>(op) && term != 0))
    return false;
  auto constant = factor.getDefiningOp<ConstantOp>();
  if (!constant)
    return true;
  // Partial sums are kept in f32 at least: with this factor only those beyond 5e33 overflow.
  constexpr double kLarge = 65536;
  double size = std::abs(constant.getValue().getSplatValue<APFloat>().convertToDouble());
  return isa<MultiplyOp>(op) ? size <= kLarge : size >= 1 / kLarge && std::isfinite(size);
}

/// A product is linear in one operand where the other one is no partial sum.
SmallVector<unsigned> getScaledOperand(Operation *op, MayBePartial mayBePartial) {
  bool isLeft = mayBePartial(op->getOperand(0)), isRight = mayBePartial(op->getOperand(1));
  unsigned term = isLeft ? 0 : 1;
  return isLeft != isRight && isLinearScale(op, term) ? SmallVector<unsigned>{term} : SmallVector<unsigned>();
}

SmallVector<unsigned> firstIf(bool isLinear) { return isLinear ? SmallVector<unsigned>{0} : SmallVector<unsigned>(); }

} // namespace

SmallVector<unsigned> AddOp::getLinearOperands(MayBePartial) { return {0, 1}; }
SmallVector<unsigned> SubtractOp::getLinearOperands(MayBePartial) { return {0, 1}; }
SmallVector<unsigned> SelectOp::getLinearOperands(MayBePartial) { return {1, 2}; }
SmallVector<unsigned> DynamicUpdateSliceOp::getLinearOperands(MayBePartial) { return {0, 1}; }
SmallVector<unsigned> ScatterAddOp::getLinearOperands(MayBePartial) { return {0, 2}; }
SmallVector<unsigned> ScatterAddAlongOp::getLinearOperands(MayBePartial) { return {0, 2}; }

SmallVector<unsigned> ConcatenateOp::getLinearOperands(MayBePartial) {
  return llvm::to_vector(llvm::seq<unsigned>(0, getOperands().size()));
}

SmallVector<unsigned> MultiplyOp::getLinearOperands(MayBePartial mayBePartial) {
  return getScaledOperand(*this, mayBePartial);
}
SmallVector<unsigned> DivideOp::getLinearOperands(MayBePartial mayBePartial) {
  return getScaledOperand(*this, mayBePartial);
}

SmallVector<unsigned> ReduceOp::getLinearOperands(MayBePartial) { return firstIf(getKind() == ReductionKind::sum); }
SmallVector<unsigned> AllReduceOp::getLinearOperands(MayBePartial) { return firstIf(getKind() == ReductionKind::sum); }
SmallVector<unsigned> ReduceScatterOp::getLinearOperands(MayBePartial) {
  return firstIf(getKind() == ReductionKind::sum);
}

/// Where the new type holds every number of the old one: in a narrower one the sums would be rounded first.
SmallVector<unsigned> ConvertOp::getLinearOperands(MayBePartial) {
  auto from = dyn_cast<FloatType>(getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(getType().getElementType());
  if (!from || !to)
    return {};
  const llvm::fltSemantics &before = from.getFloatSemantics(), &after = to.getFloatSemantics();
  return firstIf(APFloat::semanticsPrecision(before) <= APFloat::semanticsPrecision(after) &&
                 APFloat::semanticsMaxExponent(before) <= APFloat::semanticsMaxExponent(after));
}

} // namespace spmdc
