//===- OwnerRead.cpp - one element of a sharded dimension -----------------===//

#include "passes/exchange/OwnerRead.h"

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/CollectiveBroadcast.h"
#include "passes/exchange/IndexArithmetic.h"
#include "passes/exchange/Reasons.h"
#include "passes/sharding/FactorAxes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The sharded dimension along which `read` reads one element; nothing if it reads several elements, or along several
/// sharded dimensions, or along none. A sharded index is padding on some devices.
std::optional<int64_t> findDim(Operation *read, ArrayRef<ArrayType> operands) {
  if (!isa<TakeOp, DynamicSliceOp>(read))
    return std::nullopt;
  ArrayType operand = operands.front();
  ArrayRef<DimShardingAttr> dims = operand.getShardingOrOpen().getDims();
  if (auto take = dyn_cast<TakeOp>(read)) {
    auto dim = static_cast<int64_t>(take.getDim());
    bool isOne = operands[1].getNumElements() == 1 && operands[1].getShardingOrOpen().isReplicated() &&
                 !dims[dim].getAxes().empty();
    return isOne ? std::optional(dim) : std::nullopt;
  }
  std::optional<int64_t> found;
  auto slice = cast<DynamicSliceOp>(read);
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    if (slice.getSizes()[dim] == operand.getDimSize(dim) || dims[dim].getAxes().empty())
      continue;
    if (found || slice.getSizes()[dim] != 1)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Drops axes of one device, which shard nothing, and sorts the rest.
AxisRefs withoutUnits(const spmd::MeshShape &mesh, AxisRefs axes) {
  std::erase_if(axes, [&](const spmd::AxisRef &axis) { return axis.sizeIn(mesh) == 1; });
  sortAxes(mesh, axes);
  return axes;
}

/// The position, over the axes, of the device that owns an element of a dimension of `size` elements.
class OwnerPosition : IndexArithmetic {
public:
  using IndexArithmetic::IndexArithmetic;

  Value of(Value index, int64_t size, ArrayRef<int64_t> sizes) const {
    Value left = index, position = like(index, 0);
    for (int64_t shards : sizes) {
      size = llvm::divideCeil(size, shards);
      Value shard = over(left, size);
      left = subtract(left, times(shard, size));
      position = add(times(position, shards), shard);
    }
    return position;
  }
};

} // namespace

std::optional<OwnerRead> OwnerRead::find(ReshardPlanner &planner, Operation *read, ArrayRef<ArrayType> operands,
                                         ArrayType made, ArrayType wanted) {
  std::optional<int64_t> dim = findDim(read, operands);
  if (!dim)
    return std::nullopt;
  const spmd::MeshShape &mesh = planner.getMesh();
  const std::vector<ReshardStep> &steps = planner.plan(made, wanted).steps;
  AxisRefs axes = withoutUnits(mesh, operands.front().getShardingOrOpen().toValue().dims[*dim]);
  if (steps.size() != 1 || steps.front().kind != ReshardStep::Kind::AllReduce || axes.empty() ||
      withoutUnits(mesh, steps.front().axes) != axes)
    return std::nullopt;
  std::vector<std::string> names;
  for (const spmd::AxisRef &axis : axes)
    names.push_back(axis.name);
  int64_t group = sizeOf(mesh, axes), bytes = wanted.getLocalBytes(mesh);
  auto sent = static_cast<double>((group - 1) * (mesh.deviceCount() / group) * bytes);
  return OwnerRead{*dim, planner.getModel().costOf("collective_broadcast", names, sent, static_cast<double>(bytes))};
}

Value OwnerRead::build(OpBuilder &builder, Operation *read, ArrayRef<Value> operands, ArrayType operand,
                       ArrayType result, const spmd::MeshShape &mesh) const {
  Location loc = read->getLoc();
  LocalBuilder local(builder, loc);
  ArrayRef<AxisRefAttr> axes = operand.getShardingOrOpen().getDims()[dim].getAxes();
  int64_t size = operand.getDimSize(dim);
  auto take = dyn_cast<TakeOp>(read);
  Value index = local.clamp(operands[take ? 1 : 1 + dim], size - 1);
  Value own = local.offset(index, local.shardStart(size, axes), /*isSubtracted=*/true), part;
  if (take) {
    part = builder.create<TakeOp>(loc, operands[0], own, dim);
    index = builder.createOrFold<ReshapeOp>(loc, typeOf(index).withShape({}), index);
  } else {
    SmallVector<Value> starts(operands.drop_front());
    starts[dim] = own;
    SmallVector<int64_t> sizes(typeOf(operands[0]).getShape());
    for (auto [here, taken, all] : llvm::zip(sizes, cast<DynamicSliceOp>(read).getSizes(), operand.getShape()))
      here = taken == all ? here : taken;
    part = builder.create<DynamicSliceOp>(loc, operands[0], starts, sizes);
  }
  AxesAttr group = AxesAttr::get(builder.getContext(), axes);
  Value root = OwnerPosition(builder, loc).of(index, size, spmd::sizesOf(mesh, group.toValues()));
  if (root.getType() != local.indexType()) // The index may be i64.
    root = builder.create<ConvertOp>(loc, local.indexType(), root);
  std::string why = (read->getName().stripDialect() + " reads one element of a dimension that is sharded over " +
                     spmd::quotedNames(group.toValues()) + ": its owner sends it; the result is " + result.str())
                        .str();
  why += whyForCondition(read->getResult(0));
  return builder.create<CollectiveBroadcastOp>(loc, part.getType(), part, root, group, builder.getStringAttr(why));
}

} // namespace spmdc
