//===- Rematerialization.cpp - rematerializable values --------------------===//

#include "passes/sharding/Rematerialization.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/sharding/FactorAxes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The most operations, counted as a tree, that compute a rematerializable value. Larger trees (random numbers) are
/// expensive to compute, and each part of the tree is priced separately.
constexpr int kSmallTree = 16;

/// The value before any reshards of it, except reductions.
Value getOrigin(Value value) {
  for (ReshardOp reshard; (reshard = value.getDefiningOp<ReshardOp>());) {
    if (!reshard.getOperand().getType().getShardingOrOpen().getUnreduced().empty())
      break;
    value = reshard.getOperand();
  }
  return value;
}

/// Whether the operation generates any part of its result without operands (a splat, an iota). Other constants exist
/// only in full size.
bool isGenerator(ShardingRuleOpInterface op) {
  return op->getNumOperands() == 0 && llvm::all_of(op.getShardingRule().factors, [](const Factor &factor) {
           return factor.kind == FactorKind::PassThrough;
         });
}

/// Whether a value is rematerializable with at most `operationsLeft` operations; counts these down.
bool isSmallTree(Value origin, int &operationsLeft) {
  Operation *op = origin.getDefiningOp();
  if (!op)
    return false;
  bool isBroadcast = isa<BroadcastInDimOp>(op);
  if (!isBroadcast && !isa<ElementwiseOpInterface>(op)) { // Those two are pure.
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    return ruled && isPure(op) && --operationsLeft >= 0 && op->getNumOperands() == 0 && isGenerator(ruled);
  }
  return --operationsLeft >= 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
    // Scalars are replicated, so they are available.
    if (cast<ArrayType>(operand.getType()).getRank() == 0)
      return true;
    // The operand of a broadcast may be any array, but operations that rematerialize it are counted, too.
    return isSmallTree(getOrigin(operand), operationsLeft) || (isBroadcast && operationsLeft >= 0);
  });
}

/// Whether the operation is element-wise with one array besides rematerializable values, or a reshape of one array.
bool isOfOneArray(Operation *op) {
  llvm::SmallPtrSet<Value, 2> arrays;
  if (!isa<ElementwiseOpInterface, ReshapeOp>(op) || !isPure(op))
    return false;
  for (Value operand : op->getOperands())
    if (cast<ArrayType>(operand.getType()).getRank() > 0 && !isRematerializable(operand))
      arrays.insert(operand);
  return arrays.size() == 1;
}

} // namespace

bool isRematerializable(Value value) {
  int operationsLeft = kSmallTree;
  return isSmallTree(getOrigin(value), operationsLeft);
}

bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isSplat())
    return false;
  return isa<FloatType>(constant.getValue().getElementType()) ? constant.getValue().getSplatValue<APFloat>().isZero()
                                                              : constant.getValue().getSplatValue<APInt>().isZero();
}

ShardingRuleOpInterface findRematerializableOp(Value value) {
  if (isRematerializable(value))
    return getOrigin(value).getDefiningOp<ShardingRuleOpInterface>();
  auto definingOp = value.getDefiningOp<ShardingRuleOpInterface>();
  return definingOp && isOfOneArray(definingOp) ? definingOp : ShardingRuleOpInterface();
}

std::optional<SmallVector<ArrayType>> listOperandTypes(const spmd::MeshShape &mesh, ShardingRuleOpInterface definingOp,
                                                       ArrayType wanted) {
  ShardingRule rule = definingOp.getShardingRule();
  spmd::Sharding sharding = wanted.getShardingOrOpen().toValue();
  FactorAxes axes = projectToFactors(mesh, rule, rule.results[0], sharding);
  std::optional<spmd::Sharding> made = shardingOf(mesh, rule, rule.results[0], axes);
  if (!made || made->dims != sharding.dims)
    return std::nullopt;
  SmallVector<ArrayType> types;
  for (auto [operand, factors] : llvm::zip(definingOp->getOperands(), rule.operands)) {
    std::optional<spmd::Sharding> needed = shardingOf(mesh, rule, factors, axes);
    if (!needed)
      return std::nullopt;
    types.push_back(
        cast<ArrayType>(operand.getType()).withSharding(ShardingAttr::fromValue(definingOp->getContext(), *needed)));
  }
  return types;
}

std::optional<SmallVector<ShardingPair>> listReshardsToRematerialize(const spmd::MeshShape &mesh, Value value,
                                                                     ArrayType wanted) {
  auto type = cast<ArrayType>(value.getType());
  if (type.getShardingOrOpen().hasSameAxes(wanted.getShardingOrOpen()))
    return SmallVector<ShardingPair>();
  if (!type.getShardingOrOpen().getUnreduced().empty() || !isRematerializable(value))
    return std::nullopt;
  auto definingOp = getOrigin(value).getDefiningOp<ShardingRuleOpInterface>();
  std::optional<SmallVector<ArrayType>> types = listOperandTypes(mesh, definingOp, wanted);
  if (!types)
    return std::nullopt;
  SmallVector<ShardingPair> moves;
  for (auto [operand, needed] : llvm::zip_equal(definingOp->getOperands(), *types)) {
    if (std::optional<SmallVector<ShardingPair>> ofOperand = listReshardsToRematerialize(mesh, operand, needed))
      moves.append(*ofOperand);
    else // The operand of a broadcast.
      moves.push_back({cast<ArrayType>(operand.getType()), needed});
  }
  return moves;
}

Value rematerialize(OpBuilder &builder, const spmd::MeshShape &mesh, Value value, ArrayType wanted) {
  auto type = cast<ArrayType>(value.getType());
  if (type.getShardingOrOpen().hasSameAxes(wanted.getShardingOrOpen()))
    return value;
  auto definingOp = getOrigin(value).getDefiningOp<ShardingRuleOpInterface>();
  SmallVector<ArrayType> types = *listOperandTypes(mesh, definingOp, wanted);
  IRMapping operands;
  for (auto [index, operand, needed] : llvm::enumerate(definingOp->getOperands(), types)) {
    if (listReshardsToRematerialize(mesh, operand, needed)) {
      operands.map(operand, rematerialize(builder, mesh, operand, needed));
      continue;
    }
    std::string why = ("operand " + Twine(index) + " of " + definingOp->getName().stripDialect() + " is " +
                       cast<ArrayType>(operand.getType()).str() + "; for use with partial sums it is " + needed.str())
                          .str();
    operands.map(
        operand,
        builder.create<ReshardOp>(getUnannotatedLoc(definingOp.getLoc()), needed, operand, builder.getStringAttr(why))
            .getResult());
  }
  Operation *made = builder.clone(*definingOp, operands);
  made->getResult(0).setType(wanted);
  return made->getResult(0);
}

} // namespace spmdc
