//===- LookUpFirst.cpp - lookups in slices of arrays ----------------------===//
//
// Tables of one shape may be one array that is sharded along the dimension that counts them. A table is then on some of
// the devices, and a lookup on the others needs a reshard of the table, however few of its rows are read. Instead all
// devices look up the same rows in their shards, and only the rows of the one table are resharded:
//
//   take(e[3], i, axis=0)   =   take(e, i, axis=1)[3]
//
//===----------------------------------------------------------------------===//

#include "passes/restructure/LookUpFirst.h"

#include "ir/spmd/DebugTrace.h"
#include "passes/cost/RunCounts.h"
#include "passes/strategy/Strategy.h"

using namespace mlir;

namespace spmdc {
namespace {

DebugTrace trace("look-up-first", "not looked up first");

const AxisRefs &axesOf(const spmd::Sharding &sharding, int64_t dim) { return sharding.dims[dim]; }

/// A slice of an array in which elements are looked up.
class LookedUpPart {
public:
  LookedUpPart(SliceOp slice, ReshardPlanner &planner, RunCounts &runs)
      : slice(slice), planner(planner), runs(runs), source(slice.getOperand()), from(typeOf(source)),
        sourceSharding(from.getShardingOrOpen().toValue()) {}

  /// Looks up in the array instead, if that sends less.
  bool rewrite(SmallVectorImpl<Location> &places) {
    if (!sourceSharding.unreduced.empty() || !slicesShardedDim())
      return trace.skip(slice, "it takes no part of a sharded dimension");
    collect(slice);
    if (lookups.empty())
      return trace.skip(slice, "nothing is looked up in it");
    for (auto &[take, dims] : lookups)
      replacements.push_back(isa<TakeOp>(take) ? lookUp(cast<TakeOp>(take), dims)
                                               : lookUp(cast<TakeAlongOp>(take), dims));
    Price old = priceWithCurrentShardings(planner, runs, unused), now = priceWithCurrentShardings(planner, runs, built);
    bool isBetter = now.linkBytes < old.linkBytes && now.isBetterThan(old);
    if (isBetter) {
      for (auto [lookup, replacement] : llvm::zip_equal(lookups, replacements)) {
        Operation *take = lookup.first;
        places.push_back(take->getLoc());
        if (Attribute isAnnotated = take->getAttr(kAnnotatedAttrName))
          replacement.getDefiningOp()->setAttr(kAnnotatedAttrName, isAnnotated);
        take->getResult(0).replaceAllUsesWith(replacement);
      }
    } else {
      trace.skip(slice, "lookups in the full array send ", asCount(now.linkBytes), " bytes and take ",
                 asTime(now.seconds), ", those in the slice ", asCount(old.linkBytes), " and ", asTime(old.seconds));
      unused = built;
    }
    for (Operation *op : llvm::reverse(unused))
      op->erase();
    return isBetter;
  }

private:
  bool isFullSize(int64_t dim) const {
    return slice.getStarts()[dim] == 0 && slice.getLimits()[dim] == from.getDimSize(dim) &&
           slice.getStrides()[dim] == 1;
  }
  bool slicesShardedDim() const {
    return llvm::any_of(llvm::seq<int64_t>(0, from.getRank()),
                        [&](int64_t dim) { return !isFullSize(dim) && !axesOf(sourceSharding, dim).empty(); });
  }

  /// Collects lookups in the slice itself, or in a reshape of it that drops dimensions of size 1, and the operations
  /// that serve only these lookups. An annotated value stays.
  bool collect(Operation *op) {
    Value part = op->getResult(0);
    std::optional<SmallVector<int64_t>> dims = findDims(typeOf(part).getShape());
    if (!dims || isPerDevice(op))
      return false;
    size_t place = unused.size();
    bool isForLookups = !part.use_empty() && !op->hasAttr(kAnnotatedAttrName);
    for (OpOperand &use : part.getUses()) {
      Operation *user = use.getOwner();
      if (isa<ReshapeOp>(user) && op == slice.getOperation()) {
        isForLookups &= collect(user);
      } else if (use.getOperandNumber() == 0 && isLookup(user, *dims)) {
        lookups.emplace_back(user, *dims);
        unused.push_back(user);
      } else {
        isForLookups = false;
      }
    }
    if (isForLookups)
      unused.insert(unused.begin() + static_cast<ptrdiff_t>(place), op);
    return isForLookups;
  }

  bool isLookup(Operation *user, ArrayRef<int64_t> dims) const {
    if (auto take = dyn_cast<TakeOp>(user))
      return isFullSize(dims[take.getDim()]);
    auto take = dyn_cast<TakeAlongOp>(user);
    auto isOneOfMany = [&](int64_t dim) { return isFullSize(dim) || slice.getType().getDimSize(dim) == 1; };
    return take && isFullSize(dims[take.getDim()]) && llvm::all_of(llvm::seq<int64_t>(0, from.getRank()), isOneOfMany);
  }

