//===- ReductionShare.cpp - how much of partial sums will be reduced ------===//

#include "passes/partition/ReductionShare.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/partition/LinearCone.h"

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

/// Whether the operation multiplies, and the other operand is a constant.
bool isScale(OpOperand &use) {
  return isa<MultiplyOp>(use.getOwner()) &&
         use.getOwner()->getOperand(1 - use.getOperandNumber()).getDefiningOp<ConstantOp>();
}

/// Whether there is one use, or those are in different arms: only one of them takes place then, or none.
bool isUsedOnceOrInArms(Value value) {
  llvm::SmallPtrSet<Region *, 2> arms;
  return value.hasOneUse() || llvm::all_of(value.getUsers(), [&](Operation *user) {
           Region *arm = user->getParentRegion();
           return isa<IfOp>(arm->getParentOp()) && arms.insert(arm).second;
         });
}

/// The carry of a `for` that nothing uses but this value, which is its multiple; null for any other value.
Value findCarry(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool isScaled = isa<MultiplyOp, NegateOp, ReshardOp>(op) && value.hasOneUse();
    auto operand =
        isScaled ? llvm::find_if(op->getOperands(), [](Value factor) { return !factor.getDefiningOp<ConstantOp>(); })
                 : op->operand_end();
    if (operand == op->operand_end() || (isa<MultiplyOp>(op) && !isScale(*operand.getBase())))
      return {};
    value = *operand;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  bool isCarry = argument && isa<ForOp>(argument.getOwner()->getParentOp());
  return isCarry && isUsedOnceOrInArms(argument) ? argument : Value();
}

} // namespace

double getReductionShare(ShardingRuleOpInterface op) {
  double share = 1;
  Value value = op->getResult(0), carry;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (op.isAddedTo(index))
      carry = findCarry(op->getOperand(index));
  auto resizeTo = [&](Value other) {
    double before = static_cast<double>(std::max<int64_t>(1, typeOf(value).getNumElements()));
    share *= static_cast<double>(typeOf(other).getNumElements()) / before;
    value = other;
  };
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    auto reduce = dyn_cast<ReduceOp>(user);
    if (isa<NegateOp, TransposeOp, ReshapeOp, ConcatenateOp>(user) || isScale(use) ||
        (isa<SelectOp>(user) && use.getOperandNumber() > 0)) {
      value = user->getResult(0);
    } else if (auto adding = dyn_cast<ShardingRuleOpInterface>(user);
               adding && adding.isAddedTo(use.getOperandNumber())) {
      value = user->getResult(0);
    } else if (Value other; getUpdate(user) == use.getOperandNumber() && (other = findCarry(user->getOperand(0)))) {
      carry = other;
      resizeTo(user->getResult(0));
    } else if (isa<SliceOp, DynamicSliceOp>(user) || (reduce && reduce.getKind() == ReductionKind::sum)) {
      resizeTo(user->getResult(0));
    } else if (Value other;
               isa<AddOp, SubtractOp>(user) && (other = findCarry(user->getOperand(1 - use.getOperandNumber())))) {
      carry = other;
      value = user->getResult(0);
    } else if (auto branch = isa<YieldOp>(user) ? dyn_cast<IfOp>(user->getParentOp()) : IfOp()) {
      value = branch.getOutputs()[use.getOperandNumber()];
    } else {
      auto loop = isa<YieldOp>(user) ? dyn_cast<ForOp>(user->getParentOp()) : ForOp();
      unsigned index = use.getOperandNumber();
      if (!loop || loop.getCarries()[index] != carry)
        break;
      share /= static_cast<double>(std::max<int64_t>(1, loop.getTripCount()));
      value = loop.getOutputs()[index];
      carry = findCarry(loop.getInitials()[index]);
    }
  }
  return share;
}

} // namespace spmdc
