//===- ExchangedTerms.cpp - the terms of a sum of moved arrays ------------===//

#include "passes/collectives/ExchangedTerms.h"

#include "ir/array/LocalBuilder.h"
#include "passes/exchange/ArrayMoves.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The composed moves between a value and the sum.
struct Path {
  SmallVector<std::optional<spmd::DimMove>> dims; ///< None for a dimension that does not change.
  ArrayType type; ///< The global type of the value, with its sharding; null as long as the path has no exchange.
  SmallVector<Operation *> ops;
};

bool isSharded(ArrayType type, int64_t dim) { return !type.getShardingOrOpen().getDims()[dim].getAxes().empty(); }

/// The move that an exchange or a local operation does, if it only moves the elements of one array and fills with zero.
std::optional<ArrayMove> getPlainMove(Operation *op) {
  if (auto exchange = dyn_cast<ExchangeOp>(op)) {
    ArrayMove move{exchange.getOperand(), exchange.getMoves()};
    return move.dims.empty() ? std::nullopt : std::make_optional(move);
  }
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  ArrayMoves moves = rule ? rule.getMoves() : ArrayMoves();
  bool isPlain = moves.parts.size() == 1 && moves.parts[0].source == op->getOperand(0);
  return isPlain && (!moves.outside || isPlainZero(moves.outside)) ? std::make_optional(moves.parts[0]) : std::nullopt;
}

class Collector {
public:
  Collector(Value root, ExchangedSum &sum) : root(root), sum(sum) {}

  void collect(Value value, const Path &path) {
    Operation *op = value.getDefiningOp();
    bool isOurs = op && op->getBlock() == root.getDefiningOp()->getBlock() && (value == root || value.hasOneUse());
    if (isOurs && isa<AddOp>(op)) {
      sum.ops.push_back(op);
      collect(op->getOperand(0), path);
      collect(op->getOperand(1), path);
      return;
    }
    if (std::optional<ArrayMove> move = isOurs ? getPlainMove(op) : std::nullopt) {
      Path longer = path;
      auto exchange = dyn_cast<ExchangeOp>(op);
      if (exchange ? seePast(exchange, *move, longer) : seePast(op, *move, longer)) {
        sum.ops.push_back(op);
        return collect(move->source, longer);
      }
    }
    if (!path.type) {
      sum.own.push_back({value, path.ops});
      return;
    }
    ExchangedTerm term{value, path.type, {}};
    for (auto [dim, size] : llvm::zip(path.dims, path.type.getShape()))
      term.dims.push_back(dim.value_or(spmd::DimMove{0, 1, 0, size}));
    sum.terms.push_back(std::move(term));
  }

private:
  /// Prepends the move `inner` of a dimension to the path's move `dim`. False if the two are not one move.
  static bool compose(const spmd::DimMove &inner, int64_t before, int64_t after, bool isSharded,
                      std::optional<spmd::DimMove> &dim) {
    if (before == after && inner == spmd::DimMove{0, 1, 0, after})
      return true;
    if (inner.stride != 1 || inner.length != 0 || inner.block != 1 || inner.wraps)
      return false;
    if (!dim) {
      dim = inner;
      return true;
    }
    std::optional<ArrayMove> both = isSharded ? std::nullopt : composeMoves({{}, {*dim}}, {{}, {inner}});
    if (!both || both->dims[0].stride != 1)
      return false;
    dim = both->dims[0];
    return true;
  }

  bool seePast(ExchangeOp exchange, const ArrayMove &move, Path &path) {
    auto from = cast<ArrayType>(exchange.getGlobal()), to = cast<ArrayType>(exchange.getTarget());
    if (!from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()) || (path.type && path.type != to))
      return false;
    ArrayType type = to;
    for (int64_t d = 0; d < to.getRank(); ++d) {
      if (!path.type && path.dims[d]) { // A local move needs the full size of its dimension on each device.
        if (isSharded(to, d))
          return false;
        SmallVector<int64_t> shape(type.getShape());
        shape[d] = typeOf(root).getDimSize(d);
        type = type.withShape(shape).withSharding(type.getSharding());
      }
      if (!compose(move.dims[d], from.getDimSize(d), to.getDimSize(d), isSharded(to, d), path.dims[d]))
        return false;
    }
    if (!path.type) {
      if (sum.type && sum.type != type)
        return false;
      sum.type = type;
    }
    path.type = from;
    return true;
  }

  static bool seePast(Operation *op, const ArrayMove &move, Path &path) {
    ArrayType from = typeOf(move.source), to = typeOf(op->getResult(0));
    SmallVector<int64_t> shape(path.type ? path.type.getShape() : from.getShape());
    for (int64_t d = 0; d < to.getRank(); ++d) {
      bool isKept = from.getDimSize(d) == to.getDimSize(d) && move.dims[d] == spmd::DimMove{0, 1, 0, to.getDimSize(d)};
      if (isKept)
        continue;
      if (path.type && isSharded(path.type, d))
        return false;
      if (!compose(move.dims[d], from.getDimSize(d), to.getDimSize(d), /*isSharded=*/false, path.dims[d]))
        return false;
      shape[d] = from.getDimSize(d);
    }
    if (path.type)
      path.type = path.type.withShape(shape).withSharding(path.type.getSharding());
    else
      path.ops.push_back(op);
    return true;
  }

  Value root;
  ExchangedSum &sum;
};

} // namespace

ExchangedSum findExchangedSum(Value value) {
  ExchangedSum sum;
  Path path;
  path.dims.resize(typeOf(value).getRank());
  Collector(value, sum).collect(value, path);
  return sum;
}

} // namespace spmdc
