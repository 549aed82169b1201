//===- TranslateDevices.cpp - numbers of devices --------------------------===//
//
// `axis_index` is written as a quotient and remainder of the device's number, and turned back.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

/// The number of this device in row-major order of the mesh, or its coordinate along one axis.
Value coordinate(Translation &t, ArrayRef<std::string> axes, Type type) {
  Value index = t.create<AxisIndexOp>(ArrayType::get({}, t.b.getI32Type()), t.axesOf(axes));
  return t.convert(index, type);
}

One partitionId(Translation &t, PartitionIdOp op) {
  if (t.manualAxes.empty())
    return refuse(op, "is not in a shard_map");
  SmallVector<std::string> axes;
  for (const spmd::MeshAxis &axis : t.mesh.axes)
    if (axis.size > 1) // The region need not be manual over an axis of one device.
      axes.push_back(axis.name);
  Type type = Translation::typeOf(op.getType()).getElementType();
  return axes.empty() ? t.splat(ArrayType::get({}, type), 0) : coordinate(t, axes, type);
}

/// Exports have one replica.
One replicaId(Translation &t, ReplicaIdOp op) {
  auto replicas = t.source->getAttrOfType<IntegerAttr>("mhlo.num_replicas");
  if (replicas && replicas.getInt() != 1)
    return refuse(op, "is of a program of ")
           << replicas.getInt() << " replicas; name the devices by the axes of a mesh in a shard_map";
  return t.splat(ArrayType::get({}, Translation::typeOf(op.getType()).getElementType()), 0);
}

/// `partition_id / stride % size` is the coordinate along the axis of that size and stride.
One remainder(Translation &t, RemainderOp op) {
  Value number = op.getLhs();
  std::optional<int64_t> size = integerOf(op.getRhs());
  int64_t stride = 1;
  if (auto divide = number.getDefiningOp<DivideOp>()) {
    stride = integerOf(divide.getRhs()).value_or(0);
    number = divide.getLhs();
  }
  if (size && number.getDefiningOp<PartitionIdOp>()) {
    int64_t behind = 1; // The product of the sizes of the axes behind the one that is looked at.
    for (const spmd::MeshAxis &axis : llvm::reverse(t.mesh.axes)) {
      if (axis.size == *size && axis.size > 1 && behind == stride)
        return coordinate(t, {axis.name}, Translation::typeOf(op.getType()).getElementType());
      behind *= axis.size;
    }
  }
  return t.create<spmdc::RemainderOp>(t.get(op.getLhs()), t.get(op.getRhs())).getResult();
}

} // namespace

void addDeviceRules(Rules &rules) {
  rules.add<PartitionIdOp>(partitionId);
  rules.add<ReplicaIdOp>(replicaId);
  rules.add<RemainderOp>(remainder);
}

} // namespace spmdc::stablehlo
