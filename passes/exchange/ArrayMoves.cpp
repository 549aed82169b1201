//===- ArrayMoves.cpp - operations that only move elements ----------------===//

#include "passes/exchange/ArrayMoves.h"

#include "ir/array/LocalBuilder.h"
#include "passes/exchange/Reasons.h"
#include "passes/reshard/ExchangeAxes.h"
#include "passes/sharding/FactorAxes.h"

#include <numeric>

using namespace mlir;

namespace spmdc {
namespace {

/// The elements of each dimension of the result that `part` supplies.
SmallVector<spmd::MovedRange> getExtent(const ArrayMove &part, ArrayType from, ArrayType to) {
  SmallVector<spmd::MovedRange> extent;
  for (auto [dim, before, after] : llvm::zip(part.dims, from.getShape(), to.getShape()))
    extent.push_back(spmd::movedRange(dim, {0, before}, {0, after}));
  return extent;
}

/// The same ranges without gaps: all elements from the first to the last one.
SmallVector<spmd::MovedRange> withoutGaps(ArrayRef<spmd::MovedRange> extent) {
  SmallVector<spmd::MovedRange> ranges;
  for (const spmd::MovedRange &range : extent)
    ranges.push_back({range.start, range.end() - range.start});
  return ranges;
}

bool isFullSize(ArrayRef<spmd::MovedRange> extent, ArrayType to) {
  return llvm::all_of(llvm::zip(extent, to.getShape()),
                      [](auto pair) { return std::get<0>(pair).size == std::get<1>(pair); });
}

/// The same as getOnlyMove, or the parts of an operation with several operands whose elements devices would exchange.
SmallVector<ArrayMove> getOnlyMoves(Value value) {
  if (std::optional<ArrayMove> move = getOnlyMove(value))
    return {*move};
  auto op = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!op || !value.hasOneUse() || isUnreduced(value))
    return {};
  ArrayMoves moves = op.getMoves();
  if (moves.parts.size() < 2 || moves.outside || !needsExchange(op.getOperation()) ||
      llvm::any_of(moves.parts, [](const ArrayMove &move) { return isUnreduced(move.source); }))
    return {};
  return moves.parts;
}

} // namespace

std::optional<ArrayMove> getOnlyMove(Value value, Value *outside) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || isUnreduced(value))
    return std::nullopt;
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    ArrayMove move{reshard.getOperand(), {}};
    for (int64_t size : reshard.getType().getShape())
      move.dims.push_back({0, 1, 0, size});
    return isUnreduced(reshard.getOperand()) ? std::nullopt : std::make_optional(move);
  }
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  ArrayMoves moves = rule ? rule.getMoves() : ArrayMoves();
  if (moves.parts.size() != 1 || (moves.outside && !outside) || isUnreduced(moves.parts[0].source))
    return std::nullopt;
  if (outside)
    *outside = moves.outside;
  return moves.parts[0];
}

/// Composes one dimension of two moves of which at least one wraps; nothing if no single move has the same effect.
static std::optional<spmd::DimMove> composeRound(const spmd::DimMove &outer, const spmd::DimMove &inner, int64_t size) {
  bool isAll = inner.begin <= 0 && inner.end >= size && inner.stride == 1 && inner.dilation == 1;
  // The intermediate array's first element follows its last one; in the source another element may follow.
  if (outer.wraps && (!isAll || (inner.shift != 0 && !inner.wraps)))
    return std::nullopt;
  if (outer.stride != 1 || outer.dilation != 1)
    return std::nullopt;
  spmd::DimMove both = outer;
  both.shift += inner.shift;
  both.wraps = true;
  if (outer.wraps)
    return both;
  both.begin = std::max(outer.begin, inner.begin - outer.shift);
  both.end = std::max(both.begin, std::min(outer.end, inner.end - outer.shift));
  return both;
}

