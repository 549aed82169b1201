//===- ReshardPlanner.cpp - plans the cheapest reshard --------------------===//

#include "passes/reshard/ReshardPlanner.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/PartialSums.h"
#include "passes/reshard/ExchangeAxes.h"
#include "passes/reshard/KeyParts.h"
#include "passes/reshard/ReshardSearch.h"

using namespace mlir;

namespace spmdc {
namespace {

AxesAttr axesAttr(MLIRContext *context, const std::vector<spmd::AxisRef> &axes) {
  SmallVector<AxisRefAttr> attrs;
  for (const spmd::AxisRef &axis : axes)
    attrs.push_back(AxisRefAttr::get(context, axis.name, axis.preSize, axis.size));
  return AxesAttr::get(context, attrs);
}

/// The value on the first device along the axes, and the neutral value of a sum on the others.
Value buildOnFirst(OpBuilder &builder, Location loc, Value local, AxesAttr axes) {
  LocalBuilder b(builder, loc);
  Value place = builder.create<AxisIndexOp>(loc, b.indexType(), axes);
  Value isFirst = b.compare(place, b.splat({}, 0), ComparisonDirection::eq);
  return b.select(b.broadcast(isFirst, typeOf(local).getShape()), local, b.nothing(typeOf(local)));
}

/// The local array at its place in the result, with the neutral value of a sum around it.
Value buildInZeros(OpBuilder &builder, Location loc, Value local, ArrayType result, int64_t dim, AxesAttr axes,
                   const spmd::MeshShape &mesh) {
  LocalBuilder b(builder, loc);
  int64_t shard = typeOf(local).getDimSize(dim), size = result.getDimSize(dim), shards = 1;
  for (int64_t each : spmd::sizesOf(mesh, axes.toValues()))
    shards *= each;
  // With uneven shards, the padded shards together are longer than the dimension.
  SmallVector<int64_t> shape(result.getShape());
  shape[dim] = shard * shards;
  SmallVector<Value> starts(shape.size(), b.splat({}, 0));
  Value place = builder.create<AxisIndexOp>(loc, b.indexType(), axes);
  ArrayType position = b.positionType(shape[dim]);
  if (place.getType() != position)
    place = builder.create<ConvertOp>(loc, position, place);
  starts[dim] = b.multiply(place, b.splat({}, shard));
  Value placed = builder.create<DynamicUpdateSliceOp>(loc, b.nothing(result.withShape(shape)), local, starts);
  if (shape[dim] == size)
    return placed;
  return builder.create<SliceOp>(loc, result, placed, SmallVector<int64_t>(shape.size(), 0), result.getShape(),
                                 SmallVector<int64_t>(shape.size(), 1));
}

/// The type of the resharded array without a sharding, and the element type of its partial sums (ReducePrecision.h).
struct ReshardedTypes {
  ArrayType whole;
  Type partial;

  ReshardedTypes(ArrayType source, ArrayType target) {
    bool isPartial = !source.getShardingOrOpen().getUnreduced().empty();
    whole = (isPartial ? target : source).withoutSharding();
    partial = (isPartial ? source : target).getElementType();
  }

