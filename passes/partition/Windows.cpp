//===- Windows.cpp - pieces with the edges of their neighbours ------------===//

#include "passes/partition/Windows.h"

#include "ir/array/LocalBuilder.h"
#include "passes/partition/Moves.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isCut(ArrayType type, int64_t dim) { return !type.getShardingOrOpen().getDims()[dim].getAxes().empty(); }

bool isUnreduced(ArrayType type) { return !type.getShardingOrOpen().getUnreduced().empty(); }

bool needsExchange(ShardingRuleOpInterface op) {
  SmallVector<ArrayType> types;
  for (Value operand : op->getOperands())
    types.push_back(arrayTypeOf(operand));
  return needsExchange(op, op.getShardingRule(), types, arrayTypeOf(op->getResult(0)));
}

/// What a value is made of, if that is one array.
std::optional<ArrayMoves> movesOf(Value value) {
  auto op = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!op || isa<ReshardOp, ConstraintOp>(op.getOperation()) || isUnreduced(arrayTypeOf(value)))
    return std::nullopt;
  ArrayMoves moves = op.getMoves();
  return moves.parts.size() == 1 ? std::make_optional(moves) : std::nullopt;
}

} // namespace

Windows::Windows(ArrayRef<ShardingRuleOpInterface> ops, MeshAttr meshAttr)
    : meshAttr(meshAttr), mesh(meshAttr.toValue()), ops(ops) {
  std::vector<View> near, far;
  for (ShardingRuleOpInterface op : ops)
    if (std::optional<View> view = getView(op)) {
      near.push_back(*view);
      far.push_back(getFarther(*view));
    }
  // Windows of arrays before what devices take of them by themselves, where those send less than windows behind that.
  llvm::DenseMap<Operation *, Value> arrays;
  for (const View &view : far)
    arrays[view.op] = view.move.source;
  llvm::MapVector<Value, std::pair<std::vector<Group>, std::vector<Group>>> byArray;
  for (Group &group : formGroups(near))
    byArray[arrays[group.views.front().op]].first.push_back(std::move(group));
  for (Group &group : formGroups(far))
    byArray[group.window.getSource()].second.push_back(std::move(group));
  for (auto &[array, ways] : byArray) {
    auto &[nearGroups, farGroups] = ways;
    Price nearPrice = settle(nearGroups), farPrice = settle(farGroups);
    for (Group &group : farPrice < nearPrice ? farGroups : nearGroups)
      if (group.isUsed)
        groups.push_back(std::move(group));
  }
  std::vector<View> views;
  for (auto [number, group] : llvm::enumerate(groups)) {
    for (auto [index, view] : llvm::enumerate(group.views))
      places[view.op] = {static_cast<unsigned>(number), static_cast<unsigned>(index)};
    llvm::append_range(views, group.views);
  }
  skipped = findUnused(views);
}

void Windows::joinNearest(std::vector<Group> &list) const {
  Group &last = list.back();
  Group *nearest = nullptr;
  double least = last.bytes;
  for (Group &group : llvm::drop_end(list)) {
    if (!group.window.canTake(last.window))
      continue;
    Window both = group.window;
    both.add(last.window);
    double more = both.getBytes(mesh) - group.bytes;
    if (more < least || (more == least && !nearest)) {
      nearest = &group;
      least = more;
    }
  }
  if (!nearest)
    return;
  nearest->window.add(last.window);
  nearest->bytes += least;
  llvm::append_range(nearest->views, last.views);
  list.pop_back();
}

void Windows::joinAll(std::vector<Group> &list) const {
  std::vector<Group> kinds;
  double bytes = 0, together = 0;
  for (const Group &group : list) {
    bytes += group.bytes;
    auto kind = llvm::find_if(kinds, [&](const Group &other) { return other.window.canTake(group.window); });
    if (kind == kinds.end()) {
      kinds.push_back(group);
      continue;
    }
    kind->window.add(group.window);
    llvm::append_range(kind->views, group.views);
  }
  for (Group &kind : kinds)
    together += kind.bytes = kind.window.getBytes(mesh);
  if (together <= bytes)
    list = std::move(kinds);
}

