//===- PerDeviceRules.cpp - collectives that a person wrote, on parts of arrays --===//
//
// In a region that is manual along some axes, arrays may be cut over the others. A collective along a manual axis then
// runs on a part: each group along the manual axis is between devices of the same place along the others. A dimension
// in which pieces of manual axes are joined or cut is whole along the others, since its parts would not be one range of
// elements afterwards.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/SpmdOps.h"

namespace spmdc {

/// Element-wise, but for some dimensions, which must be whole.
static ShardingRule wholeAlong(ArrayType operand, ArrayType result, llvm::ArrayRef<uint64_t> whole) {
  ShardingRule rule;
  ValueFactors before, after;
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    bool isWhole = llvm::is_contained(whole, dim);
    before.push_back({rule.addFactor(size, isWhole ? FactorKind::NeedReplication : FactorKind::PassThrough)});
    after.push_back(isWhole ? DimFactors{rule.addFactor(result.getDimSize(dim), FactorKind::NeedReplication)}
                            : before.back());
  }
  rule.operands = {before};
  rule.results = {after};
  return rule;
}

ShardingRule AllReduceOp::getShardingRule() { return ShardingRule::elementwise(getType().getShape(), 1); }

ShardingRule CollectivePermuteOp::getShardingRule() { return ShardingRule::elementwise(getType().getShape(), 1); }

ShardingRule AllGatherOp::getShardingRule() { return wholeAlong(getOperand().getType(), getType(), {getDim()}); }

ShardingRule AllSliceOp::getShardingRule() { return wholeAlong(getOperand().getType(), getType(), {getDim()}); }

ShardingRule ReduceScatterOp::getShardingRule() { return wholeAlong(getOperand().getType(), getType(), {getDim()}); }

ShardingRule AllToAllOp::getShardingRule() {
  return wholeAlong(getOperand().getType(), getType(), {getSplit(), getConcat()});
}

ShardingRule AxisIndexOp::getShardingRule() { return ShardingRule::elementwise({}, 0); }

} // namespace spmdc
