//===- Windows.cpp - pieces with the edges of their neighbours ------------===//

#include "passes/partition/Windows.h"

#include "ir/array/LocalBuilder.h"
#include "passes/partition/Moves.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <array>

using namespace mlir;

namespace spmdc {
namespace {

bool isCut(ArrayType type, int64_t dim) { return !type.getShardingOrOpen().getDims()[dim].getAxes().empty(); }

bool isUnreduced(ArrayType type) { return !type.getShardingOrOpen().getUnreduced().empty(); }

/// What a value is made of, if that is one array.
std::optional<ArrayMoves> movesOf(Value value) {
  auto op = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!op || isa<ReshardOp, ConstraintOp>(op.getOperation()) || isUnreduced(arrayTypeOf(value)))
    return std::nullopt;
  ArrayMoves moves = op.getMoves();
  return moves.parts.size() == 1 ? std::make_optional(moves) : std::nullopt;
}

/// Which elements of a dimension of the result there are.
spmd::MovedRange getExtent(const spmd::DimMove &move, int64_t from, int64_t to) {
  return move.wraps && from > 0 ? spmd::MovedRange{0, to} : spmd::movedRange(move, {0, from}, {0, to});
}

bool goesRound(const ArrayMove &move) {
  return llvm::any_of(move.dims, [](const spmd::DimMove &dim) { return dim.wraps; });
}

/// Where an operation rolls an array (joins its end and its beginning, in this order), the slices of these, the
/// beginning first.
std::optional<std::array<SliceOp, 2>> getRolled(Operation *op) {
  auto join = dyn_cast<ConcatenateOp>(op);
  if (!join || join->getNumOperands() != 2)
    return std::nullopt;
  std::array<SliceOp, 2> slices{join->getOperand(1).getDefiningOp<SliceOp>(),
                                join->getOperand(0).getDefiningOp<SliceOp>()};
  int64_t dim = static_cast<int64_t>(join.getDim()), at = 0;
  ArrayRef<int64_t> shape = join.getType().getShape();
  for (SliceOp slice : slices) {
    if (!slice || arrayTypeOf(slice.getOperand()).getShape() != shape)
      return std::nullopt;
    SmallVector<int64_t> starts(shape.size()), limits(shape);
    starts[dim] = at;
    limits[dim] = at += slice.getType().getDimSize(dim);
    if (slice.getStarts() != ArrayRef(starts) || slice.getLimits() != ArrayRef(limits) ||
        llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
      return std::nullopt;
  }
  return slices[0].getOperand() == slices[1].getOperand() ? std::make_optional(slices) : std::nullopt;
}

/// How a rolled array is made of the array, going round, in the direction in which devices get less.
ArrayMove getRoll(ConcatenateOp op, SliceOp beginning) {
  auto dim = static_cast<int64_t>(op.getDim());
  ArrayMove move{beginning.getOperand(), {}};
  for (int64_t size : arrayTypeOf(move.source).getShape())
    move.dims.push_back({0, 1, 0, size});
  spmd::DimMove &rolled = move.dims[dim];
  rolled.shift = beginning.getType().getDimSize(dim);
  if (rolled.shift > rolled.end / 2)
    rolled.shift -= rolled.end;
  rolled.wraps = true;
  return move;
}

} // namespace

Windows::Windows(ArrayRef<ShardingRuleOpInterface> ops, MeshAttr meshAttr)
    : meshAttr(meshAttr), mesh(meshAttr.toValue()), ops(ops) {
  // Windows of what an array becomes before devices exchange elements, of the array itself, and of the array for those
  // who take parts of what they get: whatever sends least.
  std::array<std::vector<View>, 3> ways;
  auto &[near, far, taken] = ways;
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
  for (auto [index, views] : llvm::enumerate(ways))
    for (Group &group : formGroups(views)) {
      Value array = index == 0 ? arrays.lookup(group.views.front().op) : group.window.getSource();
      byArray[array][index].push_back(std::move(group));
    }
  for (auto &[array, choices] : byArray) {
    std::vector<Group> *best = nullptr;
    Price least;
    for (std::vector<Group> &list : choices)
      if (Price price = settle(list); !best || price < least) {
        best = &list;
        least = price;
      }
    for (Group &group : *best)
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
  // Where others look past what a window is of, that is made all the same.
  for (const Group &group : groups) {
    Value source = group.window.getSource();
    while (source && skipped.erase(source.getDefiningOp())) {
      std::optional<ArrayMoves> moves = movesOf(source);
      source = moves ? moves->parts[0].source : Value();
    }
  }
  sharePrices();
}

void Windows::sharePrices() {
  for (auto [number, group] : llvm::enumerate(groups)) {
    llvm::SmallSetVector<Operation *, 8> payers;
    for (const View &view : group.views) {
      // What is not built has no other way; who looks at it may find one, and then pays nothing.
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
    if (op.getMoves().parts.size() == 1 || getRolled(op))
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
    ArrayType from = arrayTypeOf(group.window.getSource()), type = group.window.getType();
    auto local = static_cast<double>(type.getLocalBytes(mesh));
    CollectiveCost cost = model.costOf("exchange", listAxisNames({from, type}), group.bytes, local);
    cost.wireBytes *= part;
    cost.linkBytes *= part;
    cost.latencySeconds *= part;
    total = total + cost;
  }
  return total;
}

std::optional<Windows::View> Windows::getView(ShardingRuleOpInterface op) const {
  if (std::optional<View> roll = getRollView(op))
    return roll;
  std::optional<ArrayMoves> moves = movesOf(op->getResult(0));
  if (!moves || !needsExchange(op))
    return std::nullopt;
  View view{op, moves->parts[0], moves->outside, {}};
  auto sees = [](Value value, const ArrayMoves &moves) {
    // A pad that devices do by themselves would make edges longer.
    bool isLonger = arrayTypeOf(value).getNumElements() > arrayTypeOf(moves.parts[0].source).getNumElements();
    return isLonger || needsExchange(value.getDefiningOp());
  };
  for (std::optional<ArrayMoves> inner = movesOf(view.move.source); inner && sees(view.move.source, *inner);
       inner = movesOf(view.move.source))
    if (!seePast(view, *inner))
      break;
  if (isUnreduced(arrayTypeOf(view.move.source)) || !getDims(view))
    return std::nullopt;
  return view;
}

std::optional<Windows::View> Windows::getRollView(ShardingRuleOpInterface op) const {
  auto rolled = getRolled(op);
  if (!rolled || !needsExchange(op))
    return std::nullopt;
  auto join = cast<ConcatenateOp>(op.getOperation());
  View view{op, getRoll(join, (*rolled)[0]), Value(), {(*rolled)[0], (*rolled)[1]}};
  ArrayType from = arrayTypeOf(view.move.source), to = join.getType();
  // Of a dimension that is whole devices roll their pieces, once these lie as the result does.
  bool isWhole = !isCut(to, static_cast<int64_t>(join.getDim()));
  return isWhole || isUnreduced(from) || isUnreduced(to) || !getDims(view) ? std::nullopt : std::make_optional(view);
}

std::optional<Windows::View> Windows::getPart(ShardingRuleOpInterface op) const {
  std::optional<ArrayMoves> moves = movesOf(op->getResult(0));
  if (!moves)
    return std::nullopt;
  View view = getFarther({op, moves->parts[0], moves->outside, {}});
  bool isTaken = llvm::any_of(view.between, [](Operation *inner) { return needsExchange(inner); });
  if (!isTaken || isUnreduced(arrayTypeOf(view.move.source)) || !getDims(view))
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
  if ((view.outside && inner.outside && view.outside != inner.outside) || goesRound(view.move))
    return false;
  std::optional<ArrayMove> move = composeMoves(view.move, inner.parts[0]);
  if (!move || isDilated(*move))
    return false;
  view.between.push_back(view.move.source.getDefiningOp());
  view.move = *move;
  if (!view.outside)
    view.outside = inner.outside;
  return true;
}

std::optional<std::vector<WindowDim>> Windows::getDims(const View &view) const {
  ArrayType from = arrayTypeOf(view.move.source), to = arrayTypeOf(view.op->getResult(0));
  std::vector<WindowDim> dims(from.getRank());
  for (int64_t d = 0; d < from.getRank(); ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    if (move.stride < 1 || move.dilation != 1)
      return std::nullopt;
    WindowDim &dim = dims[d];
    dim.result = getCutDim(mesh, to, d);
    dim.stride = move.stride;
    dim.step = dim.result.pieces.size() > 1 ? move.stride : 0;
    dim.wraps = move.wraps;
    spmd::MovedRange extent = getExtent(move, from.getDimSize(d), dim.result.size);
    if (extent.size == 0)
      return std::nullopt;
    for (const spmd::ShardRange &piece : dim.result.pieces) {
      int64_t begin = std::max(piece.start, extent.start);
      int64_t end = std::min(piece.start + piece.size, extent.start + extent.size);
      dim.looked.push_back(
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
  ArrayType from = arrayTypeOf(source), to = arrayTypeOf(op->getResult(0)), result = to.getLocal(meshAttr);
  Value x = group.local;
  LocalBuilder local(builder, loc);
  int64_t rank = from.getRank();

  // Where each dimension begins in the window, and what is missing there: behind the ends of the array.
  SmallVector<int64_t> starts(rank), strides(rank), low(rank), high(rank), none(rank);
  SmallVector<spmd::MovedRange> extent;
  bool isPadded = false;
  for (int64_t d = 0; d < rank; ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    extent.push_back(getExtent(move, from.getDimSize(d), to.getDimSize(d)));
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
    spmd::MovedRange natural = spmd::movedRange(everywhere, {0, from.getDimSize(d)}, {0, to.getDimSize(d)});
    if (!isCut(to, d) && natural == extent[d])
      extent[d] = {0, to.getDimSize(d)};
  }
  Value outside = local.broadcast(localOf(view.outside), result.getShape());
  return chooseInside(builder, loc, extent, to, x, outside);
}

} // namespace spmdc
