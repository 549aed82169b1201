//===- ExportManual.cpp - annotations and manual regions ------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "ir/spmd/ReplicatedAxes.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// A constraint without a sharding says nothing, unless it excludes axes.
Value constraint(Exporter &e, spmdc::ConstraintOp op) {
  Value x = e.get(op.getOperand());
  ArrayType type = typeOf(op.getResult());
  auto replicated = op->getAttrOfType<AxesAttr>(kReplicatedAxesAttrName);
  if (!e.mesh || (!type.getSharding() && !replicated))
    return x;
  auto sharding = sdy::TensorShardingAttr::get(e.b.getContext(), kExportedMesh, type.getShardingOrOpen(),
                                               replicated ? replicated.getAxes() : ArrayRef<AxisRefAttr>());
  return e.create<sdy::ShardingConstraintOp>(x.getType(), x, sharding);
}

LogicalResult shardingGroup(Exporter &e, spmdc::ShardingGroupOp op) {
  e.create<sdy::ShardingGroupOp>(e.get(op.getOperand()), op.getGroup());
  return success();
}

/// The sharding of an operand or result. One without dimensions that are sharded is closed where all axes are manual.
sdy::TensorShardingAttr signatureOf(Exporter &e, spmdc::ManualOp op, Type type) {
  auto array = llvm::cast<ArrayType>(type);
  if (array.getSharding() || op.hasAutomaticAxes())
    return e.shardingOf(array);
  return sdy::TensorShardingAttr::get(e.b.getContext(), kExportedMesh,
                                      ShardingAttr::getReplicated(e.b.getContext(), array.getRank()), {});
}

/// The body for the arguments in the region: its results are those of the terminator.
LogicalResult writeBody(Exporter &e, spmdc::ManualOp op, ValueRange arguments) {
  Block &body = op.getBlock();
  e.set(ValueRange(body.getArguments()), arguments);
  Location loc = e.loc;
  if (failed(e.write(body)))
    return failure();
  e.loc = loc;
  return success();
}

LogicalResult manual(Exporter &e, spmdc::ManualOp op) {
  MLIRContext *context = e.b.getContext();
  Operation *end = op.getBlock().getTerminator();
  if (isOfOneDevice(op)) { // As in JAX: XLA rejects a manual computation where it partitions nothing.
    if (failed(writeBody(e, op, e.get(op.getInputs()))))
      return failure();
    e.set(op.getResults(), e.get(end->getOperands()));
    return success();
  }
  auto shardingsOf = [&](TypeRange types) {
    return sdy::TensorShardingsAttr::get(
        context, llvm::map_to_vector(types, [&](Type type) { return signatureOf(e, op, type); }));
  };
  SmallVector<StringAttr> axes =
      llvm::map_to_vector(op.getOwnAxes(), [&](AxisRefAttr axis) { return StringAttr::get(context, axis.getName()); });
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResultTypes(), [](Type type) -> Type { return Exporter::typeOf(type); });
  auto made =
      e.create<sdy::ManualComputationOp>(types, e.get(op.getInputs()), shardingsOf(op.getInputs().getTypes()),
                                         shardingsOf(op->getResultTypes()), sdy::ManualAxesAttr::get(context, axes));
  OpBuilder::InsertionGuard guard(e.b);
  Block &block = made.getBody().emplaceBlock();
  for (BlockArgument argument : op.getBlock().getArguments())
    block.addArgument(Exporter::typeOf(argument), e.loc);
  e.b.setInsertionPointToStart(&block);
  if (failed(writeBody(e, op, ValueRange(block.getArguments()))))
    return failure();
  e.create<sdy::ReturnOp>(e.get(end->getOperands()));
  e.set(op.getResults(), made.getResults());
  return success();
}

} // namespace

bool isOfOneDevice(spmdc::ManualOp op) {
  spmd::MeshShape mesh = getMesh(op).toValue();
  return llvm::all_of(op.getOwnAxes(), [&](AxisRefAttr axis) { return axis.sizeIn(mesh) == 1; });
}

void addManualExports(ExportRules &rules) {
  rules.add<spmdc::ConstraintOp>(constraint);
  rules.addMany<spmdc::ManualOp>(manual);
  rules.addMany<spmdc::ShardingGroupOp>(shardingGroup);
}

} // namespace spmdc::stablehlo