std::vector<Windows::Group> Windows::formGroups(const std::vector<View> &views) const {
  // What all views see past is none itself.
  llvm::DenseSet<Operation *> unused = findUnused(views);
  llvm::MapVector<std::pair<Value, Block *>, std::vector<Group>> byPlace;
  for (const View &view : views) {
    if (unused.contains(view.op))
      continue;
    std::vector<Group> &list = byPlace[{view.move.source, view.op->getBlock()}];
    Window own(view.move.source, arrayTypeOf(view.op->getResult(0)).getShardingOrOpen(), *getDims(view));
    double bytes = own.getBytes(mesh);
    list.push_back({own, bytes, {view}, false, Value()});
    joinNearest(list);
  }
  // Groups that were better apart may be better together once they have grown: what looks at rows and what looks at
  // columns does not need the corners, until somebody looks at these, too.
  for (auto &[place, list] : byPlace) {
    for (size_t before = 0; before != list.size();) {
      before = list.size();
      for (Group &group : std::exchange(list, {})) {
        list.push_back(std::move(group));
        joinNearest(list);
      }
    }
    joinAll(list);
  }
  std::vector<Group> all;
  for (auto &[place, list] : byPlace)
    llvm::append_range(all, list);
  return all;
}

std::vector<ShardingRuleOpInterface> Windows::listMovers(Region &region) {
  std::vector<ShardingRuleOpInterface> movers;
  region.walk([&](ShardingRuleOpInterface op) {
    if (!isa<ReshardOp, ConstraintOp>(op.getOperation()) && !isPerDevice(op) && op.getMoves().parts.size() == 1)
      movers.push_back(op);
  });
  return movers;
}

std::optional<CollectiveCost> Windows::getShare(Operation *op, const CostModel &model) const {
  if (isSkipped(op))
    return CollectiveCost();
  auto place = places.find(op);
  if (place == places.end())
    return std::nullopt;
  const Group &group = groups[place->second.first];
  ArrayType type = group.window.getType();
  auto local = static_cast<double>(type.getLocal(meshAttr).getBytes());
  if (group.bytes == 0)
    return CollectiveCost{.peakBytes = local};
  CollectiveCost cost =
      model.costOf("exchange", listAxisNames({arrayTypeOf(group.window.getSource()), type}), group.bytes, local);
  auto views = static_cast<double>(group.views.size());
  cost.wireBytes /= views;
  cost.linkBytes /= views;
  cost.latencySeconds /= views;
  return cost;
}

std::optional<Windows::View> Windows::getView(ShardingRuleOpInterface op) const {
  std::optional<ArrayMoves> moves = movesOf(op->getResult(0));
  if (!moves || !needsExchange(op))
    return std::nullopt;
  View view{op, moves->parts[0], moves->outside, {}};
  auto sees = [](Value value, const ArrayMoves &moves) {
    // A pad that devices do by themselves would make edges longer.
    bool isLonger = arrayTypeOf(value).getNumElements() > arrayTypeOf(moves.parts[0].source).getNumElements();
    return isLonger || needsExchange(cast<ShardingRuleOpInterface>(value.getDefiningOp()));
  };
  for (std::optional<ArrayMoves> inner = movesOf(view.move.source); inner && sees(view.move.source, *inner);
       inner = movesOf(view.move.source))
    if (!seePast(view, *inner))
      break;
  if (isUnreduced(arrayTypeOf(view.move.source)) || !getDims(view))
    return std::nullopt;
  return view;
}

Windows::View Windows::getFarther(View view) const {
  while (std::optional<ArrayMoves> inner = movesOf(view.move.source)) {
    View farther = view;
    if (!seePast(farther, *inner) || isUnreduced(arrayTypeOf(farther.move.source)) || !getDims(farther))
      break;
    view = farther;
  }
  return view;
}

bool Windows::seePast(View &view, const ArrayMoves &inner) {
  if (view.outside && inner.outside && view.outside != inner.outside)
    return false;
  view.between.push_back(view.move.source.getDefiningOp());
  view.move = composeMoves(view.move, inner.parts[0]);
  if (!view.outside)
    view.outside = inner.outside;
  return true;
}

std::optional<std::vector<WindowDim>> Windows::getDims(const View &view) const {
  ArrayType from = arrayTypeOf(view.move.source), to = arrayTypeOf(view.op->getResult(0));
  std::vector<WindowDim> dims(from.getRank());
  for (int64_t d = 0; d < from.getRank(); ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    std::optional<CutDim> cut = getCutDim(mesh, to, d);
    if (move.stride < 1 || !cut)
      return std::nullopt;
    WindowDim &dim = dims[d];
    dim.stride = move.stride;
    dim.step = cut->pieces > 1 ? move.stride * cut->piece : 0;
    spmd::ShardRange extent = spmd::movedRange(move, {0, from.getDimSize(d)}, {0, cut->size});
    if (extent.size == 0)
      return std::nullopt;
    for (int64_t i = 0; i < cut->pieces; ++i) {
      int64_t begin = std::max(i * cut->piece, extent.start);
      int64_t end = std::min(i * cut->piece + cut->getCount(i), extent.start + extent.size);
      dim.looked.push_back(
          begin < end ? WindowDim::Range{move.shift + move.stride * begin, move.shift + move.stride * (end - 1) + 1}
                      : WindowDim::Range());
    }
  }
  return dims;
}

