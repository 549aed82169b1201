//===- Windows.cpp - pieces with the edges of their neighbours ------------===//

#include "passes/partition/Windows.h"

#include "ir/array/LocalBuilder.h"
#include "passes/partition/Moves.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace spmdc {
namespace {

std::vector<int64_t> sizesOf(const spmd::MeshShape &mesh, const std::vector<spmd::AxisRef> &axes) {
  std::vector<int64_t> sizes;
  for (const spmd::AxisRef &axis : axes)
    sizes.push_back(axis.sizeIn(mesh));
  return sizes;
}

int64_t productOf(const std::vector<int64_t> &sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

/// How a dimension lies: `pieces` of `piece` elements each, the last ones short.
struct CutDim {
  int64_t size = 0, pieces = 1, piece = 0;

  /// The elements of a piece that are no padding.
  int64_t getCount(int64_t index) const { return std::clamp<int64_t>(size - index * piece, 0, piece); }
};

/// Nothing where a piece is not behind the one before it, as over several axes that do not divide the dimension.
std::optional<CutDim> getCutDim(const spmd::MeshShape &mesh, ArrayType type, int64_t dim) {
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  std::vector<int64_t> sizes = sizesOf(mesh, sharding.dims[dim]);
  CutDim cut{type.getDimSize(dim), productOf(sizes), spmd::localDimSize(type.getDimSize(dim), sizes)};
  if (sizes.size() > 1 && cut.size != cut.pieces * cut.piece)
    return std::nullopt;
  return cut;
}

bool isCut(ArrayType type, int64_t dim) { return !type.getShardingOrOpen().getDims()[dim].getAxes().empty(); }

bool isUnreduced(ArrayType type) { return !type.getShardingOrOpen().getUnreduced().empty(); }

/// `dim` as two: the pieces, and what is in them, of which `taken` elements.
ArrayType splitDim(ArrayType type, int64_t dim, const CutDim &cut, int64_t taken) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = cut.pieces;
  shape.insert(shape.begin() + dim + 1, taken);
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  sharding.dims.insert(sharding.dims.begin() + dim + 1, std::vector<spmd::AxisRef>());
  return type.withShape(shape).withSharding(ShardingAttr::fromValue(type.getContext(), sharding));
}

/// Every element at the same place, in an array of another size.
std::vector<spmd::DimMove> stayingMoves(ArrayType from, ArrayType to) {
  std::vector<spmd::DimMove> moves;
  for (auto [before, after] : llvm::zip(from.getShape(), to.getShape()))
    moves.push_back({0, 1, 0, std::min(before, after)});
  return moves;
}

/// How many pieces have elements of the array, which is cut anew.
int64_t getUsed(ArrayType type, const CutDim &cut, int64_t dim) {
  int64_t size = std::min(type.getDimSize(dim), cut.size);
  return std::max<int64_t>(1, (size + cut.piece - 1) / std::max<int64_t>(1, cut.piece));
}

} // namespace

Windows::Windows(Block &block, MeshAttr meshAttr) : meshAttr(meshAttr), mesh(meshAttr.toValue()) {
  std::vector<View> views;
  block.walk([&](ShardingRuleOpInterface op) {
    if (!op->getParentOfType<ManualOp>())
      if (std::optional<View> view = getView(op))
        views.push_back(std::move(*view));
  });
  // What all views see past is none itself.
  llvm::DenseSet<Operation *> unused = findUnused(block, views);
  llvm::MapVector<std::pair<Value, Block *>, std::vector<Group>> byPlace;
  for (View &view : views) {
    if (unused.contains(view.op))
      continue;
    std::vector<Group> &places = byPlace[{view.move.source, view.op->getBlock()}];
    Shape shape = *getShape(view);
    auto group = llvm::find_if(places, [&](const Group &group) { return group.shape.piece == shape.piece; });
    if (group == places.end()) {
      places.push_back({view.move.source, {}, shape, Value()});
      group = places.end() - 1;
    }
    for (size_t d = 0; d < shape.piece.size(); ++d) {
      group->shape.low[d] = std::max(group->shape.low[d], shape.low[d]);
      group->shape.high[d] = std::max(group->shape.high[d], shape.high[d]);
    }
    group->views.push_back(std::move(view));
  }
  for (auto &[place, list] : byPlace)
    for (Group &group : list)
      settle(group);
  views.clear();
  for (const Group &group : groups)
    llvm::append_range(views, group.views);
  skipped = findUnused(block, views);
}

