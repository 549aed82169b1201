//===- Linearity.cpp - operations that are linear -------------------------===//

#include "passes/reductions/Linearity.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

/// The operand of a chain of broadcasts; the value itself if it is not broadcast.
Value getBroadcast(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastInDimOp>())
    value = broadcast.getOperand();
  return value;
}

/// Whether a product or quotient of partial sums gives the product or quotient of their sum. An infinite factor, or a
/// divisor of 0, makes NaN of zeros, and a large factor makes infinities of numbers that cancel each other. A run-time
/// scalar (a momentum, a count of tokens) is assumed to be none of these (docs/differentiation.md describes the effect
/// if it is one). A factor that is an array may have such elements, as masks do, so it is not accepted.
bool isLinearScale(Operation *op, unsigned term) {
  if (isa<IntegerType>(typeOf(op->getResult(0)).getElementType()))
    return isa<MultiplyOp>(op); // Products wrap around.
  Value factor = getBroadcast(op->getOperand(1 - term));
  if (!isOneNumber(factor) || (isa<DivideOp>(op) && term != 0))
    return false;
  auto constant = factor.getDefiningOp<ConstantOp>();
  if (!constant)
    return true;
  constexpr double kLarge = 65536;
  double size = std::abs(constant.getValue().getSplatValue<APFloat>().convertToDouble());
  return isa<MultiplyOp>(op) ? size <= kLarge : size >= 1 / kLarge && std::isfinite(size);
}

/// Whether the result type holds every number of the operand type. Sums in a narrower type would differ.
bool holdsAll(ConvertOp op) {
  auto from = dyn_cast<FloatType>(op.getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(op.getType().getElementType());
  if (!from || !to)
    return false;
  const llvm::fltSemantics &before = from.getFloatSemantics(), &after = to.getFloatSemantics();
  return APFloat::semanticsPrecision(before) <= APFloat::semanticsPrecision(after) &&
         APFloat::semanticsMaxExponent(before) <= APFloat::semanticsMaxExponent(after);
}

} // namespace

bool isLinearIn(OpOperand &use) {
  return llvm::is_contained(listLinear(use.getOwner(), [&](Value operand) { return operand == use.get(); }),
                            use.getOperandNumber());
}

bool isOneNumber(Value value) {
  value = getBroadcast(value);
  auto constant = value.getDefiningOp<ConstantOp>();
  return typeOf(value).getRank() == 0 || (constant && constant.getValue().isSplat());
}

bool isLinearCollective(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getKind() == ReductionKind::sum;
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getKind() == ReductionKind::sum;
  return isa<AllGatherOp, AllSliceOp, AllToAllOp, CollectivePermuteOp>(op);
}

std::optional<unsigned> getUpdate(Operation *op) {
  if (isa<DynamicUpdateSliceOp>(op))
    return 1;
  return isa<ScatterAddOp, ScatterAddAlongOp>(op) ? std::optional(2U) : std::nullopt;
}

SmallVector<unsigned> listLinear(Operation *op, function_ref<bool(Value)> mayBePartial) {
  if (isa<NegateOp, TransposeOp, ReshapeOp, SliceOp, ReverseOp, BroadcastInDimOp, DynamicSliceOp>(op) ||
      isLinearCollective(op))
    return {0};
  if (isa<AddOp, SubtractOp, DynamicUpdateSliceOp>(op))
    return {0, 1};
  if (isa<ScatterAddOp, ScatterAddAlongOp>(op))
    return {0, 2};
  if (isa<SelectOp>(op))
    return {1, 2};
  if (isa<ConcatenateOp>(op))
    return llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getKind() == ReductionKind::sum)
    return {0};
  if (isa<MultiplyOp, DivideOp>(op)) { // The other operand must not be a partial sum.
    bool isLeft = mayBePartial(op->getOperand(0)), isRight = mayBePartial(op->getOperand(1));
    if (isLeft != isRight && isLinearScale(op, isLeft ? 0 : 1))
      return {isLeft ? 0U : 1U};
  }
  if (auto convert = dyn_cast<ConvertOp>(op); convert && holdsAll(convert))
    return {0};
  return {};
}

} // namespace spmdc
