//===- Moves.cpp - operations that only move elements ---------------------===//

#include "passes/partition/Moves.h"

#include "ir/array/LocalBuilder.h"
#include "passes/partition/Conditions.h"
#include "passes/partition/FactorAxes.h"

#include <set>

using namespace mlir;

namespace spmdc {
namespace {

bool isUnreduced(Value value) { return !cast<ArrayType>(value.getType()).getShardingOrOpen().getUnreduced().empty(); }

/// Which elements of each dimension of the result a part gives.
SmallVector<spmd::ShardRange> getExtent(const ArrayMove &part, ArrayType from, ArrayType to) {
  SmallVector<spmd::ShardRange> extent;
  for (auto [dim, before, after] : llvm::zip(part.dims, from.getShape(), to.getShape()))
    extent.push_back(spmd::movedRange(dim, {0, before}, {0, after}));
  return extent;
}

bool isWhole(ArrayRef<spmd::ShardRange> extent, ArrayType to) {
  return llvm::all_of(llvm::zip(extent, to.getShape()),
                      [](auto pair) { return std::get<0>(pair).size == std::get<1>(pair); });
}

/// The whole axes of which either sharding names a part.
AxesAttr getNamedAxes(ArrayType from, ArrayType to, MeshAttr meshAttr) {
  MLIRContext *context = from.getContext();
  SmallVector<AxisRefAttr> axes;
  for (const spmd::MeshAxis &axis : meshAttr.toValue().axes) {
    auto isNamed = [&](ArrayType type) {
      return llvm::any_of(type.getShardingOrOpen().getDims(), [&](DimShardingAttr dim) {
        return llvm::any_of(dim.getAxes(), [&](AxisRefAttr ref) { return ref.getName() == axis.name; });
      });
    };
    if (isNamed(from) || isNamed(to))
      axes.push_back(AxisRefAttr::get(context, axis.name, 1, 0));
  }
  return AxesAttr::get(context, axes);
}

/// Zero as an exchange makes it: +0.
bool isPlainZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant.getValue().getNumElements() != 1)
    return false;
  if (isa<FloatType>(constant.getValue().getElementType()))
    return constant.getValue().getSplatValue<APFloat>().isPosZero();
  return constant.getValue().getSplatValue<APInt>().isZero();
}

/// The same as getOnlyMove, or several arrays whose elements devices would have to exchange.
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

ArrayMove composeMoves(const ArrayMove &outer, const ArrayMove &inner) {
  ArrayMove move{inner.source, outer.dims};
  for (auto [dim, step] : llvm::zip(move.dims, inner.dims)) {
    spmd::ShardRange part =
        spmd::movedRange(dim, {step.begin, step.end - step.begin}, {dim.begin, dim.end - dim.begin});
    dim = {step.shift + step.stride * dim.shift, step.stride * dim.stride, part.start, part.start + part.size};
  }
  return move;
}

Value buildLocalPart(OpBuilder &builder, Location loc, Value local, const ArrayMove &part, ArrayType from, ArrayType to,
                     MeshAttr mesh) {
  std::optional<std::vector<int64_t>> starts =
      spmd::getLocalStarts(mesh.toValue(), from.toShardedShape(), to.toShardedShape(), part.dims);
  if (!starts)
    return nullptr;
  // What the piece has from elsewhere may be anything.
  ArrayType piece = to.getLocal(mesh);
  SmallVector<int64_t> begins, limits, strides, low, high;
  SmallVector<int64_t> padded(arrayTypeOf(local).getShape());
  for (auto [begin, size, dim, there] : llvm::zip(*starts, piece.getShape(), part.dims, padded)) {
    int64_t limit = size == 0 ? begin : begin + (size - 1) * dim.stride + 1;
    low.push_back(std::max<int64_t>(0, -begin));
    high.push_back(std::max<int64_t>(0, limit - there));
    begins.push_back(begin + low.back());
    limits.push_back(limit + low.back());
    strides.push_back(dim.stride);
    there += low.back() + high.back();
  }
  if (arrayTypeOf(local).getShape() != ArrayRef(padded)) {
    SmallVector<int64_t> none(padded.size(), 0);
    Value filler = LocalBuilder(builder, loc).nothing(piece.withShape({}));
    local = builder.create<PadOp>(loc, piece.withShape(padded), local, filler, low, high, none);
  }
  return builder.create<SliceOp>(loc, piece, local, begins, limits, strides);
}

Value buildExchange(OpBuilder &builder, Location loc, Value local, const ArrayMove &part, ArrayType from, ArrayType to,
                    MeshAttr mesh, StringRef why) {
  SmallVector<int64_t> shifts, strides, begins, ends, lengths, bases, steps, blocks, wraps;
  bool isStrided = false, isPart = false, hasWindows = false, hasBlocks = false, goesRound = false;
  for (auto [dim, size] : llvm::zip(part.dims, to.getShape())) {
    shifts.push_back(dim.shift);
    strides.push_back(dim.stride);
    begins.push_back(dim.begin);
    ends.push_back(dim.end);
    lengths.push_back(dim.length);
    bases.push_back(dim.base);
    steps.push_back(dim.step);
    blocks.push_back(dim.block);
    wraps.push_back(dim.wraps);
    isStrided |= dim.stride != 1;
    isPart |= dim.begin != 0 || dim.end != size;
    hasWindows |= dim.length != 0;
    hasBlocks |= dim.block != 1;
    goesRound |= dim.wraps;
  }
  auto attr = [&](bool isNeeded, ArrayRef<int64_t> list) {
    return isNeeded ? builder.getDenseI64ArrayAttr(list) : DenseI64ArrayAttr();
  };
  return builder.create<ExchangeOp>(loc, to.getLocal(mesh), local, getNamedAxes(from, to, mesh), TypeAttr::get(from),
                                    TypeAttr::get(to), attr(true, shifts), attr(isStrided, strides),
                                    attr(isPart, begins), attr(isPart, ends), attr(hasWindows, lengths),
                                    attr(hasWindows, bases), attr(hasWindows, steps), attr(hasBlocks, blocks),
                                    attr(goesRound, wraps), builder.getStringAttr(why));
}

