//===- ExportCollectives.cpp - collectives and device numbers -------------===//
//
// StableHLO's collectives name groups of device numbers instead of mesh axes. Devices are numbered in row-major order
// of the mesh.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "ir/spmd/VaryingAxes.h"

#include <set>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The difference of the numbers of two neighbours along an axis: the product of the sizes of the mesh axes behind it,
/// and of what is behind a part of an axis.
int64_t strideOf(const spmd::MeshShape &mesh, AxisRefAttr axis) {
  int64_t stride = 1;
  for (const spmd::MeshAxis &other : llvm::reverse(mesh.axes)) {
    if (other.name == axis.getName())
      return axis.isFullAxis() ? stride : stride * (other.size / (axis.getPreSize() * axis.getSize()));
    stride *= other.size;
  }
  llvm_unreachable("the verifier has found the axis");
}

int64_t sizeOf(const spmd::MeshShape &mesh, ArrayRef<AxisRefAttr> axes) {
  int64_t size = 1;
  for (AxisRefAttr axis : axes)
    size *= axis.sizeIn(mesh);
  return size;
}

/// The numbers of the devices, relative to the first one of the group, in the order of their positions over the axes.
SmallVector<int64_t> offsetsOf(const spmd::MeshShape &mesh, ArrayRef<AxisRefAttr> axes) {
  SmallVector<int64_t> offsets{0};
  for (AxisRefAttr axis : axes) {
    SmallVector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < axis.sizeIn(mesh); ++i)
        next.push_back(offset + i * strideOf(mesh, axis));
    offsets = std::move(next);
  }
  return offsets;
}

/// The first device of each group over the axes.
SmallVector<int64_t> firstsOf(const spmd::MeshShape &mesh, AxesAttr axes) {
  int64_t devices = 1;
  for (const spmd::MeshAxis &axis : mesh.axes)
    devices *= axis.size;
  SmallVector<int64_t> firsts;
  for (int64_t device = 0; device < devices; ++device)
    if (spmd::groupOf(mesh, axes.toValues(), device).front() == device)
      firsts.push_back(device);
  return firsts;
}

DenseIntElementsAttr tableOf(Exporter &e, ArrayRef<int64_t> numbers, int64_t columns) {
  auto rows = static_cast<int64_t>(numbers.size()) / columns;
  return DenseIntElementsAttr::get(RankedTensorType::get({rows, columns}, e.b.getI64Type()), numbers);
}

DenseIntElementsAttr groupsOf(Exporter &e, AxesAttr axes) {
  spmd::MeshShape mesh = e.mesh.toValue();
  SmallVector<int64_t> offsets = offsetsOf(mesh, axes.getAxes()), numbers;
  for (int64_t first : firstsOf(mesh, axes))
    for (int64_t offset : offsets)
      numbers.push_back(first + offset);
  return tableOf(e, numbers, static_cast<int64_t>(offsets.size()));
}

/// The collective has the name that the program calls it by, so that reports of the exported program name it, too.
void nameCollective(Exporter &e, std::optional<StringRef> why) {
  if (why && why->consume_front("'"))
    e.loc = NameLoc::get(StringAttr::get(e.b.getContext(), "main/" + why->take_until([](char c) { return c == '\''; })),
                         e.loc);
}

/// The emitted collective, or the operand where each group is one device.
Value overGroups(Exporter &e, Value operand, AxesAttr axes, std::optional<StringRef> why,
                 llvm::function_ref<Value(Value)> write) {
  Value x = e.get(operand);
  if (sizeOf(e.mesh.toValue(), axes.getAxes()) == 1)
    return x;
  nameCollective(e, why);
  return write(x);
}

/// As JAX numbers its channels: from 1, of the kind of collectives between devices.
ChannelHandleAttr channelOf(Exporter &e) { return ChannelHandleAttr::get(e.b.getContext(), e.nextChannel(), 1); }

Value allReduce(Exporter &e, spmdc::AllReduceOp op) {
  return overGroups(e, op.getOperand(), op.getAxes(), op.getWhy(), [&](Value x) -> Value {
    RankedTensorType type = Exporter::typeOf(op.getResult());
    auto made = e.create<AllReduceOp>(TypeRange{type}, x, groupsOf(e, op.getAxes()), channelOf(e), true);
    e.fillCombiner(made.getComputation(), op.getKind(), type.getElementType());
    return made.getResult(0);
  });
}

