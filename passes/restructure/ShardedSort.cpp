//===- ShardedSort.cpp - a sort along a sharded dimension -----------------===//

#include "passes/restructure/ShardedSort.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"

#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

bool isShardedAs(Value value, ArrayType type) {
  return typeOf(value).getShardingOrOpen().hasSameAxes(type.getShardingOrOpen());
}

/// Whether the value is defined before the operation.
bool isDefinedBefore(Value value, Operation *op) {
  Operation *around = value.getParentBlock()->findAncestorOpInBlock(*op);
  Operation *source = value.getDefiningOp();
  return around && (!source || source->isBeforeInBlock(around));
}

/// Moves the sort as late as possible: arrays that are taken by it may be defined behind it.
void moveToFirstUse(ArgsortOp op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (Operation *here = op->getBlock()->findAncestorOpInBlock(*user); !first || here->isBeforeInBlock(first))
      first = here;
  if (first)
    op->moveBefore(first);
}

/// Replaces `x[shardedSort]` of one dimension by a take_along, which is equivalent.
void takeAlong(ArgsortOp op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (auto take = dyn_cast<TakeOp>(user); take && take.getIndices() == op.getResult() &&
                                            take.getOperand() != op.getResult() &&
                                            take.getOperand().getType().getRank() == 1 && op.getType().getRank() == 1) {
      OpBuilder b(take);
      take.replaceAllUsesWith(
          b.create<TakeAlongOp>(take.getLoc(), take.getType(), take.getOperand(), take.getIndices(), 0).getResult());
      take.erase();
    }
}

/// Whether `take` takes elements by `indices`, all or a slice of the sort's result.
bool takesBy(TakeAlongOp take, Value indices, ArgsortOp op) {
  return take && take.getIndices() == indices && take.getDim() == op.getDim();
}

/// The users of the slice that take the sort's operand by it.
SmallVector<TakeAlongOp> listTakesOfSlice(SliceOp slice, ArgsortOp op) {
  SmallVector<TakeAlongOp> takes;
  for (Operation *user : slice->getUsers()) {
    auto take = dyn_cast<TakeAlongOp>(user);
    if (takesBy(take, slice, op) && take.getOperand() == op.getOperand())
      takes.push_back(take);
  }
  return takes;
}

} // namespace

std::optional<ShardedSort> ShardedSort::of(ArgsortOp op, ReshardPlanner &planner) {
  ShardedSort shardedSort;
  shardedSort.op = op;
  ArrayType type = shardedSort.getType();
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  std::vector<int64_t> sizes;
  shardedSort.numShards = 1;
  for (const spmd::AxisRef &axis : sharding.dims[shardedSort.getDim()]) {
    sizes.push_back(axis.sizeIn(planner.getMesh()));
    shardedSort.numShards *= sizes.back();
  }
  shardedSort.shardSize = spmd::localDimSize(shardedSort.getSize(), sizes);
  if (shardedSort.numShards == 1 || type.getNumElements() == 0 || !sharding.unreduced.empty() || op->use_empty() ||
      !holdsPositions(shardedSort.positionType(), shardedSort.numShards * shardedSort.shardSize))
    return std::nullopt;
  moveToFirstUse(op);
  takeAlong(op);
  shardedSort.gatherPrice = chooseStrategy(planner, cast<ShardingRuleOpInterface>(op.getOperation())).price;
  for (Operation *user : op->getUsers()) {
    if (auto slice = dyn_cast<SliceOp>(user)) {
      SmallVector<TakeAlongOp> takes = listTakesOfSlice(slice, op);
      for (TakeAlongOp take : takes)
        shardedSort.uses.push_back({take.getResult(), op.getOperand(), type, slice});
      shardedSort.usesPositions |= !llvm::hasNItems(slice->getUsers(), static_cast<unsigned>(takes.size()));
      continue;
    }
    auto take = dyn_cast<TakeAlongOp>(user);
    bool isLike = takesBy(take, op.getResult(), op) && take.getOperand().getType().getShape() == type.getShape() &&
                  isShardedAs(take.getOperand(), type) && isDefinedBefore(take.getOperand(), op);
    if (!isLike) {
      shardedSort.usesPositions = true;
      continue;
    }
    Value array = take.getOperand();
    shardedSort.uses.push_back({take.getResult(), array, take.getType()});
    if (array != op.getOperand() && !llvm::is_contained(shardedSort.taken, array)) {
      shardedSort.taken.push_back(array);
      shardedSort.gatherPrice += chooseStrategy(planner, cast<ShardingRuleOpInterface>(user)).price;
    }
  }
  if (shardedSort.usesPositions)
    shardedSort.uses.push_back({op.getResult(), Value(), op.getType()});
  return shardedSort;
}

