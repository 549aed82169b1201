//===- Window.cpp - each device's piece with the edges of others ----------===//

#include "passes/partition/Window.h"

#include "ir/array/LocalBuilder.h"
#include "passes/partition/Moves.h"

using namespace mlir;

namespace spmdc {
namespace {

/// `dim` as two: the pieces, and what is in them, of which `taken` elements.
ArrayType splitDim(ArrayType type, int64_t dim, int64_t pieces, int64_t taken) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = pieces;
  shape.insert(shape.begin() + dim + 1, taken);
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  sharding.dims.insert(sharding.dims.begin() + dim + 1, std::vector<spmd::AxisRef>());
  return type.withShape(shape).withSharding(ShardingAttr::fromValue(type.getContext(), sharding));
}

ArrayType withSize(ArrayType type, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.withShape(shape).withSharding(type.getSharding());
}

/// Of the pieces of a dimension that is so large.
int64_t getLength(const WindowDim &dim, int64_t size) { return (size + dim.getPieces() - 1) / dim.getPieces(); }

} // namespace

Window::Window(Value source, std::vector<WindowDim> dims, MeshAttr meshAttr)
    : source(source), dims(std::move(dims)), meshAttr(meshAttr), mesh(meshAttr.toValue()) {}

bool Window::canTake(const std::vector<WindowDim> &other) const {
  return llvm::all_of(llvm::zip(dims, other),
                      [](auto pair) { return std::get<0>(pair).piece == std::get<1>(pair).piece; });
}

void Window::add(const std::vector<WindowDim> &other) {
  for (auto [dim, more] : llvm::zip(dims, other))
    dim.add(more);
}

ArrayType Window::getCutAnew() const {
  ArrayType type = arrayTypeOf(source);
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (isCutAnew(d))
      type = withSize(type, d, dims[d].getPieces() * dims[d].piece);
  return type;
}

bool Window::isCutAnew(int64_t dim) const {
  if (!dims[dim].isCut)
    return false;
  return getCutDim(mesh, arrayTypeOf(source), dim)->piece != dims[dim].piece || dims[dim].start != 0;
}

ArrayMove Window::getMoveAnew() const {
  ArrayType anew = getCutAnew();
  ArrayMove move{source, getLookedMoves(anew)};
  for (int64_t d = 0; d < anew.getRank(); ++d)
    if (isCutAnew(d))
      move.dims[d].shift = dims[d].start;
  return move;
}

SmallVector<Window::Edge> Window::listEdges(bool fromArray) const {
  SmallVector<int64_t> order;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (dims[d].hasEdges())
      order.push_back(d);
  // What only the array itself can give comes first, when pieces have not become longer yet.
  auto rank = [&](int64_t d) { return std::tuple(!dims[d].looksBeyond(), !isCutAnew(d), d); };
  llvm::sort(order, [&](int64_t d, int64_t e) { return rank(d) < rank(e); });
  SmallVector<Edge> result;
  for (int64_t d : order) {
    const WindowDim &dim = dims[d];
    int64_t low = dim.getLow(), high = dim.getHigh();
    if (fromArray && d == order.front()) {
      for (int64_t distance = low; distance > 0; --distance)
        result.push_back({d, true, distance, 1, true, dim.getPiecesLookingBefore(distance)});
      for (int64_t distance = 1; distance <= high; ++distance)
        result.push_back({d, false, distance, 1, true, dim.getPiecesLookingBehind(distance)});
      continue;
    }
    if (low > 0)
      result.push_back({d, true, low, low, false, dim.getPiecesLookingBefore(1)});
    if (high > 0)
      result.push_back({d, false, 1, high, false, dim.getPiecesLookingBehind(1)});
  }
  return result;
}

std::vector<spmd::DimMove> Window::getLookedMoves(ArrayType type) const {
  std::vector<spmd::DimMove> moves;
  for (auto [dim, size] : llvm::zip(dims, type.getShape())) {
    WindowDim::Range extent = dim.getExtent();
    if (dim.isCut) {
      int64_t length = getLength(dim, size);
      extent = length == dim.piece ? WindowDim::Range{extent.begin - dim.start, extent.end - dim.start}
                                   : dim.getExtentInPieces(length);
    }
    int64_t begin = std::max<int64_t>(0, extent.begin);
    moves.push_back({0, 1, begin, std::max(begin, std::min(size, extent.end))});
  }
  return moves;
}

Window::Exchange Window::getExchange(const Edge &edge, ArrayType type) const {
  int64_t d = edge.dim, piece = dims[d].piece, pieces = dims[d].getPieces();
  if (edge.fromArray) {
    // One element for each piece, from wherever it lies.
    ArrayMove move = getMoveAnew();
    int64_t first = dims[d].start + (edge.isLow ? -edge.distance : piece + edge.distance - 1);
    move.dims[d] = {first, piece, edge.pieces.begin, edge.pieces.end};
    return {arrayTypeOf(source), withSize(type, d, pieces), move};
  }
  int64_t length = getLength(dims[d], type.getDimSize(d));
  ArrayMove move{source, getLookedMoves(type)};
  move.dims[d] = {edge.isLow ? -1 : 1, 1, edge.pieces.begin, edge.pieces.end};
  move.dims.insert(move.dims.begin() + d + 1, {edge.isLow ? length - edge.count : 0, 1, 0, edge.count});
  return {splitDim(type, d, pieces, length), splitDim(type, d, pieces, edge.count), move};
}

