//===- Windows.cpp - shards with the halos that stencils read -------------===//

#include "passes/exchange/Windows.h"

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/exchange/ArrayMoves.h"
#include "passes/exchange/ConcatenatedSlices.h"
#include "passes/reshard/ExchangeAxes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <array>

using namespace mlir;

namespace spmdc {
namespace {

DebugTrace trace("windows", "no window");

bool isSharded(ArrayType type, int64_t dim) { return !type.getShardingOrOpen().getDims()[dim].getAxes().empty(); }

/// The elements of a dimension of the result that the move supplies.
spmd::MovedRange getExtent(const spmd::DimMove &move, int64_t from, int64_t to) {
  if (move.wraps && from > 0)
    return {move.begin, move.end - move.begin};
  return spmd::movedRange(move, {0, from}, {0, to});
}

/// The one array whose elements an operation's result consists of, and the slices that are not needed then.
struct SingleMove {
  ArrayMove move;
  Value outside;
  SmallVector<Operation *> slices;
};

/// The one array whose elements `value` consists of; nothing if there are several, or elements are also computed.
std::optional<SingleMove> findSingleMove(Value value) {
  auto op = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!op || isa<ReshardOp, ConstraintOp>(op.getOperation()) || isUnreduced(typeOf(value)))
    return std::nullopt;
  ArrayMoves moves = op.getMoves();
  if (moves.parts.size() == 1)
    return SingleMove{moves.parts[0], moves.outside, {}};
  std::optional<ConcatenatedSlices> joined = matchConcatenatedSlices(op);
  return joined ? std::make_optional(SingleMove{joined->move, Value(), joined->slices}) : std::nullopt;
}

/// Whether a move wraps along a dimension that is replicated in source and result: each device repeats its elements
/// itself, and none of them is sent twice.
bool wrapsLocally(const ArrayMove &move, ArrayType to, int64_t dim) {
  return move.dims[dim].wraps && !isSharded(typeOf(move.source), dim) && !isSharded(to, dim);
}

/// `count` elements of a dimension from index `first` on; indices are modulo the dimension's size.
Value takeWrapped(OpBuilder &builder, Location loc, Value x, int64_t dim, int64_t first, int64_t count) {
  ArrayType type = typeOf(x);
  int64_t size = type.getDimSize(dim);
  SmallVector<int64_t> starts(type.getRank()), limits(type.getShape()), strides(type.getRank(), 1);
  SmallVector<Value> parts;
  for (int64_t at = (first % size + size) % size, left = count; left > 0; at = 0) {
    starts[dim] = at;
    limits[dim] = std::min(size, at + left);
    left -= limits[dim] - at;
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = limits[dim] - at;
    parts.push_back(builder.create<SliceOp>(loc, type.withShape(shape), x, starts, limits, strides));
  }
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  return parts.size() == 1 ? parts[0] : builder.create<ConcatenateOp>(loc, type.withShape(shape), parts, dim);
}

} // namespace

