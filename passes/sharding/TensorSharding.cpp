//===- TensorSharding.cpp - a sharding during propagation -----------------===//

#include "passes/sharding/TensorSharding.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace spmdc {

llvm::SmallVector<unsigned, 4> TensorSharding::extend(llvm::ArrayRef<AxisList> axes) {
  assert(axes.size() == dims.size() && "one list per dimension");
  llvm::SmallVector<unsigned, 4> changed;
  for (auto [index, dim, newAxes] : llvm::enumerate(dims, axes)) {
    if (dim.isClosed || !isStrictPrefix(dim.axes, newAxes))
      continue;
    // The lists may come from two uses of one array in an operation (x @ x), each of which is consistent by itself.
    auto isFree = [&, dimIndex = index](AxisPart part) {
      auto conflicts = [&](AxisPart other) { return part.conflictsWith(other); };
      return llvm::none_of(blocked, conflicts) && llvm::none_of(llvm::enumerate(dims), [&](auto other) {
               return other.index() != dimIndex && llvm::any_of(other.value().axes, conflicts);
             });
    };
    if (!llvm::all_of(newAxes, isFree))
      continue;
    dim.axes = newAxes;
    changed.push_back(index);
  }
  return changed;
}

TensorSharding getTensorSharding(const MeshAxes &mesh, ShardingAttr sharding) {
  TensorSharding result;
  for (DimShardingAttr dim : sharding.getDims())
    result.dims.push_back({mesh.getParts(dim.getAxes()), dim.getIsClosed()});
  result.blocked = mesh.getParts(sharding.getUnreduced());
  return result;
}

ShardingAttr getClosedShardingAttr(const MeshAxes &mesh, const TensorSharding &sharding,
                                   llvm::ArrayRef<AxisRefAttr> unreduced) {
  mlir::MLIRContext *context = mesh.getMesh().getContext();
  llvm::SmallVector<DimShardingAttr> dims;
  for (const TensorSharding::Dim &dim : sharding.dims)
    dims.push_back(DimShardingAttr::get(context, mesh.getAttrs(dim.axes), /*isClosed=*/true));
  return ShardingAttr::get(context, dims, unreduced);
}

} // namespace spmdc
