//===- PerDeviceRules.cpp - sharding rules of user's collectives ----------===//
//
// In a region that is manual along some axes, arrays may be sharded over the others. A collective along a manual axis
// then runs on shards: each group along the manual axis has devices with the same coordinates along the others. A
// dimension in which the collective concatenates or splits shards of manual axes is replicated along the other axes,
// since its shards would not be one range of elements afterwards.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/CollectiveBroadcast.h"

namespace spmdc {

/// An element-wise rule with some dimensions that must be replicated.
static ShardingRule replicatedAlong(ArrayType operand, ArrayType result, llvm::ArrayRef<uint64_t> whole) {
  ShardingRule rule;
  ValueFactors before, after;
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    bool mustReplicate = llvm::is_contained(whole, dim);
    before.push_back({rule.addFactor(size, mustReplicate ? FactorKind::NeedReplication : FactorKind::PassThrough)});
    after.push_back(mustReplicate ? DimFactors{rule.addFactor(result.getDimSize(dim), FactorKind::NeedReplication)}
                                  : before.back());
  }
  rule.operands = {before};
  rule.results = {after};
  return rule;
}

ShardingRule AllReduceOp::getShardingRule() { return ShardingRule::elementwise(getType().getShape(), 1); }

ShardingRule CollectivePermuteOp::getShardingRule() { return ShardingRule::elementwise(getType().getShape(), 1); }

ShardingRule CollectiveBroadcastOp::getShardingRule() {
  ShardingRule rule = ShardingRule::elementwise(getType().getShape(), 1);
  rule.operands.emplace_back(); // The root, a scalar.
  return rule;
}

ShardingRule AllGatherOp::getShardingRule() { return replicatedAlong(getOperand().getType(), getType(), {getDim()}); }

ShardingRule AllSliceOp::getShardingRule() { return replicatedAlong(getOperand().getType(), getType(), {getDim()}); }

ShardingRule ReduceScatterOp::getShardingRule() {
  return replicatedAlong(getOperand().getType(), getType(), {getDim()});
}

ShardingRule AllToAllOp::getShardingRule() {
  return replicatedAlong(getOperand().getType(), getType(), {getSplit(), getConcat()});
}

ShardingRule AxisIndexOp::getShardingRule() { return ShardingRule::elementwise({}, 0); }

} // namespace spmdc