Value allGather(Exporter &e, spmdc::AllGatherOp op) {
  return overGroups(e, op.getOperand(), op.getAxes(), op.getWhy(), [&](Value x) -> Value {
    Type type = Exporter::typeOf(op.getResult());
    return e.create<AllGatherOp>(type, x, groupsOf(e, op.getAxes()), channelOf(e), op.getDim(), true).getResult(0);
  });
}

Value reduceScatter(Exporter &e, spmdc::ReduceScatterOp op) {
  return overGroups(e, op.getOperand(), op.getAxes(), op.getWhy(), [&](Value x) -> Value {
    RankedTensorType type = Exporter::typeOf(op.getResult());
    auto made =
        e.create<ReduceScatterOp>(TypeRange{type}, x, groupsOf(e, op.getAxes()), channelOf(e), op.getDim(), true);
    e.fillCombiner(made.getComputation(), op.getKind(), type.getElementType());
    return made.getResult(0);
  });
}

Value allToAll(Exporter &e, spmdc::AllToAllOp op) {
  return overGroups(e, op.getOperand(), op.getAxes(), op.getWhy(), [&](Value x) -> Value {
    int64_t count = sizeOf(e.mesh.toValue(), op.getAxes().getAxes());
    return e
        .create<AllToAllOp>(Exporter::typeOf(op.getResult()), x, groupsOf(e, op.getAxes()), channelOf(e), op.getSplit(),
                            op.getConcat(), count)
        .getResult(0);
  });
}

//===- Device numbers -----------------------------------------------------===//

/// The position over the axes: each coordinate is a quotient and remainder of the device's number, as in JAX's exports.
Value positionOver(Exporter &e, ArrayRef<AxisRefAttr> axes) {
  spmd::MeshShape mesh = e.mesh.toValue();
  Type u32 = IntegerType::get(e.b.getContext(), 32, IntegerType::Unsigned), i32 = e.b.getI32Type();
  Value position;
  for (AxisRefAttr axis : axes) {
    Value device = e.create<PartitionIdOp>(RankedTensorType::get({}, u32));
    Value quotient = e.create<DivideOp>(device.getType(), device, e.integer(u32, strideOf(mesh, axis)));
    Value rest = e.create<RemainderOp>(device.getType(), quotient, e.integer(u32, axis.sizeIn(mesh)));
    Value coordinate = e.convert(rest, i32);
    if (position) {
      Value outer = e.create<MultiplyOp>(position.getType(), position, e.integer(i32, axis.sizeIn(mesh)));
      coordinate = e.create<AddOp>(outer.getType(), outer, coordinate);
    }
    position = coordinate;
  }
  return position ? position : e.integer(i32, 0);
}

/// XLA knows a device's number only where all axes are manual. In another region, the position is computed in a region
/// over the other axes, as JAX does.
Value axisIndex(Exporter &e, Operation *op, ArrayRef<AxisRefAttr> axes) {
  MLIRContext *context = e.b.getContext();
  if (sizeOf(e.mesh.toValue(), axes) == 1)
    return e.integer(e.b.getI32Type(), 0);
  std::set<StringRef> manual;
  for (auto region = op->getParentOfType<spmdc::ManualOp>(); region;
       region = region->getParentOfType<spmdc::ManualOp>())
    if (!isOfOneDevice(region))
      for (AxisRefAttr axis : region.getOwnAxes())
        manual.insert(axis.getName());
  SmallVector<StringAttr> others;
  for (AxisRefAttr axis : e.mesh.getAxes())
    if (!manual.count(axis.getName()))
      others.push_back(StringAttr::get(context, axis.getName()));
  if (others.empty())
    return positionOver(e, axes);
  auto replicated = sdy::TensorShardingAttr::get(context, kExportedMesh, ShardingAttr::getReplicated(context, 0), {});
  auto made = e.create<sdy::ManualComputationOp>(
      TypeRange{RankedTensorType::get({}, e.b.getI32Type())}, ValueRange(), sdy::TensorShardingsAttr::get(context, {}),
      sdy::TensorShardingsAttr::get(context, {replicated}), sdy::ManualAxesAttr::get(context, others));
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(&made.getBody().emplaceBlock());
  e.create<sdy::ReturnOp>(positionOver(e, axes));
  return made.getResult(0);
}

Value axisIndex(Exporter &e, spmdc::AxisIndexOp op) { return axisIndex(e, op, op.getAxes().getAxes()); }

