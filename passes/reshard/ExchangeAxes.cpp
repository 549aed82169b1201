//===- ExchangeAxes.cpp - the axes of an exchange -------------------------===//

#include "passes/reshard/ExchangeAxes.h"

#include "runtime/sharding/ExchangedAxes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The full axes that either sharding names, also if it names only parts of them.
SmallVector<AxisRefAttr> listNamedAxes(ArrayType from, ArrayType to, const spmd::MeshShape &mesh) {
  SmallVector<AxisRefAttr> axes;
  for (const spmd::MeshAxis &axis : mesh.axes) {
    auto isNamed = [&](ArrayType type) {
      return llvm::any_of(type.getShardingOrOpen().getDims(), [&](DimShardingAttr dim) {
        return llvm::any_of(dim.getAxes(), [&](AxisRefAttr ref) { return ref.getName() == axis.name; });
      });
    };
    if (isNamed(from) || isNamed(to))
      axes.push_back(AxisRefAttr::get(from.getContext(), axis.name, 1, 0));
  }
  return axes;
}

} // namespace

AxesAttr getExchangeAxes(ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &moves, MeshAttr mesh) {
  spmd::MeshShape shape = mesh.toValue();
  SmallVector<AxisRefAttr> axes;
  for (const spmd::AxisRef &axis : spmd::exchangedAxes(shape, from.toShardedShape(), to.toShardedShape(), moves))
    axes.push_back(AxisRefAttr::get(from.getContext(), axis.name, axis.preSize, axis.size));
  return AxesAttr::get(from.getContext(), axes.empty() ? listNamedAxes(from, to, shape) : axes);
}

LinkRates getExchangeRates(const CostModel &model, const spmd::MeshShape &mesh, ArrayType from, ArrayType to,
                           const std::vector<spmd::DimMove> &moves) {
  if (model.axes.empty()) // The links of all axes are equal.
    return model.link;
  std::vector<std::string> names;
  for (const spmd::AxisRef &axis : spmd::exchangedAxes(mesh, from.toShardedShape(), to.toShardedShape(), moves))
    names.push_back(axis.name);
  return model.ratesOf(names);
}

} // namespace spmdc
