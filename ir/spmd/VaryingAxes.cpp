//===- VaryingAxes.cpp - over which axes a per-device value differs -------===//

#include "ir/spmd/VaryingAxes.h"

using namespace mlir;

namespace spmdc {

VaryingAxes::VaryingAxes(Block &block, ArrayRef<Axes> arguments) {
  for (auto [argument, axes] : llvm::zip(block.getArguments(), arguments))
    join(argument, axes);
  visit(block);
}

static SmallVector<VaryingAxes::Axes> cuttingOperands(ManualOp op) {
  SmallVector<VaryingAxes::Axes> result;
  for (Value input : op.getInputs())
    result.push_back(VaryingAxes::getCutting(cast<ArrayType>(input.getType())));
  return result;
}

VaryingAxes::VaryingAxes(ManualOp op) : VaryingAxes(op.getBlock(), cuttingOperands(op)) {}

VaryingAxes::Axes VaryingAxes::getCutting(ArrayType type) {
  Axes axes;
  for (DimShardingAttr dim : type.getShardingOrOpen().getDims())
    for (AxisRefAttr axis : dim.getAxes())
      axes.insert(axis.getName().str());
  return axes;
}

const VaryingAxes::Axes &VaryingAxes::of(Value value) const {
  static const Axes none;
  auto known = varying.find(value);
  return known == varying.end() ? none : known->second;
}

void VaryingAxes::join(Value value, const Axes &axes) {
  Axes &known = varying[value];
  size_t before = known.size();
  known.insert(axes.begin(), axes.end());
  hasChanged |= known.size() != before;
}

void VaryingAxes::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

void VaryingAxes::visit(Operation *op) {
  if (op->getNumRegions())
    return visitRegions(op);
  Axes axes;
  for (Value operand : op->getOperands())
    axes.insert(of(operand).begin(), of(operand).end());
  AxesAttr named = op->getAttrOfType<AxesAttr>("axes");
  for (AxisRefAttr axis : named ? named.getAxes() : ArrayRef<AxisRefAttr>()) {
    if (isa<AllReduceOp, AllGatherOp>(op))
      axes.erase(axis.getName().str());
    else
      axes.insert(axis.getName().str());
  }
  for (Value result : op->getResults())
    join(result, axes);
}

/// A loop carries what its body yields around, and a branch's results vary as its condition does: whatever enters or
/// leaves a region meets in one set, until nothing changes.
void VaryingAxes::visitRegions(Operation *op) {
  bool changedOutside = hasChanged;
  do {
    hasChanged = false;
    Axes axes;
    auto add = [&](Value value) { axes.insert(of(value).begin(), of(value).end()); };
    llvm::for_each(op->getOperands(), add);
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        visit(block);
        if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
          llvm::for_each(block.back().getOperands(), add);
      }
    for (Value result : op->getResults())
      join(result, axes);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        join(argument, axes);
    changedOutside |= hasChanged;
  } while (hasChanged);
  hasChanged = changedOutside;
}

} // namespace spmdc