Windows::Windows(ArrayRef<ShardingRuleOpInterface> ops, MeshAttr meshAttr)
    : meshAttr(meshAttr), mesh(meshAttr.toValue()), ops(ops) {
  // Three alternatives for each array; the one that sends least is used: windows of the arrays right before devices
  // exchange elements (`near`), windows of the arrays furthest back (`far`), and `far` together with operations that
  // read a part of an exchanged value without an exchange of their own (`taken`).
  std::array<std::vector<View>, 3> alternatives;
  auto &[near, far, taken] = alternatives;
  llvm::DenseMap<Operation *, Value> arrays;
  for (ShardingRuleOpInterface op : ops) {
    std::optional<View> view = getView(op), part = view ? std::nullopt : getPart(op);
    if (view) {
      near.push_back(*view);
      far.push_back(getFarther(*view));
      taken.push_back(far.back());
      arrays[op] = far.back().move.source;
      continue;
    }
    if (!part)
      continue;
    Operation *nearest = *llvm::find_if(part->between, [](Operation *inner) { return needsExchange(inner); });
    if (arrays.lookup(nearest) == part->move.source)
      taken.push_back(*part);
  }
  llvm::MapVector<Value, std::array<std::vector<Group>, 3>> byArray;
  for (auto [index, views] : llvm::enumerate(alternatives))
    for (Group &group : buildGroups(views)) {
      Value array = index == 0 ? arrays.lookup(group.views.front().op) : group.window.getSource();
      byArray[array][index].push_back(std::move(group));
    }
  for (auto &[array, byAlternative] : byArray) {
    std::vector<Group> *best = nullptr;
    CollectiveCost least;
    for (std::vector<Group> &list : byAlternative)
      if (CollectiveCost cost = chooseWindows(list); !best || cost < least) {
        best = &list;
        least = cost;
      }
    for (Group &group : *best)
      if (group.isUsed)
        groups.push_back(std::move(group));
      else
        trace.skip(group.views.front().op, "its window sends ", asCount(group.bytes),
                   " bytes, no less than an exchange");
  }
  std::vector<View> views;
  for (auto [number, group] : llvm::enumerate(groups)) {
    for (auto [index, view] : llvm::enumerate(group.views))
      places[view.op] = {static_cast<unsigned>(number), static_cast<unsigned>(index)};
    llvm::append_range(views, group.views);
  }
  skipped = findUnused(views);
  // An array of which there is a window has to be materialized, even if other views look through it.
  for (const Group &group : groups) {
    Value source = group.window.getSource();
    while (source && skipped.erase(source.getDefiningOp())) {
      std::optional<SingleMove> seen = findSingleMove(source);
      for (Operation *slice : seen ? seen->slices : SmallVector<Operation *>())
        skipped.erase(slice);
      source = seen ? seen->move.source : Value();
    }
  }
  divideCosts();
}

void Windows::divideCosts() {
  for (auto [number, group] : llvm::enumerate(groups)) {
    llvm::SmallSetVector<Operation *, 8> payers;
    for (const View &view : group.views) {
      // A skipped operation has no alternative to the window. The operations that read it may have one, and then pay
      // nothing.
      auto isPayer = [&](Operation *op) { return needsExchange(op) && skipped.contains(op); };
      auto between = llvm::make_filter_range(view.between, isPayer);
      payers.insert(between.begin(), between.end());
      if (between.empty() && needsExchange(view.op))
        payers.insert(view.op);
    }
    for (Operation *op : payers)
      shares[op].emplace_back(static_cast<unsigned>(number), 1.0 / static_cast<double>(payers.size()));
  }
}

std::vector<ShardingRuleOpInterface> Windows::listMovers(Region &region) {
  std::vector<ShardingRuleOpInterface> movers;
  region.walk([&](ShardingRuleOpInterface op) {
    if (isa<ReshardOp, ConstraintOp>(op.getOperation()) || isPerDevice(op))
      return;
    if (op.getMoves().parts.size() == 1 || matchConcatenatedSlices(op))
      movers.push_back(op);
  });
  return movers;
}

std::optional<CollectiveCost> Windows::getShare(Operation *op, const CostModel &model) const {
  auto share = shares.find(op);
  if (share == shares.end())
    return isSkipped(op) || places.contains(op) ? std::make_optional(CollectiveCost()) : std::nullopt;
  CollectiveCost total;
  for (auto [number, part] : share->second) {
    const Group &group = groups[number];
    if (group.bytes == 0)
      continue;
    ArrayType from = typeOf(group.window.getSource()), type = group.window.getType();
    auto local = static_cast<double>(type.getLocalBytes(mesh));
    CollectiveCost cost = model.costOf("exchange", getExchangeRates(model, mesh, from, type, group.window.getMoves()),
                                       group.bytes, local);
    cost.wireBytes *= part;
    cost.linkBytes *= part;
    cost.latencySeconds *= part;
    total = total + cost;
  }
  return total;
}

