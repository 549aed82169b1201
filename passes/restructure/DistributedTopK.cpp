//===- DistributedTopK.cpp - top-k along sharded dimensions ---------------===//

#include "passes/restructure/DistributedTopK.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/restructure/BeforeReshape.h"
#include "passes/restructure/MergedPositions.h"
#include "passes/restructure/ShardedSort.h"

using namespace mlir;

namespace spmdc {
namespace {

DebugTrace trace("distribute-sorts", "no distributed top-k");

/// How the candidates are found in the shards.
struct Search {
  Value operand;
  MergedDim dim;
  int64_t count = 0; ///< Candidates of each shard.
  bool isLast = false;
  Type positionType; ///< The element type of positions in the dimension.
  Scalar filler;     ///< Sorts after every element, or before it if the last elements are wanted.
};

/// The candidates of all shards: their elements and their positions.
class Candidates : IndexArithmetic {
public:
  /// `rank` returns the first or last places in each shard, `[shards, count]`, of an array `[shards, shard]`.
  Candidates(const Search &search, OpBuilder &b, Location loc, function_ref<Value(Value)> rank)
      : IndexArithmetic(b, loc), search(search), dim(search.dim.getDim()), b(b), loc(loc) {
    MergedPositions places(search.dim, b, loc);
    Value before = search.operand;
    if (search.dim.isMerged())
      before = buildBefore(b, before, search.dim.getSource());
    Value shards = pack(search.dim.toShards(b, loc, before, search.filler), places);
    Value ranks = rank(shards);
    elements = search.dim.join(b, loc, take(shards, ranks, dim + 1));
    MergedPositions::Found found = find(ranks, places);
    if (found.isValid) {
      Value outside = like(ranks, search.isLast ? -1 : search.dim.getSize());
      found.positions = select(found.isValid, found.positions, outside);
    }
    positions = search.dim.join(b, loc, found.positions);
  }

  /// All candidates' elements and positions, sharded like `type` in other dimensions; equals are in the order of
  /// positions.
  std::pair<Value, Value> listAs(ArrayType type) const {
    type = type.withElementType(search.positionType);
    if (isInOrder())
      return {elements, positions};
    Value order = b.create<ArgsortOp>(loc, type, positions, dim, /*descending=*/false);
    return {take(elements, order, dim), take(positions, order, dim)};
  }

  /// `result` with `shards * count` elements along the dimension, unsharded.
  ArrayType typeLike(ArrayType result) const {
    SmallVector<int64_t> shape(result.getShape());
    shape[dim] = typeOf(elements).getDimSize(dim);
    spmd::Sharding sharding = result.getShardingOrOpen().toValue();
    sharding.dims[dim].clear();
    return result.withShape(shape).withSharding(ShardingAttr::fromValue(b.getContext(), sharding));
  }

  Value take(Value x, Value indices, int64_t along) const {
    ArrayType type = typeOf(indices).withElementType(typeOf(x).getElementType());
    return b.create<TakeAlongOp>(loc, type, x, indices, along);
  }

private:
  /// The elements with these ranks in packed shards.
  MergedPositions::Found find(Value ranks, const MergedPositions &places) const {
    Value shard = b.create<IotaOp>(loc, ranks.getType(), dim);
    if (!search.isLast || !search.dim.isPadded())
      return places.find(shard, ranks);
    Value ordinals = subtract(ranks, places.countMissing(shard));
    MergedPositions::Found found = places.find(shard, ordinals);
    found.isValid = compare(ordinals, ComparisonDirection::ge, like(ordinals, 0));
    return found;
  }

  /// Moves the filler of each shard behind its elements, or in front of them.
  Value pack(Value shards, const MergedPositions &places) const {
    if (search.isLast ? !search.dim.isPadded() : search.dim.isPaddedAtEnd())
      return shards;
    ArrayType type = typeOf(shards).withElementType(search.positionType);
    MergedPositions::Found found = find(b.create<IotaOp>(loc, type, dim + 1), places);
    Value filler = b.create<ConstantOp>(loc, typeOf(shards), search.filler);
    return select(found.isValid, take(shards, found.shardIndices, dim + 1), filler);
  }

  bool isInOrder() const {
    bool isFilledAtEnd = search.dim.isPaddedAtEnd() && search.dim.countAxes() == 1 && !search.isLast;
    return search.dim.hasRuns() && (isFilledAtEnd || !search.dim.isPadded());
  }

  const Search &search;
  int64_t dim;
  OpBuilder &b;
  Location loc;
  Value elements, positions;
};

//===----------------------------------------------------------------------===//
// Slices of sorts
//===----------------------------------------------------------------------===//

/// Whether the slice takes elements from one end of the sorted dimension.
bool slicesEnd(SliceOp slice, int64_t dim, bool isLast) {
  ArrayRef<int64_t> shape = slice.getOperand().getType().getShape();
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (slice.getStrides()[d] != 1 || ((d != dim || !isLast) && slice.getStarts()[d] != 0) ||
        ((d != dim || isLast) && slice.getLimits()[d] != shape[d]))
      return false;
  return true;
}

/// The users of a sort, if all of them are slices from this end.
std::optional<SmallVector<SliceOp>> listEnds(ArgsortOp op, bool isLast) {
  SmallVector<SliceOp> slices;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || !slicesEnd(slice, static_cast<int64_t>(op.getDim()), isLast))
      return std::nullopt;
    slices.push_back(slice);
  }
  return slices;
}

