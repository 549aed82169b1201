//===- SplitHalos.cpp - receives halos alone, next to the own shard -------===//
//
// An exchange of windows gives each device an array of its shard and the neighbours' elements around it, so it copies
// the shard. This pass exchanges the elements around it alone and concatenates: kernels read each element where it is.
//
//   the window of device 1      3 | 4 5 6 7 | 8
//   before                     [3 4 5 6 7 8]           one exchange
//   after                      [3] , x , [8]           two small ones, and a concatenation that no kernel stores
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/collectives/Passes.h"
#include "passes/exchange/ArrayMoves.h"
#include "passes/reshard/ExchangeAxes.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SPLITHALOS
#include "passes/collectives/Passes.h.inc"

namespace {

DebugTrace trace("split-halos", "not split");

bool isIdentity(const spmd::DimMove &move, int64_t size) {
  spmd::DimMove none;
  none.end = size;
  return move == none;
}

/// Whether all readers compute from it, directly or through operations that only move elements. A product of matrices
/// reads its operands in memory, as do collectives, loops and the caller; the concatenation would be stored for them.
bool isReadByComputations(Value value, llvm::SmallPtrSetImpl<Operation *> &seen) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (!seen.insert(user).second || isa<ElementwiseOpInterface, ReduceOp>(user))
      return true;
    auto ruled = dyn_cast<ShardingRuleOpInterface>(user);
    bool onlyMoves = isa<TransposeOp, BroadcastInDimOp>(user) || (ruled && !ruled.getMoves().parts.empty());
    return onlyMoves && isReadByComputations(user->getResult(0), seen);
  });
}

/// A dimension of an exchange. The device's target shard is `low` elements from shards before its own, the elements
/// `begin` up to `begin` + `own` of its own shard, and `high` elements from shards after it.
struct HaloedDim {
  int64_t dim = 0, shards = 0, shard = 0;
  int64_t low = 0, begin = 0, own = 0, high = 0;
  spmd::DimMove move;

  /// None if the shards differ in that, or if no device keeps elements of its own.
  static std::optional<HaloedDim> find(int64_t dim, int64_t shards, int64_t source, int64_t target,
                                       const spmd::DimMove &move) {
    if (shards == 0 || source % shards != 0 || move.stride != 1 || move.dilation != 1 || move.block != 1)
      return std::nullopt;
    HaloedDim halo{dim, shards, source / shards, std::max<int64_t>(0, -move.shift), std::max<int64_t>(0, move.shift), 0,
                   0,   move};
    int64_t length = move.length > 0 ? move.length : target / shards;
    bool beginsAtShard = move.length > 0 ? move.base % shards == 0 && move.base / shards * move.step == halo.shard
                                         : target % shards == 0 && length == halo.shard;
    halo.own = std::min(length - halo.low, halo.shard - halo.begin);
    if (!beginsAtShard || halo.own <= 0)
      return std::nullopt;
    halo.high = length - halo.low - halo.own;
    // Zeros before `begin` and from `end` on must be among the halos.
    if (move.begin > halo.low || move.end < (shards - 1) * length + halo.low + halo.own)
      return std::nullopt;
    return halo;
  }

  /// The halo before the shard, or after it, as an exchange of windows of the source.
  spmd::DimMove getWindows(bool isLow) const {
    spmd::DimMove part = move;
    part.length = isLow ? low : high;
    part.step = 1;
    part.base = shards * shard;
    part.end = shards * part.length;
    if (isLow) {
      part.begin = std::min(move.begin, low);
    } else {
      int64_t length = low + own + high;
      part.shift += low + own;
      part.begin = 0;
      part.end -= shards * length - move.end;
    }
    return part;
  }

  /// The same as an exchange of each device's elements that a neighbour needs; none if it needs those of other shards,
  /// too, or if its first is not the shard's first.
  std::optional<spmd::DimMove> getEdges(bool isLow) const {
    int64_t length = isLow ? low : high;
    if (length > shard || (!isLow && begin + own != shard))
      return std::nullopt;
    spmd::DimMove part = getWindows(isLow);
    part.length = part.step = part.base = 0;
    part.shift = isLow ? -length : length;
    return part;
  }
};

class HaloSplitter {
public:
  HaloSplitter(MeshAttr mesh, const CostModel &model) : mesh(mesh), model(model) {}