std::optional<Windows::View> Windows::getView(ShardingRuleOpInterface op) const {
  auto needsOne = [](ShardingRuleOpInterface op) {
    SmallVector<ArrayType> types;
    for (Value operand : op->getOperands())
      types.push_back(arrayTypeOf(operand));
    return needsExchange(op, op.getShardingRule(), types, arrayTypeOf(op->getResult(0)));
  };
  auto movesOf = [&](Value value) -> std::optional<ArrayMoves> {
    auto inner = value.getDefiningOp<ShardingRuleOpInterface>();
    if (!inner || isa<ReshardOp, ConstraintOp>(value.getDefiningOp()))
      return std::nullopt;
    ArrayMoves moves = inner.getMoves();
    return moves.parts.size() == 1 && needsOne(inner) ? std::make_optional(moves) : std::nullopt;
  };
  std::optional<ArrayMoves> moves = movesOf(op->getResult(0));
  if (!moves || isUnreduced(arrayTypeOf(op->getResult(0))))
    return std::nullopt;
  View view{op, moves->parts[0], moves->outside, {}};
  while (std::optional<ArrayMoves> inner = movesOf(view.move.source)) {
    if (view.outside && inner->outside && view.outside != inner->outside)
      break;
    view.between.push_back(view.move.source.getDefiningOp());
    view.move = composeMoves(view.move, inner->parts[0]);
    if (!view.outside)
      view.outside = inner->outside;
  }
  if (isUnreduced(arrayTypeOf(view.move.source)) || !getShape(view))
    return std::nullopt;
  return view;
}

std::optional<Windows::Shape> Windows::getShape(const View &view) const {
  ArrayType from = arrayTypeOf(view.move.source), to = arrayTypeOf(view.op->getResult(0));
  spmd::Sharding source = from.getShardingOrOpen().toValue(), target = to.getShardingOrOpen().toValue();
  std::vector<int64_t> zeros(from.getRank());
  Shape shape{zeros, zeros, zeros};
  for (int64_t d = 0; d < from.getRank(); ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    if (move.stride < 1 || source.dims[d] != target.dims[d])
      return std::nullopt;
    if (source.dims[d].empty())
      continue;
    std::optional<CutDim> before = getCutDim(mesh, from, d), after = getCutDim(mesh, to, d);
    if (!before || !after)
      return std::nullopt;
    int64_t piece = shape.piece[d] = move.stride * after->piece;
    spmd::ShardRange extent = spmd::movedRange(move, {0, before->size}, {0, after->size});
    for (int64_t i = 0; i < after->pieces; ++i) {
      int64_t begin = std::max(i * after->piece, extent.start);
      int64_t end = std::min(i * after->piece + after->getCount(i), extent.start + extent.size);
      if (begin >= end)
        continue;
      int64_t first = move.shift + move.stride * begin, last = move.shift + move.stride * (end - 1);
      // The last piece has no neighbour.
      if (last >= after->pieces * piece)
        return std::nullopt;
      shape.low[d] = std::max(shape.low[d], i * piece - first);
      shape.high[d] = std::max(shape.high[d], last + 1 - (i + 1) * piece);
    }
    if (shape.low[d] > piece || shape.high[d] > piece)
      return std::nullopt;
  }
  return shape;
}

ArrayType Windows::getCutAnew(const Group &group) const {
  ArrayType type = arrayTypeOf(group.source);
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (CutDim cut = isCut(type, d) ? *getCutDim(mesh, type, d) : CutDim(); cut.piece != group.shape.piece[d])
      shape[d] = cut.pieces * group.shape.piece[d];
  return type.withShape(shape).withSharding(type.getSharding());
}