std::optional<Windows::View> Windows::getView(ShardingRuleOpInterface op) const {
  std::optional<SingleMove> seen = findSingleMove(op->getResult(0));
  if (!seen || !needsExchange(op))
    return std::nullopt;
  // Devices concatenate parts along a dimension that is not sharded locally, once the parts are sharded as the result.
  auto concatenate = dyn_cast<ConcatenateOp>(op.getOperation());
  if (concatenate && !isSharded(concatenate.getType(), static_cast<int64_t>(concatenate.getDim())))
    return trace.skip(op, "devices concatenate its operands locally"), std::nullopt;
  View view{op, seen->move, seen->outside, seen->slices};
  auto looksThrough = [](Value value, const SingleMove &inner) {
    // A pad that devices do locally would make the halos longer.
    bool isLonger = typeOf(value).getNumElements() > typeOf(inner.move.source).getNumElements();
    return (isLonger && !value.getDefiningOp<ConcatenateOp>()) || needsExchange(value.getDefiningOp());
  };
  for (std::optional<SingleMove> inner = findSingleMove(view.move.source);
       inner && looksThrough(view.move.source, *inner); inner = findSingleMove(view.move.source))
    if (!extendView(view, inner->move, inner->outside, inner->slices))
      break;
  if (isUnreduced(typeOf(view.move.source)))
    return trace.skip(op, "its elements come from a partial sum"), std::nullopt;
  if (!getDims(view))
    return trace.skip(op, "its elements are reversed, dilated or none of the array's"), std::nullopt;
  return view;
}

std::optional<Windows::View> Windows::getPart(ShardingRuleOpInterface op) const {
  std::optional<SingleMove> seen = findSingleMove(op->getResult(0));
  if (!seen || isa<ConcatenateOp>(op.getOperation()))
    return std::nullopt;
  View view = getFarther({op, seen->move, seen->outside, {}});
  bool isTaken = llvm::any_of(view.between, [](Operation *inner) { return needsExchange(inner); });
  if (!isTaken || isUnreduced(typeOf(view.move.source)) || !getDims(view))
    return std::nullopt;
  return view;
}

Windows::View Windows::getFarther(View view) const {
  while (std::optional<SingleMove> inner = findSingleMove(view.move.source)) {
    View farther = view;
    if (!extendView(farther, inner->move, inner->outside, inner->slices) || isUnreduced(typeOf(farther.move.source)) ||
        !getDims(farther))
      break;
    view = farther;
  }
  return view;
}

bool Windows::extendView(View &view, const ArrayMove &inner, Value outside, ArrayRef<Operation *> slices) {
  if (view.outside && outside && view.outside != outside)
    return false;
  std::optional<ArrayMove> move = composeMoves(view.move, inner);
  if (!move || isDilated(*move))
    return false;
  view.between.push_back(view.move.source.getDefiningOp());
  view.between.append(slices.begin(), slices.end());
  view.move = *move;
  if (!view.outside)
    view.outside = outside;
  return true;
}

std::optional<std::vector<WindowDim>> Windows::getDims(const View &view) const {
  ArrayType from = typeOf(view.move.source), to = typeOf(view.op->getResult(0));
  std::vector<WindowDim> dims(from.getRank());
  for (int64_t d = 0; d < from.getRank(); ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    if (move.stride < 1 || move.dilation != 1)
      return std::nullopt;
    WindowDim &dim = dims[d];
    dim.result = getShardedDim(mesh, to, d);
    dim.stride = move.stride;
    dim.step = dim.result.shards.size() > 1 ? move.stride : 0;
    spmd::MovedRange extent = getExtent(move, from.getDimSize(d), dim.result.size);
    if (extent.size == 0)
      return std::nullopt;
    if (wrapsLocally(view.move, to, d)) {
      dim.ranges.push_back({0, from.getDimSize(d)});
      continue;
    }
    dim.wraps = move.wraps;
    for (const spmd::ShardRange &shard : dim.result.shards) {
      int64_t begin = std::max(shard.start, extent.start);
      int64_t end = std::min(shard.start + shard.size, extent.start + extent.size);
      dim.ranges.push_back(
          begin < end ? WindowDim::Range{move.shift + move.stride * begin, move.shift + move.stride * (end - 1) + 1}
                      : WindowDim::Range());
    }
  }
  return dims;
}

