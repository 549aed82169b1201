//===- VaryingAxes.cpp - axes over which a value varies -------------------===//

#include "ir/spmd/VaryingAxes.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/CollectiveBroadcast.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace spmdc {

VaryingAxes::VaryingAxes(Block &block, ArrayRef<Axes> arguments) {
  for (auto [argument, axes] : llvm::zip(block.getArguments(), arguments))
    join(argument, axes);
  visit(block);
}

/// The axes over which a region's operands are sharded, without automatic axes.
static SmallVector<VaryingAxes::Axes> shardingAxesOfOperands(ManualOp op) {
  SmallVector<VaryingAxes::Axes> result;
  for (Value input : op.getInputs())
    result.push_back(VaryingAxes::getShardingAxes(op.getManualPart(cast<ArrayType>(input.getType()))));
  return result;
}

VaryingAxes::VaryingAxes(ManualOp op) : VaryingAxes(op.getBlock(), shardingAxesOfOperands(op)) {}

VaryingAxes::Axes VaryingAxes::getShardingAxes(ArrayType type) {
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

static VaryingAxes::Axes ownAxes(ManualOp op) {
  VaryingAxes::Axes axes;
  for (AxisRefAttr axis : op.getOwnAxes())
    axes.insert(axis.getName().str());
  return axes;
}

/// The own axes of `op` and of all manual regions between it and `region`.
static VaryingAxes::Axes ownAxesWithin(Operation *op, Region *region) {
  VaryingAxes::Axes axes;
  for (Operation *around = region->getParentOp(); around; around = around->getParentOp()) {
    if (auto manual = dyn_cast<ManualOp>(around))
      axes.merge(ownAxes(manual));
    if (around == op)
      break;
  }
  return axes;
}

VaryingAxes::Axes VaryingAxes::ofAll(Operation *op) const {
  Axes all;
  op->walk([&](Operation *inside) {
    Axes within = inside == op ? Axes() : ownAxesWithin(op, inside->getParentRegion());
    for (ValueRange values : {ValueRange(inside->getOperands()), ValueRange(inside->getResults())})
      for (Value value : values)
        llvm::copy_if(of(value), std::inserter(all, all.end()),
                      [&](const std::string &axis) { return !within.count(axis); });
  });
  return all;
}

void VaryingAxes::setInside(Operation *op, const Axes &axes) {
  auto set = [&](Value value, Region *region) {
    Axes now = axes;
    for (const std::string &axis : ownAxesWithin(op, region))
      if (of(value).count(axis))
        now.insert(axis);
    varying[value] = std::move(now);
  };
  op->walk([&](Operation *inside) {
    if (inside != op)
      for (Value result : inside->getResults())
        set(result, inside->getParentRegion());
    for (Region &region : inside->getRegions())
      for (Value argument : region.getArguments())
        set(argument, &region);
  });
}

void VaryingAxes::widen(Block &block, const Axes &axes) {
  for (Value argument : block.getArguments())
    join(argument, axes);
  visit(block);
}

void VaryingAxes::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

static bool unites(Operation *op) { return isa<AllReduceOp, AllGatherOp, CollectiveBroadcastOp>(op); }

static ArrayRef<AxisRefAttr> namedAxes(Operation *op) {
  auto axes = op->getAttrOfType<AxesAttr>("axes");
  return axes ? axes.getAxes() : ArrayRef<AxisRefAttr>();
}

VaryingAxes::Axes VaryingAxes::ofOperands(Operation *op) const {
  Axes axes;
  for (Value result : op->getResults())
    axes.insert(of(result).begin(), of(result).end());
  for (AxisRefAttr axis : namedAxes(op))
    axes.insert(axis.getName().str());
  return axes;
}

void VaryingAxes::visit(Operation *op) {
  if (op->getNumRegions())
    return visitRegions(op);
  Axes axes;
  for (Value operand : op->getOperands())
    axes.insert(of(operand).begin(), of(operand).end());
  for (AxisRefAttr axis : namedAxes(op)) {
    // Devices of different groups along a part of an axis have different results.
    if (unites(op) && axis.isFullAxis())
      axes.erase(axis.getName().str());
    else
      axes.insert(axis.getName().str());
  }
  axes.insert(context.begin(), context.end());
  for (Value result : op->getResults())
    join(result, axes);
}

/// The operands of the terminator, if the block has one already.
static ValueRange yieldedBy(Block &block) {
  return !block.empty() && block.back().hasTrait<OpTrait::IsTerminator>() ? ValueRange(block.back().getOperands())
                                                                          : ValueRange();
}

static VaryingAxes::Axes without(VaryingAxes::Axes axes, const VaryingAxes::Axes &others) {
  for (const std::string &axis : others)
    axes.erase(axis);
  return axes;
}

/// A carry varies over the axes of its init and of the yielded value: iterates to a fixed point.
void VaryingAxes::visitRegions(Operation *op) {
  bool changedOutside = hasChanged;
  do {
    hasChanged = false;
    llvm::SaveAndRestore<Axes> saved(context);
    if (auto branch = dyn_cast<IfOp>(op))
      context.insert(of(branch.getPredicate()).begin(), of(branch.getPredicate()).end());
    if (auto loop = dyn_cast<WhileOp>(op))
      for (Value condition : yieldedBy(loop.getCondition().front()))
        context.insert(of(condition).begin(), of(condition).end());
    for (Region &region : op->getRegions()) {
      auto arguments = region.getArguments();
      size_t carried = std::min(arguments.size(), op->getOperands().size());
      for (auto [argument, operand] : llvm::zip(arguments.take_back(carried), op->getOperands().take_back(carried))) {
        join(argument, context);
        join(argument, of(operand));
      }
      for (Block &block : region)
        visit(block);
    }
    for (Value result : op->getResults())
      join(result, context);
    if (auto manual = dyn_cast<ManualOp>(op)) {
      for (auto [argument, axes] : llvm::zip(manual.getBlock().getArguments(), shardingAxesOfOperands(manual)))
        join(argument, axes);
      Axes own = ownAxes(manual);
      for (auto [result, yielded] : llvm::zip(op->getResults(), yieldedBy(manual.getBlock())))
        join(result, without(of(yielded), own));
    } else if (isa<GradientOp>(op)) {
      Axes all = ofAll(op);
      for (Value result : op->getResults())
        join(result, all);
    } else {
      bool isLoop = isa<ForOp, WhileOp>(op);
      for (Region &region : op->getRegions()) {
        bool isCondition = isa<WhileOp>(op) && &region != &op->getRegions().back();
        if (isCondition)
          continue;
        for (auto [result, yielded] : llvm::zip(op->getResults(), yieldedBy(region.front())))
          join(result, of(yielded));
      }
      // A carry is the init or a yielded value.
      for (Region &region : isLoop ? op->getRegions() : MutableArrayRef<Region>())
        for (auto [argument, init, result] :
             llvm::zip(region.getArguments().take_back(op->getNumResults()), op->getOperands(), op->getResults())) {
          join(result, of(init));
          join(argument, of(result));
        }
    }
    changedOutside |= hasChanged;
  } while (hasChanged);
  hasChanged = changedOutside;
}

std::optional<DividedCollective> findDividedCollective(Block &block, const VaryingAxes &varying) {
  std::optional<DividedCollective> found;
  block.walk<WalkOrder::PreOrder>([&](CollectiveOpInterface collective) {
    for (Operation *around = collective->getParentOp(); around && around != block.getParentOp();
         around = around->getParentOp()) {
      Value condition;
      if (auto branch = dyn_cast<IfOp>(around))
        condition = branch.getPredicate();
      else if (auto loop = dyn_cast<WhileOp>(around))
        condition = loop.getCondition().front().getTerminator()->getOperand(0);
      if (!condition)
        continue;
      VaryingAxes::Axes divided;
      for (AxisRefAttr axis : collective.getGroupAxes().getAxes())
        if (varying.of(condition).count(axis.getName().str()))
          divided.insert(axis.getName().str());
      if (!divided.empty()) {
        found = {collective, around, divided};
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return found;
}

} // namespace spmdc
