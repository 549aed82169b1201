//===- Shardings.cpp - Shardy's shardings as annotations ------------------===//

#include "frontend/stablehlo/Translation.h"

#include "ir/spmd/ReplicatedAxes.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The axes of the module's mesh that a sharding of the mesh `of` means by `named`. Fails with a message.
LogicalResult appendAxes(Translation &t, Operation *op, StringRef of, ArrayRef<AxisRefAttr> named,
                         SmallVectorImpl<AxisRefAttr> &axes) {
  for (AxisRefAttr name : named) {
    FailureOr<SmallVector<AxisRefAttr>> parts = t.meshes.find(of, name);
    if (failed(parts))
      return refuse(op, "names " + name.str() + " of '" + of +
                            "', a second mesh, which lacks it or divides it otherwise than the first one");
    for (AxisRefAttr axis : *parts) {
      auto known = llvm::find_if(t.mesh.axes, [&](const spmd::MeshAxis &own) { return own.name == axis.getName(); });
      if (known == t.mesh.axes.end())
        return refuse(op, "names the axis '" + axis.getName() + "', which the mesh does not have");
      // Divided one after the other, since their product may overflow.
      if (!axis.isFullAxis() && (known->size % axis.getPreSize() || known->size / axis.getPreSize() % axis.getSize()))
        return refuse(op, "names the part " + axis.str() + " of an axis of size " + Twine(known->size));
    }
    llvm::append_range(axes, *parts);
  }
  return success();
}

} // namespace

FailureOr<ReadSharding> Translation::readSharding(Operation *op, sdy::TensorShardingAttr annotation,
                                                  ArrayRef<int64_t> shape) {
  ShardingAttr sharding = annotation.getSharding();
  if (sharding.getRank() != static_cast<int64_t>(shape.size()))
    return refuse(op, "has a sharding of ") << sharding.getRank() << " dimensions for an array of " << shape.size();
  ReadSharding read;
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims()) {
    SmallVector<AxisRefAttr> axes;
    if (failed(appendAxes(*this, op, annotation.getMesh(), dim.getAxes(), axes)))
      return failure();
    dims.push_back(DimShardingAttr::get(b.getContext(), axes, dim.getIsClosed(), dim.getPriority()));
  }
  SmallVector<AxisRefAttr> replicated;
  if (failed(appendAxes(*this, op, annotation.getMesh(), annotation.getReplicated(), replicated)) ||
      failed(appendAxes(*this, op, annotation.getMesh(), sharding.getUnreduced(), read.unreduced)))
    return failure();
  read.sharding = ShardingAttr::get(b.getContext(), dims, {});
  // A closed dimension takes no axis anyway, and inside of a region its own axes shard nothing.
  llvm::erase_if(replicated, [&](AxisRefAttr axis) { return llvm::is_contained(manualAxes, axis.getName()); });
  if (!replicated.empty() && llvm::any_of(dims, [](DimShardingAttr dim) { return !dim.getIsClosed(); }))
    read.replicated = AxesAttr::get(b.getContext(), replicated);
  return read;
}

Value Translation::constrain(Value array, ShardingAttr sharding, AxesAttr replicated) {
  ArrayType type = plainTypeOf(array).withSharding(sharding);
  // A type drops a sharding that says nothing.
  return type.getSharding() || replicated ? constrain(array, type, replicated) : array;
}

Value Translation::constrain(Value array, ArrayType type, AxesAttr replicated) {
  auto constraint = create<ConstraintOp>(type, array, false);
  if (replicated)
    constraint->setAttr(kReplicatedAxesAttrName, replicated);
  return constraint;
}

} // namespace spmdc::stablehlo