ArrayType Window::getLonger(ArrayType type, int64_t dim, int64_t count) const {
  return withSize(type, dim, dims[dim].getPieces() * (getLength(dims[dim], type.getDimSize(dim)) + count));
}

/// Along each dimension the edges of pieces that are as large as they have become before.
Window::Price Window::getPrice(const CostModel &model) const {
  ArrayType type = arrayTypeOf(source);
  std::vector<std::string> axes;
  for (DimShardingAttr dim : type.getShardingOrOpen().getDims())
    for (AxisRefAttr axis : dim.getAxes())
      axes.push_back(axis.getName().str());
  Price price;
  auto add = [&](const Exchange &exchange) {
    double bytes = getExchangeBytes(mesh, exchange.from, exchange.to, exchange.move.dims);
    price.bytes += bytes;
    price.exchanges += bytes > 0;
    price.seconds += model.seconds(model.costOf("exchange", axes, bytes, 0), mesh.deviceCount());
  };
  if (ArrayType anew = getCutAnew(); anew != type) {
    add({type, anew, getMoveAnew()});
    type = anew;
  }
  for (size_t i = 0; i < edges.size();) {
    int64_t dim = edges[i].dim, longer = 0;
    for (; i < edges.size() && edges[i].dim == dim; longer += edges[i++].count)
      add(getExchange(edges[i], type));
    type = getLonger(type, dim, longer);
  }
  return price;
}

std::optional<Window::Price> Window::choose(const CostModel &model) {
  std::vector<Window> candidates{*this};
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!isCutAnew(d))
      continue;
    std::vector<int64_t> starts = dims[d].listStarts();
    for (size_t i = 0, count = candidates.size(); i < count; ++i)
      for (int64_t start : llvm::drop_begin(starts)) {
        candidates.push_back(candidates[i]);
        candidates.back().dims[d].start = start;
      }
  }
  std::optional<Price> best;
  for (Window &candidate : candidates) {
    // There is no neighbour before the first piece and behind the last one.
    int64_t beyond = llvm::count_if(candidate.dims, [](const WindowDim &dim) { return dim.looksBeyond(); });
    bool isTooLong = llvm::any_of(
        candidate.dims, [](const WindowDim &dim) { return dim.getLow() > dim.piece || dim.getHigh() > dim.piece; });
    if (beyond > 1 || isTooLong)
      continue;
    bool isAnew = candidate.getCutAnew() != arrayTypeOf(source);
    for (bool fromArray : {false, true}) {
      if (fromArray ? !isAnew && !beyond : beyond > 0)
        continue;
      candidate.edges = candidate.listEdges(fromArray);
      Price price = candidate.getPrice(model);
      if (best && std::pair(best->seconds, best->bytes) <= std::pair(price.seconds, price.bytes))
        continue;
      best = price;
      dims = candidate.dims;
      edges = candidate.edges;
    }
  }
  return best;
}

Value Window::build(OpBuilder &builder, ShardingRuleOpInterface op, Value array) const {
  Location loc = op->getLoc();
  ArrayType type = getCutAnew();
  auto exchange = [&](const Exchange &exchange, Value local) {
    return buildExchange(builder, loc, local, exchange.move, exchange.from, exchange.to, meshAttr,
                         whyExchange(op, exchange.from, exchange.to));
  };
  Value local = type == arrayTypeOf(source) ? array : exchange({arrayTypeOf(source), type, getMoveAnew()}, array);
  ArrayRef<Edge> rest = edges;
  while (!rest.empty()) {
    int64_t d = rest.front().dim, longer = 0;
    ArrayType piece = arrayTypeOf(local);
    SmallVector<Value> low, high;
    for (; !rest.empty() && rest.front().dim == d; rest = rest.drop_front()) {
      const Edge &edge = rest.front();
      Exchange needed = getExchange(edge, type);
      Value from = edge.fromArray ? array : builder.createOrFold<ReshapeOp>(loc, needed.from.getLocal(meshAttr), local);
      Value moved = exchange(needed, from);
      (edge.isLow ? low : high).push_back(builder.createOrFold<ReshapeOp>(loc, withSize(piece, d, edge.count), moved));
      longer += edge.count;
    }
    SmallVector<Value> parts(low);
    parts.push_back(local);
    parts.append(high);
    local = builder.create<ConcatenateOp>(loc, withSize(piece, d, piece.getDimSize(d) + longer), parts, d);
    type = getLonger(type, d, longer);
  }
  return local;
}

} // namespace spmdc