Value Windows::build(OpBuilder &builder, Operation *op, function_ref<Value(Value)> localOf) {
  auto place = places.find(op);
  if (place == places.end())
    return nullptr;
  Group &group = groups[place->second.first];
  const View &view = group.views[place->second.second];
  Value source = group.window.getSource();
  if (!group.local)
    group.local = group.window.build(builder, view.op, localOf(source), meshAttr);
  Location loc = op->getLoc();
  ArrayType from = typeOf(source), to = typeOf(op->getResult(0)), result = to.getLocal(meshAttr);
  Value x = group.local;
  LocalBuilder local(builder, loc);
  int64_t rank = from.getRank();

  // The start of each dimension in the window, and the padding that is missing: the elements beyond the ends of the
  // array.
  SmallVector<int64_t> starts(rank), strides(rank), low(rank), high(rank), none(rank);
  SmallVector<spmd::MovedRange> extent;
  bool isPadded = false;
  for (int64_t d = 0; d < rank; ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    extent.push_back(getExtent(move, from.getDimSize(d), to.getDimSize(d)));
    if (wrapsLocally(view.move, to, d) && to.getDimSize(d) > 0) {
      x = takeWrapped(builder, loc, x, d, move.shift, to.getDimSize(d));
      strides[d] = 1;
      continue;
    }
    const WindowDim &dim = group.window.getDim(d);
    strides[d] = move.stride / dim.stride;
    int64_t first = (move.shift - dim.getFirst()) / dim.stride;
    int64_t limit = first + (result.getDimSize(d) - 1) * strides[d] + 1;
    low[d] = std::max<int64_t>(0, -first);
    high[d] = std::max<int64_t>(0, limit - typeOf(x).getDimSize(d));
    starts[d] = first + low[d];
    isPadded |= low[d] > 0 || high[d] > 0;
  }
  if (result.getNumElements() == 0)
    return builder.create<ConstantOp>(loc, result, Scalar());
  if (isPadded) {
    SmallVector<int64_t> shape(typeOf(x).getShape());
    for (int64_t d = 0; d < rank; ++d)
      shape[d] += low[d] + high[d];
    ArrayType padded = typeOf(x).withShape(shape);
    Value filler = view.outside ? localOf(view.outside)
                                : builder.create<ConstantOp>(loc, padded.withShape({}), Scalar()).getResult();
    x = builder.create<PadOp>(loc, padded, x, filler, low, high, none);
  }
  SmallVector<int64_t> limits;
  for (int64_t d = 0; d < rank; ++d)
    limits.push_back(starts[d] + (result.getDimSize(d) - 1) * strides[d] + 1);
  x = builder.create<SliceOp>(loc, result, x, starts, limits, strides);
  if (!view.outside)
    return x;
  // An unsharded dimension already has its padding, unless an operation between removes part of it. Positions of a
  // window that are beyond the ends of the array are zero, if the window is this view's: on devices where the view has
  // no element of the array, a window shared with another view may begin elsewhere.
  bool isZero = isPlainZero(view.outside);
  auto isOwnWindow = [&](int64_t d) {
    const WindowDim &dim = group.window.getDim(d);
    std::vector<spmd::ShardRange> shards = getShardedDim(mesh, to, d).shards;
    return shards.size() == dim.result.shards.size() && llvm::all_of(llvm::enumerate(shards), [&](const auto &shard) {
             return shard.value().size == 0 || view.move.dims[d].stride * shard.value().start ==
                                                   dim.getOffset(static_cast<int64_t>(shard.index()));
           });
  };
  for (int64_t d = 0; d < rank; ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    spmd::DimMove everywhere{move.shift, move.stride, 0, to.getDimSize(d)};
    everywhere.wraps = move.wraps;
    spmd::MovedRange natural = getExtent(everywhere, from.getDimSize(d), to.getDimSize(d));
    if ((!isSharded(to, d) || (isZero && !move.wraps && isOwnWindow(d))) && natural == extent[d])
      extent[d] = {0, to.getDimSize(d)};
  }
  Value outside = local.broadcast(localOf(view.outside), result.getShape());
  return chooseInside(builder, loc, extent, to, x, outside);
}

} // namespace spmdc