/// What the groups send: each its window, if that is less than what its views, and what is between, send one by one.
Windows::Price Windows::settle(std::vector<Group> &list) const {
  Price total;
  auto add = [](Price &price, double bytes) {
    price.first += bytes;
    price.second += bytes > 0;
  };
  for (Group &group : list) {
    Price together, apart;
    llvm::DenseSet<Operation *> counted;
    auto addMover = [&](ShardingRuleOpInterface op) {
      if (!counted.insert(op).second)
        return;
      ArrayMove part = getNearestMoves(op).parts[0];
      add(apart, getExchangeBytes(mesh, arrayTypeOf(part.source), arrayTypeOf(op->getResult(0)), part.dims));
    };
    for (const View &view : group.views) {
      addMover(view.op);
      for (Operation *op : view.between)
        if (auto mover = cast<ShardingRuleOpInterface>(op); needsExchange(mover))
          addMover(mover);
    }
    add(together, group.bytes);
    group.isUsed = together < apart;
    const Price &price = group.isUsed ? together : apart;
    total = {total.first + price.first, total.second + price.second};
  }
  return total;
}

llvm::DenseSet<Operation *> Windows::findUnused(ArrayRef<View> views) const {
  llvm::DenseMap<Operation *, const View *> viewOf;
  llvm::DenseSet<Operation *> between, unused;
  for (const View &view : views) {
    viewOf[view.op] = &view;
    between.insert(view.between.begin(), view.between.end());
  }
  for (Operation *op : llvm::reverse(ops)) { // Users come first.
    if (!between.contains(op))
      continue;
    bool isUsed = llvm::any_of(op->getUsers(), [&](Operation *user) {
      const View *view = viewOf.lookup(user);
      return !unused.contains(user) && !(view && llvm::is_contained(view->between, op));
    });
    if (!isUsed)
      unused.insert(op);
  }
  return unused;
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
  ArrayType from = arrayTypeOf(source), to = arrayTypeOf(op->getResult(0)), result = to.getLocal(meshAttr);
  Value x = group.local;
  LocalBuilder local(builder, loc);
  int64_t rank = from.getRank();

  // Where each dimension begins in the window, and what is missing there: behind the ends of the array.
  SmallVector<int64_t> starts(rank), strides(rank), low(rank), high(rank), none(rank);
  SmallVector<spmd::ShardRange> extent;
  bool isPadded = false;
  for (int64_t d = 0; d < rank; ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    extent.push_back(spmd::movedRange(move, {0, from.getDimSize(d)}, {0, to.getDimSize(d)}));
    const WindowDim &dim = group.window.getDim(d);
    strides[d] = move.stride / dim.stride;
    int64_t first = (move.shift - dim.getFirst()) / dim.stride;
    int64_t limit = first + (result.getDimSize(d) - 1) * strides[d] + 1;
    low[d] = std::max<int64_t>(0, -first);
    high[d] = std::max<int64_t>(0, limit - arrayTypeOf(x).getDimSize(d));
    starts[d] = first + low[d];
    isPadded |= low[d] > 0 || high[d] > 0;
  }
  if (result.getNumElements() == 0)
    return builder.create<ConstantOp>(loc, result, Scalar());
  if (isPadded) {
    SmallVector<int64_t> shape(arrayTypeOf(x).getShape());
    for (int64_t d = 0; d < rank; ++d)
      shape[d] += low[d] + high[d];
    ArrayType padded = arrayTypeOf(x).withShape(shape);
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
  // A dimension that is whole has its padding already, unless something between cuts it.
  for (int64_t d = 0; d < rank; ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    spmd::DimMove everywhere{move.shift, move.stride, 0, to.getDimSize(d)};
    spmd::ShardRange natural = spmd::movedRange(everywhere, {0, from.getDimSize(d)}, {0, to.getDimSize(d)});
    if (!isCut(to, d) && natural == extent[d])
      extent[d] = {0, to.getDimSize(d)};
  }
  Value outside = local.broadcast(localOf(view.outside), result.getShape());
  return chooseInside(builder, loc, extent, to, x, outside);
}

} // namespace spmdc
