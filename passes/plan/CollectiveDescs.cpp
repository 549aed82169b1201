//===- CollectiveDescs.cpp - descriptions of collectives in a plan --------===//

#include "passes/plan/CollectiveDescs.h"

#include "ir/spmd/CollectiveBroadcast.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

static std::vector<int64_t> toVector(ArrayRef<int64_t> shape) { return {shape.begin(), shape.end()}; }

/// The two enumerations name the same reductions in the same order.
static spmd::ReductionKind toReduction(ReductionKind kind) {
  static_assert(static_cast<int>(ReductionKind::or_) == static_cast<int>(spmd::ReductionKind::Or));
  return static_cast<spmd::ReductionKind>(kind);
}

FailureOr<spmd::CollectiveDesc> describeCollective(CollectiveOpInterface op) {
  using Kind = spmd::CollectiveKind;
  spmd::CollectiveDesc desc;
  auto operand = cast<ArrayType>(op->getOperand(0).getType()), result = cast<ArrayType>(op->getResult(0).getType());
  desc.dtype = operand.getDType();
  desc.axes = op.getGroupAxes().toValues();
  desc.operandShape = toVector(operand.getShape());
  desc.resultShape = toVector(result.getShape());
  auto isDescribed = llvm::TypeSwitch<Operation *, bool>(op)
                         .Case([&](AllReduceOp reduce) {
                           desc.kind = Kind::AllReduce;
                           desc.reduction = toReduction(reduce.getKind());
                           return true;
                         })
                         .Case([&](AllGatherOp gather) {
                           desc.kind = Kind::AllGather;
                           desc.concatDim = static_cast<int32_t>(gather.getDim());
                           return true;
                         })
                         .Case([&](ReduceScatterOp scatter) {
                           desc.kind = Kind::ReduceScatter;
                           desc.reduction = toReduction(scatter.getKind());
                           desc.splitDim = static_cast<int32_t>(scatter.getDim());
                           return true;
                         })
                         .Case([&](AllToAllOp all) {
                           desc.kind = Kind::AllToAll;
                           desc.splitDim = static_cast<int32_t>(all.getSplit());
                           desc.concatDim = static_cast<int32_t>(all.getConcat());
                           return true;
                         })
                         .Case([&](CollectivePermuteOp permute) {
                           desc.kind = Kind::CollectivePermute;
                           ArrayRef<int64_t> pairs = permute.getPairs();
                           for (size_t i = 0; i + 1 < pairs.size(); i += 2)
                             desc.pairs.emplace_back(pairs[i], pairs[i + 1]);
                           return true;
                         })
                         .Case([&](CollectiveBroadcastOp) {
                           desc.kind = Kind::CollectiveBroadcast;
                           return true;
                         })
                         .Case([&](ExchangeOp exchange) {
                           desc.kind = Kind::Exchange;
                           auto source = cast<ArrayType>(exchange.getGlobal());
                           auto target = cast<ArrayType>(exchange.getTarget());
                           desc.globalShape = toVector(source.getShape());
                           desc.source = source.getShardingOrOpen().toValue();
                           desc.target = target.getShardingOrOpen().toValue();
                           desc.moves = exchange.getMoves();
                           if (!desc.moves.empty() || source.getShape() != target.getShape())
                             desc.targetShape = toVector(target.getShape());
                           return true;
                         })
                         .Default([](Operation *) { return false; });
  if (!isDescribed)
    return op->emitOpError("is not a collective that a plan can hold"), failure();
  return desc;
}

} // namespace spmdc