std::optional<ArrayMove> composeMoves(const ArrayMove &outer, const ArrayMove &inner) {
  ArrayMove move{inner.source, outer.dims};
  for (auto [index, dim, step] : llvm::enumerate(move.dims, inner.dims)) {
    if (dim.wraps || step.wraps) {
      int64_t between = outer.source ? typeOf(outer.source).getDimSize(static_cast<int64_t>(index)) : 0;
      bool isSameRound = !dim.wraps || typeOf(inner.source).getDimSize(static_cast<int64_t>(index)) == between;
      std::optional<spmd::DimMove> round = isSameRound ? composeRound(dim, step, between) : std::nullopt;
      if (!round)
        return std::nullopt;
      dim = *round;
      continue;
    }
    // With a common factor, a filler element of the outer move and an element that the inner move skips look alike.
    if (std::gcd(step.stride, dim.dilation) != 1)
      return std::nullopt;
    spmd::MovedRange part =
        spmd::movedRange(dim, {step.begin, step.end - step.begin}, {dim.begin, dim.end - dim.begin});
    spmd::DimMove both{dim.dilation * step.shift + step.stride * dim.shift, step.stride * dim.stride, part.start,
                       part.end()};
    both.dilation = dim.dilation * step.dilation;
    int64_t common = std::gcd(both.stride, both.dilation);
    if (both.shift % common != 0)
      return std::nullopt;
    both.shift /= common;
    both.stride /= common;
    both.dilation /= common;
    dim = both;
  }
  return move;
}

bool isDilated(const ArrayMove &move) {
  return llvm::any_of(move.dims, [](const spmd::DimMove &dim) { return dim.dilation != 1; });
}

Value buildLocalPart(OpBuilder &builder, Location loc, Value local, const ArrayMove &part, ArrayType from, ArrayType to,
                     MeshAttr mesh, Value between) {
  std::optional<std::vector<spmd::LocalStart>> starts =
      spmd::getLocalStarts(mesh.toValue(), from.toShardedShape(), to.toShardedShape(), part.dims);
  if (!starts)
    return nullptr;
  // Elements of the local result that `part` does not supply may have any value.
  ArrayType shard = to.getLocal(mesh);
  SmallVector<int64_t> begins, limits, strides, low, high, interior, kept, window, leftStrides;
  SmallVector<int64_t> padded(typeOf(local).getShape());
  for (auto [start, size, dim, there] : llvm::zip(*starts, shard.getShape(), part.dims, padded)) {
    int64_t extent = size == 0 ? 0 : (size - 1) * dim.stride + 1, limit = start.greatest + extent;
    interior.push_back(dim.dilation - 1);
    there = there == 0 ? 0 : (there - 1) * dim.dilation + 1;
    low.push_back(std::max<int64_t>(0, -start.least));
    high.push_back(std::max<int64_t>(0, limit - there));
    begins.push_back(start.least + low.back());
    limits.push_back(limit + low.back());
    there += low.back() + high.back();
    // If the slice starts at a different element on each device, the strided slice comes after the dynamic_slice.
    strides.push_back(start.isSame() ? dim.stride : 1);
    leftStrides.push_back(start.isSame() ? 1 : dim.stride);
    window.push_back(start.isSame() ? size : extent);
    kept.push_back(window.back() + start.greatest - start.least);
  }
  LocalBuilder localBuilder(builder, loc);
  if (typeOf(local).getShape() != ArrayRef(padded)) {
    Value filler = between ? between : localBuilder.nothing(shard.withShape({}));
    local = builder.create<PadOp>(loc, shard.withShape(padded), local, filler, low, high, interior);
  }
  local = builder.create<SliceOp>(loc, shard.withShape(kept), local, begins, limits, strides);
  if (ArrayRef(kept) == shard.getShape())
    return local;
  SmallVector<Value> places(starts->size(), localBuilder.splat({}, 0));
  for (auto [d, start] : llvm::enumerate(*starts)) {
    if (start.isSame())
      continue;
    const spmd::DimMove &dim = part.dims[d];
    auto startIn = [&](ArrayType type, int64_t size, int64_t scale) {
      Value first = localBuilder.shardStart(size, type.getShardingOrOpen().getDims()[d].getAxes());
      return scale == 1 ? first : localBuilder.multiply(first, localBuilder.splat({}, scale));
    };
    Value needed = dim.length == 0 ? startIn(to, to.getDimSize(d), dim.stride) : startIn(to, dim.base, dim.step);
    Value held = startIn(from, from.getDimSize(d) / dim.block, dim.block * dim.dilation);
    Value place = localBuilder.subtract(needed, held);
    places[d] = localBuilder.add(place, localBuilder.splat({}, dim.shift - start.least));
  }
  local = builder.create<DynamicSliceOp>(loc, local, places, window);
  if (ArrayRef(window) == shard.getShape())
    return local;
  SmallVector<int64_t> zeros(window.size(), 0);
  return builder.create<SliceOp>(loc, shard, local, zeros, window, leftStrides);
}

