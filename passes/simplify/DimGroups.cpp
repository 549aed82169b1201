//===- DimGroups.cpp - dimensions that must have one shape ----------------===//

#include "passes/simplify/DimGroups.h"

#include "ir/array/FourierOp.h"
#include "ir/array/ScatterOp.h"
#include "ir/spmd/SpmdOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Whether the dimension has no annotated sharding. A member of a sharding group keeps its shape, because all members
/// have the same shape.
bool isUnannotated(DimOfValue dim) {
  auto isGroup = [](Operation *user) { return isa<ShardingGroupOp>(user); };
  if (llvm::any_of(dim.value.getUsers(), isGroup))
    return false;
  ShardingAttr sharding = typeOf(dim.value).getSharding();
  if (!sharding)
    return true;
  DimShardingAttr written = sharding.getDims()[dim.dim];
  return !written.getIsClosed() && written.empty() && written.getPriority() < 0 && sharding.getUnreduced().empty();
}

std::optional<DimGroup> ifUnannotated(DimGroup group) {
  return llvm::all_of(group.values, isUnannotated) ? std::optional(std::move(group)) : std::nullopt;
}

/// Whether the operation reads or writes elements along a dimension of an operand (the result: `array` is -1) by
/// position.
bool isIndexed(Operation *op, int64_t array, int64_t dim) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](TakeOp take) { return array == 0 && dim == static_cast<int64_t>(take.getDim()); })
      .Case([&](ScatterOp scatter) {
        return (array <= 0 || scatter.getAlong()) && dim == static_cast<int64_t>(scatter.getDim());
      })
      .Case([&](ScatterAddOp add) { return array <= 0 && dim == static_cast<int64_t>(add.getDim()); })
      .Case<TakeAlongOp, ScatterAddAlongOp>([&](auto along) { return dim == static_cast<int64_t>(along.getDim()); })
      .Case([&](DynamicSliceOp slice) {
        return array <= 0 && slice.getSizes()[dim] != slice.getOperand().getType().getDimSize(dim);
      })
      .Case([&](DynamicUpdateSliceOp update) {
        return array <= 1 && update.getUpdate().getType().getDimSize(dim) != update.getType().getDimSize(dim);
      })
      .Default(false);
}

/// The operations whose attributes SplitAttributes.cpp can rewrite for more dimensions.
bool isKnown(Operation *op) {
  return isa<ElementwiseOpInterface, ConstantOp, IotaOp, BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, PadOp,
             ConcatenateOp, ReverseOp, DotGeneralOp, EinsumOp, ReduceOp, ArgReduceOp, CumulativeOp, DynamicSliceOp,
             DynamicUpdateSliceOp, TakeOp, TakeAlongOp, ScatterAddOp, ScatterAddAlongOp, ScatterOp, ArgsortOp, FftOp,
             ConstraintOp>(op);
}