std::vector<std::string> listAxisNames(ArrayRef<ArrayType> types) {
  std::set<std::string> names;
  for (ArrayType type : types)
    for (DimShardingAttr dim : type.getShardingOrOpen().getDims())
      for (AxisRefAttr axis : dim.getAxes())
        names.insert(axis.getName().str());
  return {names.begin(), names.end()};
}

std::string whyExchange(ShardingRuleOpInterface op, ArrayType from, ArrayType to) {
  return (op->getName().stripDialect() + " takes " + from.str() + " to " + to.str() +
          ": devices send one another the elements that their pieces do not share" + whyForCondition(op->getResult(0)))
      .str();
}

Value chooseInside(OpBuilder &builder, Location loc, ArrayRef<spmd::ShardRange> extent, ArrayType to, Value inside,
                   Value outside) {
  LocalBuilder local(builder, loc);
  ArrayRef<int64_t> shape = arrayTypeOf(inside).getShape();
  Value isInside;
  for (int64_t d = 0; d < to.getRank(); ++d) {
    if (extent[d].size == to.getDimSize(d))
      continue;
    Value first = local.shardStart(to.getDimSize(d), to.getShardingOrOpen().getDims()[d].getAxes());
    first = local.subtract(first, local.splat({}, extent[d].start));
    Value mask = local.isWithin(local.countFrom(first, shape[d]), local.splat({}, extent[d].size));
    mask = local.broadcast(mask, shape, {d});
    isInside = isInside ? builder.create<AndOp>(loc, isInside, mask).getResult() : mask;
  }
  return isInside ? local.select(isInside, inside, outside) : inside;
}

/// Whether the value is there, or all that moves alone make it of: what is passed is not there itself.
static bool isWithinReach(Value value, function_ref<bool(Value)> isThere) {
  if (isThere(value))
    return true;
  SmallVector<ArrayMove> inner = getOnlyMoves(value);
  return !inner.empty() &&
         llvm::all_of(inner, [&](const ArrayMove &move) { return isWithinReach(move.source, isThere); });
}

ArrayMoves getNearestMoves(ShardingRuleOpInterface op, SmallVectorImpl<Operation *> *skipped,
                           function_ref<bool(Value)> isThere) {
  ArrayMoves moves = op.getMoves();
  for (size_t i = 0; i < moves.parts.size();) {
    const ArrayMove part = moves.parts[i];
    SmallVector<ArrayMove> inner = getOnlyMoves(part.source);
    if (inner.empty() ||
        !llvm::all_of(inner, [&](const ArrayMove &move) { return isWithinReach(move.source, isThere); })) {
      ++i;
      continue;
    }
    if (skipped)
      skipped->push_back(part.source.getDefiningOp());
    SmallVector<ArrayMove> seen;
    for (const ArrayMove &move : inner) {
      ArrayMove composed = composeMoves(part, move);
      bool isEmpty = llvm::any_of(composed.dims, [](const spmd::DimMove &dim) { return dim.begin >= dim.end; });
      if (!isEmpty)
        seen.push_back(composed);
    }
    if (seen.empty())
      seen.push_back(composeMoves(part, inner.front()));
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
  auto mayBeWhole = [&](Value operand) {
    return llvm::any_of(moves.parts, [&](const ArrayMove &part) { return part.source == operand && part.mayBeWhole; });
  };
  spmd::Sharding target = result.getShardingOrOpen().toValue();
  for (auto [index, operand] : llvm::enumerate(operands)) {
    spmd::Sharding source = operand.getShardingOrOpen().toValue();
    for (int64_t d = 0; d < operand.getRank(); ++d) {
      bool isCut = !source.dims[d].empty(), isOther = rule.operands[index][d] != rule.results[0][d];
      if (!isCut && isOther && mayBeWhole(op->getOperand(index)))
        continue;
      if (source.dims[d] != target.dims[d] || (isCut && !canCut(rule.factors[rule.operands[index][d][0]])))
        return true;
    }
  }
  return false;
}

bool needsExchange(Operation *op) {
  auto rule = cast<ShardingRuleOpInterface>(op);
  SmallVector<ArrayType> types;
  for (Value operand : op->getOperands())
    types.push_back(arrayTypeOf(operand));
  return needsExchange(rule, rule.getShardingRule(), types, arrayTypeOf(op->getResult(0)));
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
    SmallVector<spmd::ShardRange> extent = getExtent(part, from, to);
    bool isLast = &part == &moves.parts.back();
    if (llvm::any_of(extent, [](const spmd::ShardRange &range) { return range.size == 0; }) && (result || !isLast))
      continue;
    Value local = localOf(part.source), moved = buildLocalPart(builder, loc, local, part, from, to, mesh);
    if (moved && !result && moves.outside && !isWhole(extent, to)) // An exchange leaves zeros there.
      result = LocalBuilder(builder, loc).nothing(to.getLocal(mesh));
    if (!moved)
      moved = buildExchange(builder, loc, local, part, from, to, mesh, whyExchange(op, from, to));
    result = result ? chooseInside(builder, loc, extent, to, moved, result) : moved;
  }
  return result;
}

} // namespace spmdc
