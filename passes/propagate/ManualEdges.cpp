//===- ManualEdges.cpp - propagation into and out of manual regions -------===//
//
// In a region that is manual along some axes, arrays have shardings over the other (automatic) axes only. Outside, the
// operands and results are sharded over the manual axes as `in` and `out` say. Shardings over automatic axes propagate
// in both directions between the outer array and the argument or yielded value inside.
//
//===----------------------------------------------------------------------===//

#include "passes/propagate/PropagationState.h"

using namespace mlir;

namespace spmdc {

/// Excludes the manual axes of each region from the slots of its operands, results and inner values. Fails if an
/// operand or result has an annotation that contradicts `in` or `out`.
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
        InFlightDiagnostic error = manual.emitError()
                                   << "'shard_map' takes or returns an array as " << part.str()
                                   << " over its manual axes, but the array is annotated " << written.str();
        error.attachNote(slot.annotationLoc) << "the array is annotated here";
        return WalkResult::interrupt();
      }
      excludeFrom(slot);
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Adds the edges between a manual region and its surroundings. A dimension outside has two factors: one for the shards
/// over the manual axes, and one for the elements within a shard, which is the factor of the dimension inside, too.
void PropagationState::addManualEdges(ManualOp manual) {
  if (!manual.hasAutomaticAxes())
    return;
  auto add = [&](Value outside, Value inside, bool isIn) {
    ShardingRule rule;
    ValueFactors outerFactors, innerFactors;
    ShardingAttr written = manual.getManualPart(cast<ArrayType>(outside.getType())).getShardingOrOpen();
    ArrayRef<int64_t> innerShape = cast<ArrayType>(inside.getType()).getShape();
    for (auto [size, dim] : llvm::zip(innerShape, written.getDims())) {
      DimFactors factors;
      if (!dim.empty())
        factors.push_back(rule.addFactor(totalSize(mesh.getParts(dim.getAxes())), FactorKind::ManualShards));
      innerFactors.push_back({rule.addFactor(size)});
      factors.push_back(innerFactors.back()[0]);
      outerFactors.push_back(factors);
    }
    rule.operands = {isIn ? outerFactors : innerFactors};
    rule.results = {isIn ? innerFactors : outerFactors};
    if (!innerShape.empty())
      addOp(manual, std::move(rule), /*isEdge=*/true, {isIn ? outside : inside, isIn ? inside : outside});
  };
  for (auto [input, argument] : llvm::zip(manual.getInputs(), manual.getBlock().getArguments()))
    add(input, argument, /*isIn=*/true);
  for (auto [yielded, output] : llvm::zip(manual.getBlock().getTerminator()->getOperands(), manual.getOutputs()))
    add(output, yielded, /*isIn=*/false);
}

} // namespace spmdc