/// The group of dimension `dim` of operand `operand`, or of the result if `operand` is -1.
std::optional<DimGroup> getGroupByRule(Operation *op, int64_t operand, int64_t dim) {
  if (!isKnown(op) || op->getNumResults() != 1 || isPerDevice(op))
    return std::nullopt;
  DimGroup group;
  Value result = op->getResult(0);
  // The elements of a constant are in row-major order for any shape; its rule has no factors that could be split.
  if (isa<ConstantOp>(op)) {
    group.values.push_back({result, dim});
    return ifUnannotated(std::move(group));
  }
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  const DimFactors &factors = operand < 0 ? rule.results[0][dim] : rule.operands[operand][dim];
  if (isa<ReshapeOp>(op) && factors.size() != 1) {
    group.isEnd = true;
    if (operand < 0)
      group.values.push_back({result, dim});
    else
      group.uses.push_back({&op->getOpOperand(operand), dim});
    return ifUnannotated(std::move(group));
  }
  if (factors.size() != 1)
    return std::nullopt;
  int64_t factor = factors[0];
  FactorKind kind = rule.factors[factor].kind;
  if (kind != FactorKind::PassThrough && kind != FactorKind::Reduction)
    return std::nullopt;
  bool isAlone = true;
  auto collect = [&](int64_t array, const ValueFactors &dims) {
    for (auto [index, list] : llvm::enumerate(dims)) {
      if (!llvm::is_contained(list, factor))
        continue;
      isAlone &= list.size() == 1 && !isIndexed(op, array, static_cast<int64_t>(index));
      if (array < 0)
        group.values.push_back({result, static_cast<int64_t>(index)});
      else
        group.uses.push_back({&op->getOpOperand(array), static_cast<int64_t>(index)});
    }
  };
  for (auto [array, dims] : llvm::enumerate(rule.operands))
    collect(static_cast<int64_t>(array), dims);
  collect(-1, rule.results[0]);
  if (isAlone)
    return ifUnannotated(std::move(group));
  // The reshape merges or splits the dimension.
  if (!isa<ReshapeOp>(op))
    return std::nullopt;
  DimGroup end;
  end.isEnd = true;
  if (operand < 0)
    end.values.push_back({result, dim});
  else
    end.uses.push_back({&op->getOpOperand(operand), dim});
  return ifUnannotated(std::move(end));
}

/// The group of a carry of a loop, or of a result of a branch; `number` is the number of the operation's result.
std::optional<DimGroup> getGroupOfFlow(Operation *op, unsigned number, int64_t dim) {
  if (isPerDevice(op))
    return std::nullopt;
  DimGroup group;
  group.values.push_back({op->getResult(number), dim});
  auto addYield = [&](Region &region) {
    group.uses.push_back({&region.front().getTerminator()->getOpOperand(number), dim});
  };
  if (auto loop = dyn_cast<ForOp>(op)) {
    group.uses.push_back({&op->getOpOperand(number), dim});
    group.values.push_back({loop.getBody().getArgument(number + 1), dim});
    addYield(loop.getBody());
  } else if (auto loop = dyn_cast<WhileOp>(op)) {
    group.uses.push_back({&op->getOpOperand(number), dim});
    group.values.push_back({loop.getCondition().getArgument(number), dim});
    group.values.push_back({loop.getBody().getArgument(number), dim});
    addYield(loop.getBody());
  } else if (auto branch = dyn_cast<IfOp>(op)) {
    addYield(branch.getThenRegion());
    addYield(branch.getElseRegion());
  } else {
    return std::nullopt;
  }
  return ifUnannotated(std::move(group));
}

} // namespace

std::optional<DimGroup> getGroup(DimOfValue dim) {
  if (auto argument = dyn_cast<BlockArgument>(dim.value)) {
    Operation *op = argument.getOwner()->getParentOp();
    bool isCounter = isa<ForOp>(op) && argument.getArgNumber() == 0;
    if (!isa<LoopLikeOpInterface>(op) || isCounter)
      return std::nullopt;
    return getGroupOfFlow(op, argument.getArgNumber() - (isa<ForOp>(op) ? 1 : 0), dim.dim);
  }
  Operation *op = dim.value.getDefiningOp();
  if (isa<ForOp, WhileOp, IfOp>(op))
    return getGroupOfFlow(op, cast<OpResult>(dim.value).getResultNumber(), dim.dim);
  return getGroupByRule(op, -1, dim.dim);
}

std::optional<DimGroup> getGroup(DimOfUse dim) {
  Operation *op = dim.use->getOwner();
  unsigned number = dim.use->getOperandNumber();
  if (isa<LoopLikeOpInterface>(op))
    return getGroupOfFlow(op, number, dim.dim);
  if (isa<YieldOp>(op)) {
    Operation *around = op->getParentOp();
    bool isBody =
        isa<ForOp, IfOp>(around) || (isa<WhileOp>(around) && op->getParentRegion() == &cast<WhileOp>(around).getBody());
    return isBody ? getGroupOfFlow(around, number, dim.dim) : std::nullopt;
  }
  return getGroupByRule(op, number, dim.dim);
}

} // namespace spmdc