Value buildExchange(OpBuilder &builder, Location loc, Value local, const ArrayMove &part, ArrayType from, ArrayType to,
                    MeshAttr mesh, StringRef why) {
  SmallVector<Attribute> moves;
  for (auto [dim, size] : llvm::zip(part.dims, to.getShape()))
    moves.push_back(DimMoveAttr::fromValue(builder.getContext(), dim, size));
  return builder.create<ExchangeOp>(
      loc, to.getLocal(mesh), local, getExchangeAxes(from, to, part.dims, mesh), TypeAttr::get(from), TypeAttr::get(to),
      moves.empty() ? ArrayAttr() : builder.getArrayAttr(moves), builder.getStringAttr(why));
}

std::string whyExchange(ShardingRuleOpInterface op, ArrayType from, ArrayType to) {
  return (op->getName().stripDialect() + " takes " + from.str() + " to " + to.str() +
          ": devices send one another the elements that their shards do not share" + whyForCondition(op->getResult(0)))
      .str();
}

Value chooseInside(OpBuilder &builder, Location loc, ArrayRef<spmd::MovedRange> extent, ArrayType to, Value inside,
                   Value outside) {
  LocalBuilder local(builder, loc);
  ArrayRef<int64_t> shape = typeOf(inside).getShape();
  Value isInside;
  for (int64_t d = 0; d < to.getRank(); ++d) {
    if (extent[d].size == to.getDimSize(d))
      continue;
    Value first = local.shardStart(to.getDimSize(d), to.getShardingOrOpen().getDims()[d].getAxes());
    first = local.subtract(first, local.splat({}, extent[d].start));
    Value index = local.countFrom(first, shape[d]);
    Value mask = local.isWithin(index, local.splat({}, extent[d].end() - extent[d].start));
    if (extent[d].step > 1) {
      Value rest = local.remainder(index, local.splat({shape[d]}, extent[d].step));
      Value isAvailable = local.compare(rest, local.splat({shape[d]}, 0), ComparisonDirection::eq);
      mask = builder.create<AndOp>(loc, mask, isAvailable);
    }
    mask = local.broadcast(mask, shape, {d});
    isInside = isInside ? builder.create<AndOp>(loc, isInside, mask).getResult() : mask;
  }
  return isInside ? local.select(isInside, inside, outside) : inside;
}

/// Whether the value is materialized, or can be computed by moves alone from values that are; the operations between
/// are not materialized.
static bool isWithinReach(Value value, function_ref<bool(Value)> isAvailable) {
  if (isAvailable(value))
    return true;
  SmallVector<ArrayMove> inner = getOnlyMoves(value);
  return !inner.empty() &&
         llvm::all_of(inner, [&](const ArrayMove &move) { return isWithinReach(move.source, isAvailable); });
}