  /// The bytes of a partial sum, relative to those of an element.
  double getPartialScale() const {
    return static_cast<double>(spmd::byteSize(getDType(partial))) / spmd::byteSize(whole.getDType());
  }
};

} // namespace

/// Whether the module has a region that is manual along some axes. Its values may differ along the manual axes,
/// although shardings in it do not name these.
static bool hasPartlyManualRegion(Operation *module) {
  return module
      ->walk([](ManualOp op) { return op.hasAutomaticAxes() ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

ReshardPlanner::ReshardPlanner(Operation *module)
    : ReshardPlanner(spmdc::getMesh(module).toValue(), CostModel::of(cast<ModuleOp>(module)).forGoal(),
                     !hasPartlyManualRegion(module)) {}

std::pair<ArrayType, ArrayType> ReshardPlanner::keyOf(ArrayType source, ArrayType target) {
  auto close = [](ArrayType type) {
    ShardingAttr sharding = type.getShardingOrOpen().getClosed();
    return sharding == type.getSharding() ? type : type.withSharding(sharding);
  };
  return {close(source), close(target)};
}

double ReshardPlanner::getLeastBytes(ArrayType source, ArrayType target) const {
  auto [from, to] = keyOf(source, target);
  if (auto known = plans.find({from, to}); known != plans.end())
    return known->second->cost.linkBytes;
  auto [entry, isNew] = least.try_emplace({from, to}, 0.0);
  if (isNew)
    entry->second = model.leastWeight(mesh) * computeLeastBytes(from, to);
  return entry->second;
}

const CollectiveCost &ReshardPlanner::getExchangeCost(ArrayType source, ArrayType target,
                                                      const std::vector<spmd::DimMove> &moves) {
  auto numberOf = [](ArrayType type) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(type.getAsOpaquePointer()));
  };
  std::vector<int64_t> key{numberOf(source), numberOf(target)};
  llvm::append_range(key, listMoveNumbers(moves));
  auto [entry, isNew] = exchanges.try_emplace(std::move(key));
  if (!isNew)
    return entry->second;
  double bytes = getExchangeBytes(mesh, source, target, moves);
  auto local = static_cast<double>(target.getLocalBytes(mesh));
  if (bytes == 0)
    entry->second.peakBytes = local;
  else
    entry->second = model.costOf("exchange", getExchangeRates(model, mesh, source, target, moves), bytes, local);
  return entry->second;
}

double ReshardPlanner::computeLeastBytes(ArrayType source, ArrayType target) const {
  ShardingAttr from = source.getShardingOrOpen(), to = target.getShardingOrOpen();
  const ReshardState *start = spaces.getState(from), *goal = spaces.getState(to);
  const ReshardedTypes types(source, target);
  if (start && goal)
    return leastReshardBytes(spaces.get(types.whole), types.getPartialScale(), *start, *goal);
  const spmd::Sharding fromValue = from.toValue(), toValue = to.toValue();
  const ReshardSpace own(mesh, types.whole, Atoms(mesh, {&fromValue, &toValue}));
  return leastReshardBytes(own, types.getPartialScale(), ReshardState::of(own.atoms, fromValue),
                           ReshardState::of(own.atoms, toValue));
}

const ReshardPlan &ReshardPlanner::plan(ArrayType source, ArrayType target) {
  auto [from, to] = keyOf(source, target);
  auto [entry, isNew] = plans.try_emplace({from, to});
  if (isNew) {
    entry->second = std::make_unique<ReshardPlan>(search(from, to));
    explored += entry->second->explored;
  }
  return *entry->second;
}

ReshardPlan ReshardPlanner::search(ArrayType source, ArrayType target) const {
  ShardingAttr from = source.getShardingOrOpen(), to = target.getShardingOrOpen();
  const spmd::Sharding fromValue = from.toValue(), toValue = to.toValue();
  const ReshardedTypes types(source, target);
  if (spaces.getState(from) && spaces.getState(to))
    return searchReshard(spaces.get(types.whole), model, types.getPartialScale(), fromValue, toValue, spreads);
  const ReshardSpace own(mesh, types.whole, Atoms(mesh, {&fromValue, &toValue}));
  return searchReshard(own, model, types.getPartialScale(), fromValue, toValue, spreads);
}

Value ReshardPlanner::build(OpBuilder &builder, Location loc, Value local, ArrayType source, ArrayType target,
                            StringRef why) {
  MLIRContext *context = builder.getContext();
  StringAttr reason = why.empty() ? StringAttr() : builder.getStringAttr(why);
  MeshAttr meshAttr = MeshAttr::fromValue(context, "", mesh);
  const ReshardedTypes types(source, target);
  // A value that is unreduced over an axis of one device is complete: no step reduces it, so no type may name the axis.
  auto typeOf = [&](spmd::Sharding sharding) {
    std::erase_if(sharding.unreduced, [&](const spmd::AxisRef &axis) { return axis.sizeIn(mesh) == 1; });
    ArrayType type = types.whole.withSharding(ShardingAttr::fromValue(context, sharding));
    return sharding.unreduced.empty() ? type : type.withElementType(types.partial);
  };
  ArrayType before = typeOf(source.getShardingOrOpen().toValue());
  local = convertTo(builder, loc, local, before.getElementType());
  for (const ReshardStep &step : plan(source, target).steps) {
    ArrayType after = typeOf(step.after), result = after.getLocal(meshAttr);
    // An operand that becomes a partial sum is widened before the step; a complete sum is rounded behind it.
    if (after.getShardingOrOpen().getUnreduced().empty())
      result = result.withElementType(before.getElementType());
    else
      local = convertTo(builder, loc, local, after.getElementType());
    AxesAttr axes = axesAttr(context, step.axes);
    switch (step.kind) {
    case ReshardStep::Kind::AllGather:
      local = builder.create<AllGatherOp>(loc, result, local, step.dim, axes, reason);
      break;
    case ReshardStep::Kind::AllSlice:
      local = builder.create<AllSliceOp>(loc, result, local, step.dim, axes);
      break;
    case ReshardStep::Kind::AllToAll:
      local = builder.create<AllToAllOp>(loc, result, local, step.dim, step.concatDim, axes, reason);
      break;
    case ReshardStep::Kind::AllReduce:
      local = builder.create<AllReduceOp>(loc, result, local, ReductionKind::sum, axes, reason);
      break;
    case ReshardStep::Kind::ReduceScatter:
      local = builder.create<ReduceScatterOp>(loc, result, local, ReductionKind::sum, step.dim, axes, reason);
      break;
    case ReshardStep::Kind::KeepOnFirst:
      local = buildOnFirst(builder, loc, local, axes);
      break;
    case ReshardStep::Kind::PlaceInZeros:
      local = buildInZeros(builder, loc, local, result, step.dim, axes, mesh);
      break;
    case ReshardStep::Kind::Exchange:
      local = builder.create<ExchangeOp>(loc, result, local, getExchangeAxes(before, after, {}, meshAttr), before,
                                         after, /*dim_moves=*/nullptr, reason);
      break;
    }
    local = convertTo(builder, loc, local, after.getElementType());
    before = after;
  }
  return local;
}

} // namespace spmdc