  /// Returns whether it was split.
  bool visit(ExchangeOp exchange) {
    std::vector<spmd::DimMove> moves = exchange.getMoves();
    auto source = cast<ArrayType>(exchange.getGlobal()), target = cast<ArrayType>(exchange.getTarget());
    SmallVector<HaloedDim> halos;
    for (auto [d, move] : llvm::enumerate(moves)) {
      auto dim = static_cast<int64_t>(d);
      ArrayRef<AxisRefAttr> axes = source.getShardingOrOpen().getDims()[d].getAxes();
      bool isSameCut = axes == target.getShardingOrOpen().getDims()[d].getAxes();
      if (isSameCut && isIdentity(move, target.getDimSize(dim)) && source.getDimSize(dim) == target.getDimSize(dim))
        continue;
      int64_t shards = 1;
      for (AxisRefAttr axis : axes)
        shards *= axis.toValue().sizeIn(mesh.toValue());
      std::optional<HaloedDim> halo =
          isSameCut ? HaloedDim::find(dim, shards, source.getDimSize(dim), target.getDimSize(dim), move) : std::nullopt;
      if (!halo)
        return trace.skip(exchange, "devices do not keep the same part of their shards along dimension ", dim);
      halos.push_back(*halo);
    }
    if (halos.empty())
      return trace.skip(exchange, "it moves nothing along a sharded dimension");
    llvm::SmallPtrSet<Operation *, 16> seen;
    if (!isReadByComputations(exchange.getResult(), seen))
      return trace.skip(exchange, "an operation reads all of it in memory");
    if (!pays(exchange, halos))
      return false;
    replace(exchange, halos);
    return true;
  }

private:
  /// Whether waiting for more exchanges takes less time than to copy the elements that a device has.
  bool pays(ExchangeOp exchange, ArrayRef<HaloedDim> halos) {
    auto source = cast<ArrayType>(exchange.getGlobal()), target = cast<ArrayType>(exchange.getTarget());
    double kept = static_cast<double>(spmd::byteSize(source.getDType()));
    for (int64_t size : typeOf(exchange.getResult()).getShape())
      kept *= static_cast<double>(size);
    int64_t exchanges = 0;
    for (const HaloedDim &halo : halos) {
      kept *= static_cast<double>(halo.own) / static_cast<double>(halo.low + halo.own + halo.high);
      exchanges += (halo.low > 0) + (halo.high > 0);
    }
    LinkRates rates = getExchangeRates(model, mesh.toValue(), source, target, exchange.getMoves());
    double saved = model.computeSeconds(0, 2 * kept), waits = static_cast<double>(exchanges - 1) * rates.stepSeconds(0);
    return saved > waits ||
           trace.skip(exchange, "copying ", asCount(kept), " bytes takes less time than ", exchanges, " exchanges");
  }

  void replace(ExchangeOp exchange, ArrayRef<HaloedDim> halos) {
    OpBuilder builder(exchange);
    auto target = cast<ArrayType>(exchange.getTarget());
    Value value = exchange.getOperand();
    auto global = cast<ArrayType>(exchange.getGlobal());
    for (const HaloedDim &halo : halos) {
      SmallVector<Value> parts;
      if (halo.low > 0)
        parts.push_back(receive(builder, exchange, value, global, halo, /*isLow=*/true));
      parts.push_back(createSlice(builder, exchange.getLoc(), value, halo.dim, halo.begin, halo.own));
      if (halo.high > 0)
        parts.push_back(receive(builder, exchange, value, global, halo, /*isLow=*/false));
      value = concatenate(builder, exchange.getLoc(), parts, halo.dim);
      global = withSize(global, halo.dim, target.getDimSize(halo.dim));
    }
    exchange.getResult().replaceAllUsesWith(value);
    exchange.erase();
  }

  /// Receives a halo of `value`, the local shard of `global`.
  Value receive(OpBuilder &builder, ExchangeOp exchange, Value value, ArrayType global, const HaloedDim &halo,
                bool isLow) {
    int64_t length = isLow ? halo.low : halo.high;
    ArrayType to = withSize(global, halo.dim, halo.shards * length), from = global;
    ArrayMove part;
    for (int64_t size : global.getShape()) {
      part.dims.emplace_back();
      part.dims.back().end = size;
    }
    part.dims[halo.dim] = halo.getWindows(isLow);
    // An array that no operation stores is read where it is; only its edges are stored.
    std::optional<spmd::DimMove> edges = halo.getEdges(isLow);
    if (value != exchange.getOperand() && edges) {
      value = createSlice(builder, exchange.getLoc(), value, halo.dim, isLow ? halo.shard - length : 0, length);
      part.dims[halo.dim] = *edges;
      from = to;
    }
    return buildExchange(builder, exchange.getLoc(), value, part, from, to, mesh, exchange.getWhy().value_or(""));
  }

  static ArrayType withSize(ArrayType type, int64_t dim, int64_t size) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    return type.withShape(shape).withSharding(type.getSharding());
  }

  static Value concatenate(OpBuilder &builder, Location loc, ArrayRef<Value> parts, int64_t dim) {
    if (parts.size() == 1)
      return parts.front();
    int64_t size = 0;
    for (Value part : parts)
      size += typeOf(part).getDimSize(dim);
    return builder.create<ConcatenateOp>(loc, withSize(typeOf(parts.front()), dim, size), parts, dim);
  }

  MeshAttr mesh;
  const CostModel &model;
};

class SplitHalosPass : public impl::SplitHalosBase<SplitHalosPass> {
  void runOnOperation() override {
    CostModel model = CostModel::of(getOperation());
    SmallVector<ExchangeOp> exchanges;
    getOperation().walk([&](ExchangeOp op) { exchanges.push_back(op); });
    for (ExchangeOp exchange : exchanges)
      HaloSplitter(getMesh(exchange), model).visit(exchange);
  }
};

} // namespace
} // namespace spmdc