/// What all devices send: along each dimension the edges of pieces that are as large as they have become before.
std::pair<double, int64_t> Windows::getBytesAndExchanges(const Group &group) const {
  ArrayType type = arrayTypeOf(group.source), anew = getCutAnew(group);
  double bytes = 0;
  int64_t exchanges = 0;
  if (anew != type) {
    bytes = getExchangeBytes(mesh, type, anew, stayingMoves(type, anew));
    exchanges = bytes > 0;
  }
  SmallVector<int64_t> local(anew.getLocal(meshAttr).getShape());
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t low = group.shape.low[d], high = group.shape.high[d];
    if (low == 0 && high == 0)
      continue;
    exchanges += (low > 0) + (high > 0);
    CutDim cut = *getCutDim(mesh, anew, d);
    int64_t used = getUsed(type, cut, d);
    auto row = static_cast<double>(spmd::byteSize(type.getDType()) * (mesh.deviceCount() / cut.pieces));
    for (int64_t e = 0; e < type.getRank(); ++e)
      row *= static_cast<double>(e == d ? 1 : local[e]);
    bytes += row * static_cast<double>(low * std::min(used, cut.pieces - 1) + high * (used - 1));
    local[d] += low + high;
  }
  return {bytes, exchanges};
}

/// Keeps the group if its window is less to send than what its views, and what is between, send one by one.
void Windows::settle(Group &group) {
  double apart = 0;
  int64_t exchanges = 0;
  llvm::DenseSet<Operation *> counted;
  auto add = [&](ShardingRuleOpInterface op) {
    if (!counted.insert(op).second)
      return;
    ArrayMove part = getNearestMoves(op).parts[0];
    double bytes = getExchangeBytes(mesh, arrayTypeOf(part.source), arrayTypeOf(op->getResult(0)), part.dims);
    apart += bytes;
    exchanges += bytes > 0;
  };
  for (const View &view : group.views) {
    add(view.op);
    for (Operation *op : view.between)
      add(cast<ShardingRuleOpInterface>(op));
  }
  if (getBytesAndExchanges(group) >= std::pair(apart, exchanges))
    return;
  for (auto [index, view] : llvm::enumerate(group.views))
    places[view.op] = {static_cast<unsigned>(groups.size()), static_cast<unsigned>(index)};
  groups.push_back(std::move(group));
}

llvm::DenseSet<Operation *> Windows::findUnused(Block &block, ArrayRef<View> views) {
  llvm::DenseMap<Operation *, const View *> viewOf;
  llvm::DenseSet<Operation *> between, unused;
  for (const View &view : views) {
    viewOf[view.op] = &view;
    between.insert(view.between.begin(), view.between.end());
  }
  SmallVector<Operation *> candidates;
  block.walk([&](Operation *op) {
    if (between.contains(op))
      candidates.push_back(op);
  });
  for (Operation *op : llvm::reverse(candidates)) { // Users come first.
    bool isUsed = llvm::any_of(op->getUsers(), [&](Operation *user) {
      const View *view = viewOf.lookup(user);
      return !unused.contains(user) && !(view && llvm::is_contained(view->between, op));
    });
    if (!isUsed)
      unused.insert(op);
  }
  return unused;
}

