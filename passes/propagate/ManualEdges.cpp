//===- ManualEdges.cpp - what goes over the border of a manual region ------===//
//
// A region that is manual along some axes: around it an array is cut by these as it is written, and in it by none of
// them. Along the others shardings go in and out.
//
//===----------------------------------------------------------------------===//

#include "passes/propagate/PropagationState.h"

using namespace mlir;

namespace spmdc {

/// The slots of arrays around a region and in it, which its axes are kept from. Fails where something else is written
/// about an array around it.
LogicalResult PropagationState::excludeManualAxes(func::FuncOp func) {
  WalkResult walk = func.walk([&](ManualOp manual) {
    if (!manual.hasAutomaticAxes())
      return WalkResult::advance();
    AxisList axes = mesh.getParts(manual.getManualMesh().getAxes());
    auto excludeFrom = [&](Slot &slot) {
      for (const AxisPart &axis : axes)
        if (!llvm::is_contained(slot.excluded, axis))
          slot.excluded.push_back(axis);
    };
    auto exclude = [&](ValueRange values) {
      for (Value value : values)
        if (auto slot = slotOf.find(value); slot != slotOf.end())
          excludeFrom(slots[slot->second]);
    };
    exclude(manual.getBlock().getArguments());
    manual.getBody().walk([&](Operation *op) {
      exclude(op->getResults());
      for (Region &region : op->getRegions())
        exclude(region.getArguments());
    });
    SmallVector<Value> around(manual.getInputs());
    llvm::append_range(around, manual.getOutputs());
    for (Value value : around) {
      auto slotNumber = slotOf.find(value);
      if (slotNumber == slotOf.end())
        continue;
      Slot &slot = slots[slotNumber->second];
      auto type = cast<ArrayType>(value.getType());
      ArrayType part = manual.getManualPart(type);
      ArrayType written = manual.getManualPart(type.withSharding(slot.annotation));
      if (!part.getShardingOrOpen().hasSameAxes(written.getShardingOrOpen())) {
        manual.emitError() << "an array at the border of 'shard_map' is " << part.str()
                           << " along the axes that are manual, and is annotated " << written.str();
        return WalkResult::interrupt();
      }
      excludeFrom(slot);
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// What goes over the border of a manual region: a dimension outside is a factor of the pieces along the manual axes,
/// and one of what is in a piece, which both sides share.
void PropagationState::addManualEdges(ManualOp manual) {
  if (!manual.hasAutomaticAxes())
    return;
  auto add = [&](Value outside, Value inside, bool isIn) {
    ShardingRule rule;
    ValueFactors whole, piece;
    ShardingAttr written = manual.getManualPart(cast<ArrayType>(outside.getType())).getShardingOrOpen();
    ArrayRef<int64_t> pieceShape = cast<ArrayType>(inside.getType()).getShape();
    for (auto [size, dim] : llvm::zip(pieceShape, written.getDims())) {
      DimFactors factors;
      if (!dim.empty())
        factors.push_back(rule.addFactor(totalSize(mesh.getParts(dim.getAxes())), FactorKind::Place));
      piece.push_back({rule.addFactor(size)});
      factors.push_back(piece.back()[0]);
      whole.push_back(factors);
    }
    rule.operands = {isIn ? whole : piece};
    rule.results = {isIn ? piece : whole};
    if (!pieceShape.empty())
      addOp(manual, std::move(rule), /*isEdge=*/true, {isIn ? outside : inside, isIn ? inside : outside});
  };
  for (auto [input, argument] : llvm::zip(manual.getInputs(), manual.getBlock().getArguments()))
    add(input, argument, /*isIn=*/true);
  for (auto [yielded, output] : llvm::zip(manual.getBlock().getTerminator()->getOperands(), manual.getOutputs()))
    add(output, yielded, /*isIn=*/false);
}

} // namespace spmdc
