//===- TranslateCollectives.cpp - collectives and device numbers ----------===//
//
// The collectives of a manual region name groups of device numbers, which are turned back into the mesh axes that the
// program had named. `axis_index` is written as a quotient and remainder of the device's number, and turned back, too.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/DeviceGroups.h"
#include "frontend/stablehlo/Translation.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

//===- Collectives --------------------------------------------------------===//

/// The reason that reports give for a collective: JAX's name of the operation, the last part of its location's name.
StringAttr whyOf(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (auto named = llvm::dyn_cast<NameLoc>(op->getLoc()))
    name = named.getName().getValue().rsplit('/').second;
  if (name.empty())
    name = op->getName().stripDialect();
  return StringAttr::get(op->getContext(), "'" + name + "' is written here");
}

/// The axes of the groups; refuses groups that are no axes of the mesh, and collectives outside of a region.
FailureOr<std::vector<std::string>> axesOf(Translation &t, Operation *op, DenseIntElementsAttr groups) {
  if (t.manualAxes.empty())
    return refuse(op, "is not in a shard_map; name the devices by the axes of a mesh");
  std::vector<std::vector<int64_t>> lists;
  ArrayRef<int64_t> shape = groups.getType().getShape();
  if (shape.size() != 2 || shape[1] == 0)
    return refuse(op, "has no groups of devices");
  for (auto [index, device] : llvm::enumerate(groups.getValues<APInt>())) {
    if (index % static_cast<size_t>(shape[1]) == 0)
      lists.emplace_back();
    lists.back().push_back(device.getSExtValue());
  }
  std::optional<std::vector<std::string>> axes = findGroupAxes(t.mesh, lists);
  if (!axes)
    return refuse(op, "has groups of devices (axis_index_groups) that are no axes of the mesh, which is not supported; "
                      "split the axis of the mesh");
  return *axes;
}

/// An operation for each operand over the axes; over none, the operand itself.
template <typename Op, typename Make> Results overAxes(Translation &t, Op op, Make make) {
  auto axes = axesOf(t, op, op.getReplicaGroups());
  if (failed(axes) || op.getOperands().size() != op.getOutputs().size())
    return failure();
  SmallVector<Value> results;
  for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getOutputs())) {
    Value array = t.get(operand);
    results.push_back(axes->empty() ? array : make(array, Translation::typeOf(result.getType()), t.axesOf(*axes)));
  }
  return results;
}

template <typename Op> FailureOr<ReductionKind> kindOf(Op op) {
  std::optional<ReductionKind> kind = Translation::getReductionKind(op.getComputation());
  if (!kind)
    return refuse(op, "combines by a region that is neither a sum, product, maximum, minimum, and, nor or");
  return *kind;
}

Results allReduce(Translation &t, AllReduceOp op) {
  FailureOr<ReductionKind> kind = kindOf(op);
  if (failed(kind))
    return failure();
  return overAxes(t, op, [&](Value array, ArrayType type, AxesAttr axes) -> Value {
    return t.create<spmdc::AllReduceOp>(type, array, *kind, axes, whyOf(op));
  });
}

bool hasDim(Value array, uint64_t dim) { return dim < shapeOf(array).size(); }

template <typename Op> bool haveDim(Translation &t, Op op, uint64_t dim) {
  return llvm::all_of(t.get(op.getOperands()), [&](Value array) { return hasDim(array, dim); });
}

Results allGather(Translation &t, AllGatherOp op) {
  if (!haveDim(t, op, op.getAllGatherDim()))
    return refuse(op, "gathers along a dimension that its operand does not have");
  return overAxes(t, op, [&](Value array, ArrayType type, AxesAttr axes) -> Value {
    return t.create<spmdc::AllGatherOp>(type, array, op.getAllGatherDim(), axes, whyOf(op));
  });
}

Results reduceScatter(Translation &t, ReduceScatterOp op) {
  FailureOr<ReductionKind> kind = kindOf(op);
  if (failed(kind))
    return failure();
  if (!haveDim(t, op, op.getScatterDimension()))
    return refuse(op, "scatters along a dimension that its operand does not have");
  return overAxes(t, op, [&](Value array, ArrayType type, AxesAttr axes) -> Value {
    return t.create<spmdc::ReduceScatterOp>(type, array, *kind, op.getScatterDimension(), axes, whyOf(op));
  });
}

Results allToAll(Translation &t, AllToAllOp op) {
  if (!haveDim(t, op, op.getSplitDimension()) || !haveDim(t, op, op.getConcatDimension()))
    return refuse(op, "exchanges along dimensions that its operand does not have");
  return overAxes(t, op, [&](Value array, ArrayType type, AxesAttr axes) -> Value {
    return t.create<spmdc::AllToAllOp>(type, array, op.getSplitDimension(), op.getConcatDimension(), axes, whyOf(op));
  });
}

One permute(Translation &t, CollectivePermuteOp op) {
  if (t.manualAxes.empty())
    return refuse(op, "is not in a shard_map; name the devices by the axes of a mesh");
  Value array = t.get(op.getOperand());
  SmallVector<int64_t> numbers = llvm::map_to_vector(op.getSourceTargetPairs().getValues<APInt>(),
                                                     [](APInt number) { return number.getSExtValue(); });
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2)
    pairs.emplace_back(numbers[i], numbers[i + 1]);
  std::optional<AxisPairs> found = findPairAxes(t.mesh, pairs);
  if (!found)
    return refuse(op, "names a device that the mesh does not have");
  if (found->axes.empty())
    return array;
  return t.create<spmdc::CollectivePermuteOp>(plainTypeOf(array), array, found->pairs, t.axesOf(found->axes), whyOf(op))
      .getResult();
}

//===- Device numbers -----------------------------------------------------===//

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

void addCollectiveRules(Rules &rules) {
  rules.addMany<AllReduceOp>(allReduce);
  rules.addMany<AllGatherOp>(allGather);
  rules.addMany<ReduceScatterOp>(reduceScatter);
  rules.addMany<AllToAllOp>(allToAll);
  rules.add<CollectivePermuteOp>(permute);
  rules.add<PartitionIdOp>(partitionId);
  rules.add<RemainderOp>(remainder);
}

} // namespace spmdc::stablehlo