void Windows::buildWindow(OpBuilder &builder, Group &group, const View &view, Value local) {
  Location loc = view.op->getLoc();
  ArrayType source = arrayTypeOf(group.source), type = getCutAnew(group);
  if (type != source)
    local = buildExchange(builder, loc, local, {group.source, stayingMoves(source, type)}, source, type, meshAttr,
                          whyExchange(view.op, source, type));
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t low = group.shape.low[d], high = group.shape.high[d];
    if (low == 0 && high == 0)
      continue;
    CutDim cut = *getCutDim(mesh, type, d);
    int64_t used = getUsed(source, cut, d);
    ArrayType pieces = splitDim(type, d, cut, cut.piece);
    Value split = builder.create<ReshapeOp>(loc, pieces.getLocal(meshAttr), local);
    // Elements of the piece before this one (-1), or behind it.
    auto getEdge = [&](int64_t neighbour, int64_t count) -> Value {
      ArrayType edge = splitDim(type, d, cut, count);
      ArrayMove move{group.source, stayingMoves(edge, edge)};
      // The piece behind the last one that has elements may still look at those.
      move.dims[d] =
          neighbour < 0 ? spmd::DimMove{-1, 1, 1, std::min(used + 1, cut.pieces)} : spmd::DimMove{1, 1, 0, used - 1};
      move.dims[d + 1].shift = neighbour < 0 ? cut.piece - count : 0;
      Value moved =
          buildExchange(builder, loc, split, move, pieces, edge, meshAttr, whyExchange(view.op, pieces, edge));
      SmallVector<int64_t> shape(arrayTypeOf(local).getShape());
      shape[d] = count;
      return builder.create<ReshapeOp>(loc, arrayTypeOf(local).withShape(shape), moved);
    };
    SmallVector<Value> parts;
    if (low > 0)
      parts.push_back(getEdge(-1, low));
    parts.push_back(local);
    if (high > 0)
      parts.push_back(getEdge(1, high));
    SmallVector<int64_t> shape(arrayTypeOf(local).getShape()), whole(type.getShape());
    shape[d] += low + high;
    whole[d] = cut.pieces * shape[d];
    local = builder.create<ConcatenateOp>(loc, arrayTypeOf(local).withShape(shape), parts, d);
    type = type.withShape(whole).withSharding(type.getSharding());
  }
  group.window = local;
}

Value Windows::build(OpBuilder &builder, Operation *op, function_ref<Value(Value)> localOf) {
  auto place = places.find(op);
  if (place == places.end())
    return nullptr;
  Group &group = groups[place->second.first];
  const View &view = group.views[place->second.second];
  if (!group.window)
    buildWindow(builder, group, view, localOf(group.source));
  Location loc = op->getLoc();
  ArrayType from = arrayTypeOf(group.source), to = arrayTypeOf(op->getResult(0)), result = to.getLocal(meshAttr);
  Value x = group.window;
  LocalBuilder local(builder, loc);
  int64_t rank = from.getRank();

  // Where each dimension begins in the window, and what is missing there: behind the ends of the array.
  SmallVector<int64_t> starts(rank), low(rank), high(rank), none(rank);
  SmallVector<spmd::ShardRange> extent;
  bool isPadded = false;
  for (int64_t d = 0; d < rank; ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    extent.push_back(spmd::movedRange(move, {0, from.getDimSize(d)}, {0, to.getDimSize(d)}));
    int64_t first = move.shift + group.shape.low[d];
    int64_t limit = first + (result.getDimSize(d) - 1) * move.stride + 1;
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
  SmallVector<int64_t> limits, strides;
  for (int64_t d = 0; d < rank; ++d) {
    strides.push_back(view.move.dims[d].stride);
    limits.push_back(starts[d] + (result.getDimSize(d) - 1) * strides[d] + 1);
  }
  x = builder.create<SliceOp>(loc, result, x, starts, limits, strides);
  if (!view.outside)
    return x;
  // A dimension that is whole has its padding already, unless something between cuts it.
  for (int64_t d = 0; d < rank; ++d) {
    const spmd::DimMove &move = view.move.dims[d];
    spmd::DimMove everywhere{move.shift, move.stride, 0, to.getDimSize(d)};
    spmd::ShardRange natural = spmd::movedRange(everywhere, {0, from.getDimSize(d)}, {0, to.getDimSize(d)});
    if (!isCut(from, d) && natural == extent[d])
      extent[d] = {0, to.getDimSize(d)};
  }
  Value outside = local.broadcast(localOf(view.outside), result.getShape());
  return chooseInside(builder, loc, extent, to, x, outside);
}

} // namespace spmdc
