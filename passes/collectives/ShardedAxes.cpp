//===- ShardedAxes.cpp - axes along which data differs --------------------===//

#include "passes/collectives/ShardedAxes.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/CollectiveBroadcast.h"

using namespace mlir;

namespace spmdc {
namespace {

using Axes = std::set<std::string>;

void addFullAxes(Axes &axes, ArrayRef<AxisRefAttr> refs) {
  for (AxisRefAttr axis : refs)
    if (axis.isFullAxis())
      axes.insert(axis.getName().str());
}

Axes fullAxesOf(ArrayType global) {
  Axes axes;
  ShardingAttr sharding = global.getShardingOrOpen();
  for (DimShardingAttr dim : sharding.getDims())
    addFullAxes(axes, dim.getAxes());
  addFullAxes(axes, sharding.getUnreduced());
  return axes;
}

} // namespace

ShardedAxes::ShardedAxes(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (auto global = func.getArgAttrOfType<TypeAttr>(argument.getArgNumber(), kGlobalTypeAttrName))
      axesByValue[argument] = fullAxesOf(cast<ArrayType>(global.getValue()));
  for (Block &block : func.getBody())
    visit(block);
}

const ShardedAxes::Axes &ShardedAxes::of(Value value) const {
  static const Axes none;
  auto known = axesByValue.find(value);
  return known == axesByValue.end() ? none : known->second;
}

bool ShardedAxes::isShardedOver(Value value, AxesAttr axes) const {
  return llvm::all_of(axes.getAxes(), [&](AxisRefAttr axis) { return of(value).count(axis.getName().str()) > 0; });
}

void ShardedAxes::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

/// A carry has the axes of its init in all iterations; the result of an if has those that either branch yields.
void ShardedAxes::visitRegions(Operation *op) {
  bool isLoop = isa<LoopLikeOpInterface>(op);
  for (Region &region : op->getRegions()) {
    if (isLoop)
      for (auto [argument, init] : llvm::zip(region.getArguments().take_back(op->getNumOperands()), op->getOperands()))
        axesByValue[argument] = Axes(of(init));
    visit(region.front());
  }
  for (OpResult result : op->getResults()) {
    Axes axes;
    if (isLoop)
      axes = of(op->getOperand(result.getResultNumber()));
    else
      for (Region &region : op->getRegions()) {
        const Axes &branch = of(region.front().getTerminator()->getOperand(result.getResultNumber()));
        axes.insert(branch.begin(), branch.end());
      }
    axesByValue[result] = std::move(axes);
  }
}

void ShardedAxes::visit(Operation *op) {
  if (isa<ForOp, WhileOp, IfOp>(op))
    return visitRegions(op);
  Axes axes;
  for (Value operand : op->getOperands())
    axes.insert(of(operand).begin(), of(operand).end());
  if (auto exchange = dyn_cast<ExchangeOp>(op)) {
    axes = fullAxesOf(cast<ArrayType>(exchange.getTarget()));
  } else if (isa<AllReduceOp, AllGatherOp, CollectivePermuteOp, CollectiveBroadcastOp>(op)) {
    for (AxisRefAttr axis : cast<CollectiveOpInterface>(op).getGroupAxes().getAxes())
      axes.erase(axis.getName().str());
  } else if (auto named = op->getAttrOfType<AxesAttr>("axes")) {
    addFullAxes(axes, named.getAxes());
  }
  for (Value result : op->getResults())
    axesByValue[result] = axes;
}

} // namespace spmdc