/// Operations that take the sorted elements themselves take them from the candidates.
void replaceTaken(SliceOp user, Value x, Value elements, Value first, int64_t dim) {
  for (Operation *other : llvm::make_early_inc_range(user->getUsers())) {
    auto take = dyn_cast<TakeAlongOp>(other);
    if (!take || take.getOperand() != x || static_cast<int64_t>(take.getDim()) != dim ||
        take.getIndices() != user.getResult())
      continue;
    OpBuilder builder(take);
    Value taken = builder.create<TakeAlongOp>(take.getLoc(), take.getType(), elements, first, dim);
    take.replaceAllUsesWith(taken);
    take.erase();
  }
}

void buildTopK(ArgsortOp op, ArrayRef<SliceOp> slices, const Search &search) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t dim = search.dim.getDim();
  auto slice = [&](Value x, ArrayType type, int64_t along) -> Value {
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1);
    if (search.isLast)
      starts[along] = typeOf(x).getDimSize(along) - type.getDimSize(along);
    limits[along] += starts[along];
    return b.create<SliceOp>(loc, type, x, starts, limits, strides);
  };
  Candidates candidates(search, b, loc, [&](Value shards) {
    Type index = search.positionType;
    Value ranks = b.create<ArgsortOp>(loc, typeOf(shards).withElementType(index), shards, dim + 1, op.getDescending());
    return slice(ranks, search.dim.typeOfShards(index, search.count), dim + 1);
  });
  for (SliceOp user : slices) {
    ArrayType all = candidates.typeLike(user.getType());
    auto [elements, positions] = candidates.listAs(all);
    Value end = b.create<ArgsortOp>(loc, all, elements, dim, op.getDescending());
    end = slice(end, user.getType(), dim);
    replaceTaken(user, search.operand, elements, end, dim);
    user.replaceAllUsesWith(b.create<TakeAlongOp>(loc, user.getType(), positions, end, dim).getResult());
    user.erase();
  }
  op.erase();
}

/// The value that sorts before every other element.
Scalar firstOf(Type type, bool isDescending) {
  if (isa<FloatType>(type) && !isDescending)
    return getReductionIdentity(type, ReductionKind::max);
  return lastOf(type, !isDescending);
}

} // namespace

bool distributeTopK(ArgsortOp op, const spmd::MeshShape &mesh) {
  auto along = static_cast<int64_t>(op.getDim());
  std::optional<MergedDim> dim = MergedDim::of(op.getOperand(), along, mesh);
  if (!dim)
    return false;
  for (bool isLast : {false, true}) {
    std::optional<SmallVector<SliceOp>> slices = listEnds(op, isLast);
    if (!slices || slices->empty())
      continue;
    int64_t count = 0;
    for (SliceOp slice : *slices)
      count = std::max(count, slice.getType().getDimSize(along));
    count = std::min(count, dim->getShardSize());
    // A candidate is an element and its position.
    ArrayType type = op.getOperand().getType();
    int64_t bytes = spmd::byteSize(type.getDType()), candidateBytes = bytes + spmd::byteSize(op.getType().getDType());
    int64_t candidates = dim->getNumShards() * count * candidateBytes, all = type.getDimSize(along) * bytes;
    if (count == 0 || candidates >= all)
      return trace.skip(op, "the candidates of all shards have ", candidates, " bytes, the sorted dimension ", all);
    auto endOf = isLast ? firstOf : lastOf;
    buildTopK(op, *slices,
              {op.getOperand(), *dim, count, isLast, op.getType().getElementType(),
               endOf(type.getElementType(), op.getDescending())});
    return true;
  }
  return trace.skip(op, "its users are not slices from one end");
}

void distributeMergedExtreme(ArgReduceOp op, const spmd::MeshShape &mesh) {
  auto along = static_cast<int64_t>(op.getDim());
  std::optional<MergedDim> dim = MergedDim::of(op.getOperand(), along, mesh);
  if (!dim || !dim->isMerged())
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  ReductionKind kind = op.getIsMax() ? ReductionKind::max : ReductionKind::min;
  Search search{op.getOperand(),
                *dim,
                1,
                /*isLast=*/false,
                op.getType().getElementType(),
                getReductionIdentity(op.getOperand().getType().getElementType(), kind)};
  // An argmax or argmin that keeps the dimension with size 1.
  auto find = [&](Value x, ArrayType type, int64_t dimOfOne) -> Value {
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dimOfOne);
    spmd::Sharding sharding = type.getShardingOrOpen().toValue();
    sharding.dims.erase(sharding.dims.begin() + dimOfOne);
    ArrayType found = type.withShape(shape).withSharding(ShardingAttr::fromValue(b.getContext(), sharding));
    Value place = b.create<ArgReduceOp>(loc, found, x, op.getIsMax(), dimOfOne);
    return b.create<ReshapeOp>(loc, type, place);
  };
  Candidates candidates(search, b, loc, [&](Value shards) {
    return find(shards, dim->typeOfShards(op.getType().getElementType(), 1), along + 1);
  });
  SmallVector<int64_t> shape(op.getType().getShape());
  shape.insert(shape.begin() + along, 1);
  spmd::Sharding sharding = op.getType().getShardingOrOpen().toValue();
  sharding.dims.insert(sharding.dims.begin() + along, {{}});
  ArrayType one = op.getType().withShape(shape).withSharding(ShardingAttr::fromValue(b.getContext(), sharding));
  auto [elements, positions] = candidates.listAs(candidates.typeLike(one));
  Value position = candidates.take(positions, find(elements, one, along), along);
  op.replaceAllUsesWith(b.create<ReshapeOp>(loc, op.getType(), position).getResult());
  op.erase();
}

} // namespace spmdc