SmallVector<Value> ShardedSort::listArrays() {
  SmallVector<Value> arrays{op.getOperand()};
  arrays.append(taken);
  return arrays;
}

void ShardedSort::replace(ArrayRef<Value> values) {
  for (auto [use, value] : llvm::zip(uses, values)) {
    if (!use.array)
      continue;
    Operation *take = use.result.getDefiningOp();
    Value result = value;
    if (SliceOp slice = use.slice)
      result = OpBuilder(take).create<SliceOp>(take->getLoc(), use.result.getType(), value, slice.getStarts(),
                                               slice.getLimits(), slice.getStrides());
    use.result.replaceAllUsesWith(result);
    take->erase();
  }
  for (auto [use, value] : llvm::zip(uses, values))
    if (!use.array)
      use.result.replaceAllUsesWith(value);
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    user->erase(); // A slice without users.
  op.erase();
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

SortPrice::SortPrice(ShardedSort &shardedSort, ReshardPlanner &planner) : shardedSort(shardedSort), planner(planner) {
  ArrayType type = shardedSort.getType();
  for (AxisRefAttr axis : type.getShardingOrOpen().getDims()[shardedSort.getDim()].getAxes())
    axes.push_back(axis.getName().str());
  lines = bytesOf(type, 1) / static_cast<double>(spmd::byteSize(type.getDType()));
}

double SortPrice::bytesOf(ArrayType type, double count) const {
  spmd::ShardedShape shape = type.toShardedShape();
  auto bytes = static_cast<double>(spmd::byteSize(type.getDType())) * count;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    std::vector<int64_t> sizes;
    for (const spmd::AxisRef &axis : shape.sharding.dims[d])
      sizes.push_back(axis.sizeIn(planner.getMesh()));
    if (d != shardedSort.getDim())
      bytes *= static_cast<double>(spmd::localDimSize(type.getDimSize(d), sizes));
  }
  return bytes;
}

void SortPrice::send(std::string_view collective, double bytes) {
  auto devices = static_cast<double>(planner.getMesh().deviceCount());
  cost = cost + planner.getModel().costOf(collective, axes, devices * bytes, bytes);
}

void SortPrice::sort(double count, double line) {
  sorting += planner.getModel().sortSeconds(lines * count * line, line);
}

void SortPrice::resize(ArrayType array, int64_t shardSize) {
  SmallVector<int64_t> padded(array.getShape());
  padded[shardedSort.getDim()] = shardedSort.numShards * shardSize;
  ArrayType to = array.withShape(padded).withSharding(array.getSharding());
  std::vector<spmd::DimMove> moves;
  for (auto [before, after] : llvm::zip(array.getShape(), to.getShape()))
    moves.push_back({0, 1, 0, std::min(before, after)});
  if (double bytes = getExchangeBytes(planner.getMesh(), array, to, moves); bytes > 0)
    cost = cost + planner.getModel().costOf("exchange", axes, bytes, 0);
}

void SortPrice::deliver(int64_t shardSize) {
  for (const SortUse &use : shardedSort.uses) {
    ArrayType made = use.type.withSharding(shardedSort.getType().getSharding());
    resize(made, shardSize);
    cost = cost + planner.plan(made, use.type).cost;
  }
}