ArrayMoves getNearestMoves(ShardingRuleOpInterface op, SmallVectorImpl<Operation *> *skipped,
                           function_ref<bool(Value)> isAvailable) {
  ArrayMoves moves = op.getMoves();
  for (size_t i = 0; i < moves.parts.size();) {
    const ArrayMove part = moves.parts[i];
    SmallVector<ArrayMove> inner = getOnlyMoves(part.source);
    bool isOne = llvm::all_of(inner, [&](const ArrayMove &move) { return composeMoves(part, move).has_value(); });
    if (inner.empty() || !isOne ||
        !llvm::all_of(inner, [&](const ArrayMove &move) { return isWithinReach(move.source, isAvailable); })) {
      ++i;
      continue;
    }
    if (skipped)
      skipped->push_back(part.source.getDefiningOp());
    SmallVector<ArrayMove> seen;
    for (const ArrayMove &move : inner) {
      ArrayMove composed = *composeMoves(part, move);
      bool isEmpty = llvm::any_of(composed.dims, [](const spmd::DimMove &dim) { return dim.begin >= dim.end; });
      if (!isEmpty)
        seen.push_back(composed);
    }
    if (seen.empty())
      seen.push_back(*composeMoves(part, inner.front()));
    moves.parts.erase(moves.parts.begin() + i);
    moves.parts.insert(moves.parts.begin() + i, seen.begin(), seen.end());
  }
  return moves;
}

bool needsExchange(ShardingRuleOpInterface op, const ShardingRule &rule, ArrayRef<ArrayType> operands,
                   ArrayType result) {
  ArrayMoves moves = op.getMoves();
  if (moves.parts.empty())
    return false;
  auto slicesReplicatedLocally = [&](Value operand) {
    return llvm::any_of(moves.parts,
                        [&](const ArrayMove &part) { return part.source == operand && part.slicesReplicatedLocally; });
  };
  spmd::Sharding target = result.getShardingOrOpen().toValue();
  for (auto [index, operand] : llvm::enumerate(operands)) {
    spmd::Sharding source = operand.getShardingOrOpen().toValue();
    for (int64_t d = 0; d < operand.getRank(); ++d) {
      bool isSharded = !source.dims[d].empty(), isOther = rule.operands[index][d] != rule.results[0][d];
      if (!isSharded && isOther && slicesReplicatedLocally(op->getOperand(index)))
        continue;
      if (source.dims[d] != target.dims[d] || (isSharded && !canShard(rule.factors[rule.operands[index][d][0]])))
        return true;
    }
  }
  return false;
}

bool needsExchange(Operation *op) {
  auto rule = cast<ShardingRuleOpInterface>(op);
  SmallVector<ArrayType> types;
  for (Value operand : op->getOperands())
    types.push_back(typeOf(operand));
  return needsExchange(rule, rule.getShardingRule(), types, typeOf(op->getResult(0)));
}

Value buildMoves(OpBuilder &builder, ShardingRuleOpInterface op, ArrayType to, MeshAttr mesh,
                 function_ref<Value(Value)> localOf, function_ref<ArrayType(Value)> globalOf) {
  Location loc = op->getLoc();
  ArrayMoves moves = getNearestMoves(op, nullptr, [&](Value value) { return static_cast<bool>(localOf(value)); });
  Value result;
  if (moves.outside && !isPlainZero(moves.outside))
    result = LocalBuilder(builder, loc).broadcast(localOf(moves.outside), to.getLocal(mesh).getShape());
  for (const ArrayMove &part : moves.parts) {
    ArrayType from = globalOf(part.source);
    SmallVector<spmd::MovedRange> extent = getExtent(part, from, to);
    bool isLast = &part == &moves.parts.back();
    if (llvm::any_of(extent, [](const spmd::MovedRange &range) { return range.size == 0; }) && (result || !isLast))
      continue;
    auto zero = [&](ArrayType type) -> Value { return builder.create<ConstantOp>(loc, type, Scalar()); };
    Value between;
    if (isDilated(part))
      between = isPlainZero(moves.outside) ? zero(to.getLocal(mesh).withShape({})) : localOf(moves.outside);
    Value local = localOf(part.source), moved = buildLocalPart(builder, loc, local, part, from, to, mesh, between);
    if (moved) {
      extent = withoutGaps(extent);
      if (!result && moves.outside && !isFullSize(extent, to)) // An exchange leaves zeros there.
        result = zero(to.getLocal(mesh));
    } else {
      moved = buildExchange(builder, loc, local, part, from, to, mesh, whyExchange(op, from, to));
    }
    result = result ? chooseInside(builder, loc, extent, to, moved, result) : moved;
  }
  return result;
}

} // namespace spmdc