  /// The dimensions of the slice that `shape` has, if it drops only dimensions of size 1.
  std::optional<SmallVector<int64_t>> findDims(ArrayRef<int64_t> shape) const {
    SmallVector<int64_t> dims;
    for (auto [dim, size] : llvm::enumerate(slice.getType().getShape()))
      if (dims.size() < shape.size() && shape[dims.size()] == size)
        dims.push_back(static_cast<int64_t>(dim));
      else if (size != 1)
        return std::nullopt;
    return dims.size() == shape.size() ? std::optional(dims) : std::nullopt;
  }

  Value lookUp(TakeOp take, ArrayRef<int64_t> dims) {
    int64_t taken = dims[take.getDim()];
    ArrayType indices = take.getIndices().getType(), result = take.getType();
    spmd::Sharding ofIndices = indices.getShardingOrOpen().toValue(), ofResult = result.getShardingOrOpen().toValue();
    // Dimensions of the lookup in the array, and of the wanted slice of it.
    SmallVector<int64_t> shape, starts, limits, strides, kept;
    spmd::Sharding found, wanted;
    for (int64_t dim = 0, next = 0; dim < from.getRank(); ++dim) {
      bool isValid = llvm::is_contained(dims, dim);
      if (dim != taken) {
        shape.push_back(from.getDimSize(dim));
        found.dims.push_back(sourceSharding.dims[dim]);
        starts.push_back(slice.getStarts()[dim]);
        limits.push_back(slice.getLimits()[dim]);
        strides.push_back(slice.getStrides()[dim]);
        wanted.dims.push_back(isValid ? ofResult.dims[next++] : AxisRefs());
        continue;
      }
      for (auto [size, axes] : llvm::zip_equal(indices.getShape(), ofIndices.dims)) {
        shape.push_back(size);
        bool isFree = llvm::none_of(sourceSharding.dims, [&](const AxisRefs &others) { return overlap(others, axes); });
        found.dims.push_back(isFree ? axes : AxisRefs());
        starts.push_back(0);
        limits.push_back(size);
        strides.push_back(1);
        wanted.dims.push_back(ofResult.dims[next++]);
      }
    }
    auto inArray = build<TakeOp>(take, typed(shape, found), source, take.getIndices(), taken);
    return takePart(take, inArray, starts, limits, strides, wanted);
  }

  Value lookUp(TakeAlongOp take, ArrayRef<int64_t> dims) {
    int64_t taken = dims[take.getDim()];
    ArrayType indices = take.getIndices().getType(), result = take.getType();
    spmd::Sharding found = sourceSharding, wanted;
    SmallVector<int64_t> shape(from.getShape()), starts(slice.getStarts()), limits(slice.getLimits()),
        strides(slice.getStrides());
    wanted.dims.resize(from.getRank());
    for (auto [number, dim] : llvm::enumerate(dims))
      wanted.dims[dim] = result.getShardingOrOpen().toValue().dims[number];
    shape[taken] = limits[taken] = result.getDimSize(static_cast<int64_t>(take.getDim()));
    found.dims[taken].clear();
    // The same indices apply to each of the array's slices.
    auto everywhere = build<BroadcastInDimOp>(take, typed(shape, found).withElementType(indices.getElementType()),
                                              take.getIndices(), dims);
    auto inArray = build<TakeAlongOp>(take, typed(shape, found), source, everywhere, taken);
    return takePart(take, inArray, starts, limits, strides, wanted);
  }

  /// The slice of the lookup in the array that equals the lookup in the slice.
  Value takePart(Operation *take, Value found, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
                 ArrayRef<int64_t> strides, const spmd::Sharding &wanted) {
    SmallVector<int64_t> shape;
    for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
      shape.push_back((limit - start + stride - 1) / stride);
    auto result = cast<ArrayType>(take->getResult(0).getType());
    Value part = build<SliceOp>(take, typed(shape, wanted), found, starts, limits, strides);
    return shape.size() == static_cast<size_t>(result.getRank()) ? part : build<ReshapeOp>(take, result, part);
  }

  ArrayType typed(ArrayRef<int64_t> shape, const spmd::Sharding &sharding) const {
    return from.withShape(shape).withSharding(ShardingAttr::fromValue(from.getContext(), sharding));
  }

  template <typename Op, typename... Args> Value build(Operation *take, Args &&...args) {
    auto op = OpBuilder(take).create<Op>(take->getLoc(), std::forward<Args>(args)...);
    built.push_back(op);
    return op.getResult();
  }

  mutable SliceOp slice;
  ReshardPlanner &planner;
  RunCounts &runs;
  Value source;
  ArrayType from;
  spmd::Sharding sourceSharding; ///< The array's sharding.
  /// The lookups, each with the dimensions of the slice that the dimensions of its operand are.
  SmallVector<std::pair<Operation *, SmallVector<int64_t>>> lookups;
  SmallVector<Operation *> unused; ///< Operations that are not needed after the rewrite; operands come first.
  SmallVector<Operation *> built;
  SmallVector<Value> replacements;
};

} // namespace

SmallVector<Location> lookUpFirst(func::FuncOp func, ReshardPlanner &planner) {
  RunCounts runs;
  SmallVector<SliceOp> slices;
  func.walk([&](SliceOp slice) { slices.push_back(slice); });
  SmallVector<Location> places;
  for (SliceOp slice : slices)
    LookedUpPart(slice, planner, runs).rewrite(places);
  return places;
}

} // namespace spmdc