Price SortPrice::get() const {
  const CostModel &model = planner.getModel();
  return model.price(cost, planner.getMesh().deviceCount(), touched / model.memoryPerSecond + sorting);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

SortBuilder::SortBuilder(ShardedSort &shardedSort, OpBuilder builder)
    : shardedSort(shardedSort), dim(shardedSort.getDim()), descending(shardedSort.op.getDescending()),
      b(std::move(builder)), loc(shardedSort.op.getLoc()), original(shardedSort.getType()) {}

ArrayType SortBuilder::makeType(Type elementType, ArrayRef<int64_t> sizes, bool isSharded) const {
  SmallVector<int64_t> shape(original.getShape());
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  spmd::Sharding sharding = original.getShardingOrOpen().toValue();
  auto axes = sharding.dims[dim];
  sharding.dims.erase(sharding.dims.begin() + dim);
  sharding.dims.insert(sharding.dims.begin() + dim, sizes.size(), {});
  if (isSharded)
    sharding.dims[dim] = axes;
  return original.withElementType(elementType)
      .withShape(shape)
      .withSharding(ShardingAttr::fromValue(original.getContext(), sharding));
}

ArrayType SortBuilder::typeLike(Value x, ArrayRef<int64_t> sizes, bool isSharded) const {
  return makeType(typeOf(x).getElementType(), sizes, isSharded);
}

Value SortBuilder::reshape(Value x, ArrayRef<int64_t> sizes, bool isSharded) {
  return b.create<ReshapeOp>(loc, typeLike(x, sizes, isSharded), x);
}

Value SortBuilder::transpose(Value x, ArrayRef<int64_t> places, ArrayRef<int64_t> sizes, bool isSharded) {
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < dim; ++d)
    perm.push_back(d);
  for (int64_t place : places)
    perm.push_back(dim + place);
  for (auto d = dim + static_cast<int64_t>(places.size()); d < typeOf(x).getRank(); ++d)
    perm.push_back(d);
  return b.create<TransposeOp>(loc, typeLike(x, sizes, isSharded), x, perm);
}

Value SortBuilder::pad(Value x, int64_t along, ArrayType type, int64_t low, int64_t high, Scalar filler) {
  SmallVector<int64_t> lows(type.getRank()), highs(type.getRank()), none(type.getRank());
  lows[dim + along] = low;
  highs[dim + along] = high;
  Value value = b.create<ConstantOp>(loc, type.withShape({}), filler);
  return b.create<PadOp>(loc, type, x, value, lows, highs, none);
}

Value SortBuilder::slice(Value x, int64_t along, ArrayType type, int64_t begin) {
  SmallVector<int64_t> starts(type.getRank()), limits(type.getShape()), strides(type.getRank(), 1);
  starts[dim + along] = begin;
  limits[dim + along] += begin;
  return b.create<SliceOp>(loc, type, x, starts, limits, strides);
}

Value SortBuilder::concatenate(ArrayRef<Value> parts, int64_t along, ArrayType type) {
  return b.create<ConcatenateOp>(loc, type, parts, dim + along);
}

Value SortBuilder::argsort(Value x, int64_t along, bool isDescending) {
  return b.create<ArgsortOp>(loc, typeOf(x).withElementType(shardedSort.positionType()), x, dim + along, isDescending);
}

Value SortBuilder::take(Value x, Value indices, int64_t along) {
  ArrayType type = typeOf(indices).withElementType(typeOf(x).getElementType());
  return b.create<TakeAlongOp>(loc, type, x, indices, dim + along);
}

Value SortBuilder::split(Value x, int64_t shardSize, Scalar filler) {
  int64_t size = shardedSort.numShards * shardSize, missing = size - shardedSort.getSize();
  return reshape(missing == 0 ? x : pad(x, 0, typeLike(x, {size}), 0, missing, filler),
                 {shardedSort.numShards, shardSize});
}

Value SortBuilder::join(Value x, ArrayType type) {
  int64_t size = shardedSort.numShards * typeOf(x).getDimSize(dim + 1);
  if (shardedSort.getSize() == size)
    return b.create<ReshapeOp>(loc, type, x);
  return slice(reshape(x, {size}), 0, type, 0);
}

Scalar lastOf(Type type, bool isDescending) {
  if (isa<FloatType>(type)) {
    double nan = std::numeric_limits<double>::quiet_NaN();
    return Scalar::ofFloat(isDescending ? -nan : nan);
  }
  return getReductionIdentity(type, isDescending ? ReductionKind::max : ReductionKind::min);
}

} // namespace spmdc
