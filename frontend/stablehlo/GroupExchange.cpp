//===- GroupExchange.cpp - what the devices of a group send --------------===//

#include "frontend/stablehlo/GroupExchange.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// The function of jax.lax whose primitive an operation is named by; the last part of any other path of names, and ""
/// for a name without a path, which may be that of a value.
static StringRef functionOf(StringRef path) {
  bool isPath = path.contains('/');
  StringRef name = isPath ? path.rsplit('/').second : path;
  name.consume_back(":");
  StringRef function = llvm::StringSwitch<StringRef>(name)
                           .Cases("psum", "psum_invariant", "unreduced_psum", "psum")
                           .Cases("reduce_scatter", "unreduced_reduce_scatter", "psum_scatter")
                           .Cases("all_gather", "all_gather_invariant", "all_gather_reduced", "all_gather")
                           .Cases("pmax", "pmax_invariant", "pmax")
                           .Cases("pmin", "pmin_invariant", "pmin")
                           .Cases("ppermute", "all_to_all", name)
                           .Default("");
  return function.empty() && isPath ? name : function;
}

StringAttr reasonOf(Operation *op) {
  StringRef name;
  if (auto named = llvm::dyn_cast<NameLoc>(op->getLoc()))
    name = functionOf(named.getName().getValue());
  if (name.empty())
    name = op->getName().stripDialect();
  return StringAttr::get(op->getContext(), "'" + name + "' is written here");
}

/// The lists of device numbers, without -1.
static std::vector<DeviceList> listsOf(DenseIntElementsAttr groups) {
  std::vector<DeviceList> lists;
  ArrayRef<int64_t> shape = groups.getType().getShape();
  if (shape.size() != 2 || shape[1] == 0)
    return lists;
  lists.resize(shape[0]);
  for (auto [index, device] : llvm::enumerate(groups.getValues<APInt>()))
    if (int64_t number = device.getSExtValue(); number != -1)
      lists[index / static_cast<size_t>(shape[1])].push_back(number);
  llvm::erase_if(lists, [](const DeviceList &list) { return list.empty(); });
  return lists;
}

FailureOr<GroupExchange> GroupExchange::get(Translation &t, Operation *op, DenseIntElementsAttr groups,
                                            bool isOrdered) {
  if (t.manualAxes.empty())
    return refuse(op, "is not in a shard_map; name the devices by the axes of a mesh");
  std::vector<DeviceList> lists = listsOf(groups);
  if (lists.empty())
    return refuse(op, "has no groups of devices");
  if (!isOrdered)
    for (DeviceList &list : lists)
      llvm::sort(list);
  GroupExchange exchange(t, op);
  size_t count = 0;
  for (const DeviceList &list : lists) {
    exchange.size = std::max(exchange.size, static_cast<int64_t>(list.size()));
    exchange.isEven &= list.size() == lists.front().size();
    count += list.size();
  }
  int64_t devices = 1;
  for (const spmd::MeshAxis &axis : t.mesh.axes)
    devices *= axis.size;
  exchange.isComplete = static_cast<int64_t>(count) == devices;
  SmallVector<StringRef> used;
  std::optional<std::vector<spmd::AxisRef>> axes = findGroupAxes(t.mesh, lists);
  if (axes) {
    exchange.axes = AxesAttr::get(t.b.getContext(), llvm::map_to_vector(*axes, [&](const spmd::AxisRef &axis) {
                                    return AxisRefAttr::get(t.b.getContext(), axis.name, axis.preSize, axis.size);
                                  }));
    for (AxisRefAttr axis : exchange.axes->getAxes())
      used.push_back(axis.getName());
  } else {
    std::optional<AxisGroups> table = findAxisGroups(t.mesh, lists);
    if (!table)
      return refuse(op, "has groups with a device that the mesh does not have, or with one twice");
    exchange.table = std::move(*table);
    used.assign(exchange.table.axes.begin(), exchange.table.axes.end());
  }
  for (StringRef axis : used)
    if (!llvm::is_contained(t.manualAxes, axis))
      return refuse(op, "has groups along the axis '" + axis +
                            "', over which its shard_map is not manual; name it in axis_names");
  return exchange;
}

//===- Tables -------------------------------------------------------------===//

Value GroupExchange::rowOf(ArrayRef<int32_t> values, int64_t columns) const {
  int64_t rows = static_cast<int64_t>(values.size()) / columns;
  SmallVector<int64_t> shape{rows, columns};
  auto elements = DenseElementsAttr::get(RankedTensorType::get(shape, t->b.getI32Type()), values);
  Value constant = t->create<spmdc::ConstantOp>(elements);
  Value device =
      t->create<AxisIndexOp>(ArrayType::get({}, t->b.getI32Type()), t->axesOf(ArrayRef<std::string>(table.axes)));
  return t->create<spmdc::TakeOp>(constant, device, 0);
}