/// The shard at the device's position. Manual regions shard evenly, so it is completely inside.
Value allSlice(Exporter &e, spmdc::AllSliceOp op) {
  RankedTensorType type = Exporter::typeOf(op.getResult());
  Type i32 = e.b.getI32Type();
  Value zero = e.integer(i32, 0), size = e.integer(i32, type.getDimSize(static_cast<unsigned>(op.getDim())));
  SmallVector<Value> starts(type.getRank(), zero);
  starts[op.getDim()] = e.create<MultiplyOp>(zero.getType(), axisIndex(e, op, op.getAxes().getAxes()), size);
  return e.create<DynamicSliceOp>(type, e.get(op.getOperand()), starts, type.getShape());
}

//===- Permutations -------------------------------------------------------===//

/// Whether a branch or a loop around the operation depends on a value that varies between devices.
bool isReachedBySome(Operation *op) {
  for (Operation *around = op->getParentOp(); !llvm::isa<func::FuncOp>(around); around = around->getParentOp()) {
    Value condition;
    if (auto branch = llvm::dyn_cast<spmdc::IfOp>(around))
      condition = branch.getPredicate();
    else if (auto loop = llvm::dyn_cast<spmdc::WhileOp>(around))
      condition = loop.getCondition().front().getTerminator()->getOperand(0);
    if (condition && !VaryingAxes(around->getParentOfType<spmdc::ManualOp>()).of(condition).empty())
      return true;
  }
  return false;
}

/// A permutation as a gather, of which each device takes the operand of its source.
Value gatherAndTake(Exporter &e, spmdc::CollectivePermuteOp op, Value x) {
  RankedTensorType type = Exporter::typeOf(op.getResult());
  int64_t count = sizeOf(e.mesh.toValue(), op.getAxes().getAxes());
  SmallVector<int32_t> sources(count, -1); // By target; -1: none.
  for (size_t i = 0; i + 1 < op.getPairs().size(); i += 2)
    sources[op.getPairs()[i + 1]] = static_cast<int32_t>(op.getPairs()[i]);
  SmallVector<int64_t> shape{1};
  llvm::append_range(shape, type.getShape());
  Value row = e.create<ReshapeOp>(type.clone(shape), x);
  shape.front() = count;
  Value rows =
      e.create<AllGatherOp>(type.clone(shape), row, groupsOf(e, op.getAxes()), channelOf(e), 0, true).getResult(0);
  auto tableType = RankedTensorType::get({count}, e.b.getI32Type());
  Value table = e.create<ConstantOp>(tableType, DenseElementsAttr::get(tableType, ArrayRef(sources)));
  Value entry = e.create<DynamicSliceOp>(tableType.clone({1}), table, axisIndex(e, op, op.getAxes().getAxes()),
                                         ArrayRef<int64_t>{1});
  Value source = e.create<ReshapeOp>(tableType.clone(ArrayRef<int64_t>()), entry);
  SmallVector<Value> starts(shape.size(), e.integer(e.b.getI32Type(), 0));
  Value isTarget = e.compare(source, "GE", starts.front());
  starts.front() = source; // Clamped where there is none.
  shape.front() = 1;
  Value taken = e.create<DynamicSliceOp>(type.clone(shape), rows, starts, shape);
  return e.select(isTarget, e.create<ReshapeOp>(type, taken), e.splat(type, Scalar()));
}

Value permute(Exporter &e, spmdc::CollectivePermuteOp op) {
  RankedTensorType type = Exporter::typeOf(op.getResult());
  if (op.getPairs().empty()) // No device is a target.
    return e.splat(type, Scalar());
  return overGroups(e, op.getOperand(), op.getAxes(), op.getWhy(), [&](Value x) -> Value {
    // A collective_permute of StableHLO has the pairs of all groups, so that XLA waits for the devices of all groups.
    if (isReachedBySome(op))
      return gatherAndTake(e, op, x);
    spmd::MeshShape mesh = e.mesh.toValue();
    SmallVector<int64_t> offsets = offsetsOf(mesh, op.getAxes().getAxes()), numbers;
    for (int64_t first : firstsOf(mesh, op.getAxes()))
      for (int64_t position : op.getPairs())
        numbers.push_back(first + offsets[position]);
    return e.create<CollectivePermuteOp>(type, x, tableOf(e, numbers, 2), channelOf(e));
  });
}

} // namespace

void addCollectiveExports(ExportRules &rules) {
  rules.add<spmdc::AllGatherOp>(allGather);
  rules.add<spmdc::AllReduceOp>(allReduce);
  rules.add<spmdc::AllSliceOp>(allSlice);
  rules.add<spmdc::AllToAllOp>(allToAll);
  rules.add<spmdc::AxisIndexOp>(axisIndex);
  rules.add<spmdc::CollectivePermuteOp>(permute);
  rules.add<spmdc::ReduceScatterOp>(reduceScatter);
}

} // namespace spmdc::stablehlo
