//===- ManualOp.cpp - per-device regions of a program ---------------------===//

#include "ir/spmd/DefinitionNotes.h"
#include "ir/spmd/SpmdOps.h"

using namespace mlir;

namespace spmdc {

static ArrayRef<DimShardingAttr> getDims(ArrayType type) {
  return type.getSharding() ? type.getSharding().getDims() : ArrayRef<DimShardingAttr>();
}

bool ManualOp::isManual(StringRef axis) {
  if (!getManual() || llvm::any_of(getManual()->getAxes(), [&](AxisRefAttr ref) { return ref.getName() == axis; }))
    return true;
  auto around = (*this)->getParentOfType<ManualOp>();
  return around && around.isManual(axis);
}

SmallVector<AxisRefAttr> ManualOp::getOwnAxes() {
  return llvm::to_vector(getManual() ? getManual()->getAxes() : getMesh(*this).getAxes());
}

bool ManualOp::hasAutomaticAxes() {
  return llvm::any_of(getMesh(*this).getAxes(), [&](AxisRefAttr axis) { return !isManual(axis.getName()); });
}

MeshAttr ManualOp::getManualMesh() {
  MeshAttr mesh = getMesh(*this);
  SmallVector<AxisRefAttr> axes(mesh.getAxes());
  llvm::erase_if(axes, [&](AxisRefAttr axis) { return !isManual(axis.getName()); });
  return MeshAttr::get(getContext(), mesh.getName(), axes);
}

/// The type's sharding with the axes that are manual, or with those that are not.
static ArrayType withAxes(ManualOp op, ArrayType type, bool areManual) {
  ShardingAttr sharding = type.getSharding();
  if (!sharding)
    return type;
  auto keep = [&](ArrayRef<AxisRefAttr> axes) {
    SmallVector<AxisRefAttr> kept(axes);
    llvm::erase_if(kept, [&](AxisRefAttr axis) { return op.isManual(axis.getName()) != areManual; });
    return kept;
  };
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.push_back(DimShardingAttr::get(op.getContext(), keep(dim.getAxes()), dim.getIsClosed(), dim.getPriority()));
  return type.withSharding(ShardingAttr::get(op.getContext(), dims, keep(sharding.getUnreduced())));
}

ArrayType ManualOp::getManualPart(ArrayType type) { return withAxes(*this, type, /*areManual=*/true); }

ArrayType ManualOp::getLocalType(ArrayType type) {
  ArrayType localType = getManualPart(type).getLocal(getMesh(*this));
  return hasAutomaticAxes() ? localType.withSharding(withAxes(*this, type, /*areManual=*/false).getSharding())
                            : localType;
}

ArrayType ManualOp::withLocalSharding(ArrayType type, ShardingAttr localType) {
  if (!localType)
    return getManualPart(type);
  SmallVector<DimShardingAttr> dims;
  for (auto [index, dim] : llvm::enumerate(localType.getDims())) {
    SmallVector<AxisRefAttr> axes;
    if (ArrayType part = getManualPart(type); part.getSharding())
      llvm::append_range(axes, part.getSharding().getDims()[index].getAxes());
    llvm::append_range(axes, dim.getAxes());
    dims.push_back(DimShardingAttr::get(getContext(), axes, dim.getIsClosed(), dim.getPriority()));
  }
  return type.withSharding(ShardingAttr::get(getContext(), dims, localType.getUnreduced()));
}

/// Verifies an operand or result: it is not unreduced, and the manual axes shard it evenly and come first in each
/// dimension, so its shards have no padding. If all axes are manual, its sharding is closed.
static LogicalResult verifySharded(ManualOp op, Type type, const Twine &what) {
  auto array = cast<ArrayType>(type);
  ShardingAttr sharding = array.getSharding();
  bool isClosed = sharding && llvm::all_of(sharding.getDims(), [](DimShardingAttr dim) { return dim.getIsClosed(); });
  if (!isClosed && array.getRank() > 0 && !op.hasAutomaticAxes())
    return op.emitOpError() << what << " is " << array.str() << "; its sharding must be closed";
  if (sharding && !sharding.getUnreduced().empty())
    return op.emitOpError() << what << " is " << array.str() << ", a partial sum";
  spmd::MeshShape mesh = getMesh(op).toValue();
  for (auto [index, dim] : llvm::enumerate(getDims(array))) {
    int64_t shardCount = 1;
    bool isBehind = false;
    for (AxisRefAttr axis : dim.getAxes()) {
      if (!op.isManual(axis.getName())) {
        isBehind = true;
        continue;
      }
      if (isBehind)
        return op.emitOpError() << what << " is " << array.str() << "; in dimension " << index << " the manual axis '"
                                << axis.getName() << "' comes after an automatic axis";
      shardCount *= axis.toValue().sizeIn(mesh);
    }
    if (array.getDimSize(index) % shardCount)
      return op.emitOpError() << what << " is " << array.str() << "; " << shardCount
                              << " shards do not divide dimension " << index;
  }
  return success();
}

/// Reports an error in the region of `around`, with a note where that region is. Returns failure.
static LogicalResult noteRegion(InFlightDiagnostic error, ManualOp around) {
  error.attachNote(around.getLoc()) << "the region around it is here";
  return error;
}

LogicalResult ManualOp::verify() {
  if (auto around = (*this)->getParentOfType<ManualOp>()) {
    if (!getManual())
      return noteRegion(emitOpError("is in a region that is manual along some axes, and does not name its own axes"),
                        around);
    for (AxisRefAttr axis : getManual()->getAxes())
      if (around.isManual(axis.getName()))
        return noteRegion(emitOpError() << "is over axis '" << axis.getName()
                                        << "', which is already manual in the region around it",
                          around);
  }
  if (std::optional<AxesAttr> manual = getManual()) {
    spmd::MeshShape mesh = getMesh(*this).toValue();
    for (const spmd::AxisRef &axis : manual->toValues()) {
      if (mesh.indexOf(axis.name) < 0)
        return emitOpError() << "is over axis '" << axis.name << "', which the mesh does not have";
      if (!axis.isFullAxis())
        return emitOpError() << "is over part of an axis, '" << axis.str() << "'";
    }
  }
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (failed(verifySharded(*this, input.getType(), "operand " + Twine(index))))
      return failure();
  for (auto [index, output] : llvm::enumerate(getOutputs()))
    if (failed(verifySharded(*this, output.getType(), "result " + Twine(index))))
      return failure();
  return success();
}

/// Within the region no array is sharded over a manual axis, and the user's collectives are over manual axes.
static LogicalResult verifyInside(ManualOp op) {
  auto verifyValue = [&](Operation *at, Value value) -> LogicalResult {
    auto type = dyn_cast<ArrayType>(value.getType());
    if (!type || !type.getSharding())
      return success();
    SmallVector<AxisRefAttr> axes(type.getSharding().getUnreduced());
    for (DimShardingAttr dim : type.getSharding().getDims())
      llvm::append_range(axes, dim.getAxes());
    for (AxisRefAttr axis : axes)
      if (op.isManual(axis.getName()))
        return noteRegion(
            at->emitOpError() << "has " << type.str() << " in a region where '" << axis.getName() << "' is manual", op);
    return success();
  };
  WalkResult walk = op.getBody().walk([&](Operation *inside) {
    for (Value result : inside->getResults())
      if (failed(verifyValue(inside, result)))
        return WalkResult::interrupt();
    for (Region &region : inside->getRegions())
      for (Value argument : region.getArguments())
        if (failed(verifyValue(inside, argument)))
          return WalkResult::interrupt();
    if (isa<CollectiveOpInterface, AxisIndexOp>(inside) && inside->getParentOfType<ManualOp>() == op)
      for (AxisRefAttr axis : inside->getAttrOfType<AxesAttr>("axes").getAxes())
        if (!op.isManual(axis.getName())) {
          return WalkResult(noteRegion(inside->emitOpError() << "is over '" << axis.getName()
                                                             << "', which is not manual in the region around it",
                                       op));
        }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (Value argument : op.getBlock().getArguments())
    if (failed(verifyValue(op, argument)))
      return failure();
  return success();
}

LogicalResult ManualOp::verifyRegions() {
  bool hasAutomatic = hasAutomaticAxes();
  // Along automatic axes, the shardings around the region and in it may still differ: the partitioner reshards.
  auto agree = [&](ArrayType localType, Type inside) {
    return hasAutomatic ? localType.withoutSharding() == cast<ArrayType>(inside).withoutSharding()
                        : localType == inside;
  };
  Block &block = getBlock();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " operands, its body takes " << block.getNumArguments();
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs()))
    if (ArrayType localType = getLocalType(cast<ArrayType>(input.getType())); !agree(localType, argument.getType()))
      return failWithDefinitions(emitOpError() << "body takes " << cast<ArrayType>(argument.getType()).str()
                                               << " for a shard " << localType.str(),
                                 {{argument, "the argument"}, {input, "the operand"}});
  auto yield = dyn_cast<ManualYieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != getNumResults())
    return emitOpError() << "body must yield one value for each of " << getNumResults() << " results";
  for (auto [value, output] : llvm::zip(yield.getValues(), getOutputs()))
    if (ArrayType localType = getLocalType(cast<ArrayType>(output.getType())); !agree(localType, value.getType()))
      return failWithDefinitions(emitOpError() << "body yields " << cast<ArrayType>(value.getType()).str()
                                               << " for a shard " << localType.str(),
                                 {{value, "the yielded value"}});
  return hasAutomatic ? verifyInside(*this) : success();
}

bool isPerDevice(Operation *op) {
  for (auto manual = op->getParentOfType<ManualOp>(); manual; manual = manual->getParentOfType<ManualOp>())
    if (!manual.hasAutomaticAxes())
      return true;
  return false;
}

spmd::MeshShape getAutomaticMesh(Operation *op) {
  spmd::MeshShape mesh = getMesh(op).toValue();
  for (auto manual = op->getParentOfType<ManualOp>(); manual; manual = manual->getParentOfType<ManualOp>())
    llvm::erase_if(mesh.axes, [&](const spmd::MeshAxis &axis) { return manual.isManual(axis.name); });
  return mesh;
}

} // namespace spmdc