Value GroupExchange::rowOf(int64_t columns, llvm::function_ref<int64_t(int64_t, int64_t, int64_t)> entry) const {
  int64_t devices = 1;
  for (const spmd::MeshAxis &axis : t->mesh.axes)
    if (llvm::is_contained(table.axes, axis.name))
      devices *= axis.size;
  SmallVector<int32_t> values(devices * columns, 0);
  for (const DeviceList &group : table.groups)
    for (auto [position, device] : llvm::enumerate(group))
      for (int64_t column = 0; column < columns; ++column)
        values[device * columns + column] =
            static_cast<int32_t>(entry(static_cast<int64_t>(position), static_cast<int64_t>(group.size()), column));
  return rowOf(values, columns);
}

Value GroupExchange::getPosition() const {
  ArrayType scalar = ArrayType::get({}, t->b.getI32Type());
  if (axes)
    return axes->empty() ? t->splat(scalar, 0) : t->create<AxisIndexOp>(scalar, *axes).getResult();
  return t->reshape(rowOf(1, [](int64_t position, int64_t, int64_t) { return position; }), {});
}

Value GroupExchange::getOwnSize() const {
  if (axes)
    return t->splat(ArrayType::get({}, t->b.getI32Type()), static_cast<double>(size));
  return t->reshape(rowOf(1, [](int64_t, int64_t count, int64_t) { return count; }), {});
}

//===- Transfers ----------------------------------------------------------===//

Value GroupExchange::turn(Value array, int64_t by) const {
  SmallVector<int64_t> pairs;
  for (const DeviceList &group : table.groups)
    for (size_t i = 0; static_cast<int64_t>(group.size()) > by && i < group.size(); ++i) {
      pairs.push_back(group[i]);
      pairs.push_back(group[(i + by) % group.size()]);
    }
  return t->create<spmdc::CollectivePermuteOp>(plainTypeOf(array), array, pairs,
                                               t->axesOf(ArrayRef<std::string>(table.axes)), reasonOf(op));
}

Value GroupExchange::inOrder(ArrayRef<Value> turns) const {
  SmallVector<Value> rows;
  for (Value array : turns) {
    SmallVector<int64_t> shape(shapeOf(array));
    shape.insert(shape.begin(), 1);
    rows.push_back(t->reshape(array, shape));
  }
  // In turn k the device k positions ahead, around the group, has sent.
  Value order = rowOf(size, [](int64_t position, int64_t count, int64_t from) {
    return from < count ? (position - from + count) % count : 0;
  });
  return t->create<spmdc::TakeOp>(t->concatenate(rows, 0), order, 0);
}

Value GroupExchange::gather(Value array) const {
  SmallVector<int64_t> shape(shapeOf(array));
  shape.insert(shape.begin(), 1);
  if (axes) {
    Value row = t->reshape(array, shape);
    shape[0] = size;
    return axes->empty()
               ? row
               : t->create<spmdc::AllGatherOp>(plainTypeOf(array).withShape(shape), row, 0, *axes, reasonOf(op))
                     .getResult();
  }
  SmallVector<Value> turns{array};
  for (int64_t k = 1; k < size; ++k)
    turns.push_back(turn(array, k));
  return inOrder(turns);
}

Value GroupExchange::exchange(Value blocks) const {
  SmallVector<int64_t> shape(shapeOf(blocks));
  if (axes) {
    if (axes->empty())
      return blocks;
    SmallVector<int64_t> split(shape), joined(shape);
    split.insert(split.begin() + 1, 1);
    joined.insert(joined.begin(), 1);
    Value sent = t->create<spmdc::AllToAllOp>(plainTypeOf(blocks).withShape(joined), t->reshape(blocks, split), 0, 1,
                                              *axes, reasonOf(op));
    return t->reshape(sent, shape);
  }
  // The blocks in the order of the turns in which they are sent.
  Value order = rowOf(size, [](int64_t position, int64_t count, int64_t turn) { return (position + turn) % count; });
  Value ordered = t->create<spmdc::TakeOp>(blocks, order, 0);
  SmallVector<Value> turns;
  for (int64_t k = 0; k < size; ++k) {
    Value block = t->reshape(t->sliceDim(ordered, 0, k, k + 1), ArrayRef<int64_t>(shape).drop_front());
    turns.push_back(k == 0 ? block : turn(block, k));
  }
  return inOrder(turns);
}

} // namespace spmdc::stablehlo
