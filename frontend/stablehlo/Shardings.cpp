//===- Shardings.cpp - Shardy's shardings as annotations ------------------===//

#include "frontend/stablehlo/Translation.h"

using namespace mlir;

namespace spmdc::stablehlo {

FailureOr<ShardingAttr> Translation::shardingOf(Operation *op, sdy::TensorShardingAttr annotation,
                                                ArrayRef<int64_t> shape) {
  ShardingAttr sharding = annotation.getSharding();
  if (sharding.getRank() != static_cast<int64_t>(shape.size()))
    return refuse(op, "has a sharding of ") << sharding.getRank() << " dimensions for an array of " << shape.size();
  bool isOpen = llvm::any_of(sharding.getDims(), [](DimShardingAttr dim) { return !dim.getIsClosed(); });
  if (isOpen && !annotation.getReplicated().empty())
    return refuse(
        op, "keeps an axis from its open dimensions ('replicated'), which is not supported; close the dimensions");
  if (!sharding.getUnreduced().empty())
    return refuse(op, "has an unreduced sharding, which is not supported; reduce the value first");
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims()) {
    SmallVector<AxisRefAttr> axes;
    for (AxisRefAttr named : dim.getAxes()) {
      FailureOr<SmallVector<AxisRefAttr>> parts = meshes.find(annotation.getMesh(), named);
      if (failed(parts))
        return refuse(op, "names " + named.str() + " of '" + annotation.getMesh() +
                              "', a second mesh, which lacks it or divides it otherwise than the first one");
      llvm::append_range(axes, *parts);
    }
    for (AxisRefAttr axis : axes) {
      auto known = llvm::find_if(mesh.axes, [&](const spmd::MeshAxis &of) { return of.name == axis.getName(); });
      if (known == mesh.axes.end())
        return refuse(op, "names the axis '" + axis.getName() + "', which the mesh does not have");
      // Divided one after the other, since their product may overflow.
      if (!axis.isFullAxis() && (known->size % axis.getPreSize() || known->size / axis.getPreSize() % axis.getSize()))
        return refuse(op, "names the part " + axis.str() + " of an axis of size " + Twine(known->size));
    }
    dims.push_back(DimShardingAttr::get(b.getContext(), axes, dim.getIsClosed(), dim.getPriority()));
  }
  return ShardingAttr::get(b.getContext(), dims, {});
}

Value Translation::constrain(Value array, ShardingAttr sharding) {
  ArrayType type = plainTypeOf(array).withSharding(sharding);
  // A type drops a sharding that says nothing.
  return type.getSharding() ? create<ConstraintOp>(type, array, false).getResult() : array;
}

} // namespace spmdc::stablehlo
