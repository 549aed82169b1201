//===- Regrouping.cpp - reshapes of runs of elements ----------------------===//

#include "passes/exchange/Regrouping.h"

#include "ir/array/LocalBuilder.h"
#include "passes/exchange/ArrayMoves.h"
#include "passes/exchange/WindowDims.h"
#include "passes/sharding/FactorAxes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Several dimensions flattened into one: `blocks` blocks of `block` elements each, sharded by block.
struct FlatDim {
  int64_t blocks = 1, block = 1;
  AxisRefs axes;

  int64_t getSize() const { return blocks * block; }
};

/// Flattens dimensions begin to end - 1; nothing if a shard is not a run of consecutive elements.
std::optional<FlatDim> flatten(const spmd::MeshShape &mesh, ArrayRef<int64_t> shape, const spmd::Sharding &sharding,
                               size_t begin, size_t end) {
  FlatDim flat;
  for (size_t d = begin; d < end; ++d) {
    const AxisRefs &axes = sharding.dims[d];
    if (axes.empty()) {
      (flat.axes.empty() ? flat.blocks : flat.block) *= shape[d];
    } else if (flat.block == 1 && flat.blocks == sizeOf(mesh, flat.axes)) { // Shards are single elements so far.
      flat.blocks *= shape[d];
      llvm::append_range(flat.axes, axes);
    } else {
      return std::nullopt;
    }
  }
  return flat;
}

/// How dimensions begin to end - 1 of the operand, flattened, are made of those of the array: a contiguous run of
/// slices along the first dimension. Nothing if they are not.
std::optional<spmd::DimMove> flattenMove(const ArrayMove &part, ArrayRef<int64_t> from, ArrayRef<int64_t> operand,
                                         size_t begin, size_t end) {
  if (begin == end)
    return spmd::DimMove{0, 1, 0, 1};
  int64_t inner = 1;
  for (size_t d = begin + 1; d < end; ++d) {
    if (part.dims[d] != spmd::DimMove{0, 1, 0, operand[d]} || from[d] != operand[d])
      return std::nullopt;
    inner *= operand[d];
  }
  spmd::DimMove move = part.dims[begin];
  if (move.dilation != 1 || (inner != 1 && move.stride != 1))
    return std::nullopt;
  // The operand's elements that the array does not supply have the value of a pad, which may not be zero.
  spmd::MovedRange there = spmd::movedRange(move, {0, from[begin]}, {0, operand[begin]});
  return spmd::DimMove{move.shift * inner, move.stride, there.start * inner, (there.start + there.size) * inner};
}

/// The move to the padded shards of the target, concatenated; `move` leads to the unpadded target.
std::optional<spmd::DimMove> moveToShards(const spmd::MeshShape &mesh, spmd::DimMove move, const FlatDim &from,
                                          const FlatDim &to) {
  std::vector<int64_t> sizes = spmd::sizesOf(mesh, to.axes);
  int64_t shard = spmd::localDimSize(to.blocks, sizes);
  bool isShardedEvenly = from.blocks % sizeOf(mesh, from.axes) == 0;
  move.block = isShardedEvenly ? 1 : from.block;
  // Over one axis, only empty shards follow a shard that is not full.
  if (sizes.size() < 2 || shard * sizeOf(mesh, to.axes) == to.blocks)
    return move;
  if (move.stride < 1)
    return std::nullopt;
  spmd::DimMove windows = move;
  windows.length = shard * to.block;
  windows.step = to.block * move.stride;
  windows.base = to.blocks;
  // The elements that come from the array, as positions within the windows.
  bool isFirst = true;
  for (auto [index, range] : llvm::enumerate(listShardRanges(to.blocks, sizes))) {
    int64_t start = range.start * to.block, begin = std::max(start, move.begin),
            end = std::min(start + range.size * to.block, move.end);
    if (begin >= end)
      continue;
    int64_t first = static_cast<int64_t>(index) * windows.length - start;
    if (isFirst)
      windows.begin = first + begin;
    windows.end = first + end;
    isFirst = false;
  }
  if (isFirst)
    windows.begin = windows.end = 0;
  return windows;
}

/// The flattened type; `sizeOf` returns the size of each dimension.
ArrayType flatType(ArrayType type, ArrayRef<FlatDim> dims, function_ref<int64_t(const FlatDim &)> sizeOf) {
  SmallVector<int64_t> shape;
  spmd::Sharding sharding;
  for (const FlatDim &dim : dims) {
    shape.push_back(sizeOf(dim));
    sharding.dims.push_back(dim.axes);
  }
  return type.withShape(shape).withSharding(ShardingAttr::fromValue(type.getContext(), sharding));
}

/// The regrouping from `from` to `to`; `part` gives the reshape's operand, of shape `operand`, as a move of `from`.
std::optional<Regrouping> getRegrouping(const spmd::MeshShape &mesh, ArrayType from, const ArrayMove &part,
                                        ArrayRef<int64_t> operand, ArrayType to) {
  if (from.getNumElements() == 0 || !from.getShardingOrOpen().getUnreduced().empty() ||
      !to.getShardingOrOpen().getUnreduced().empty())
    return std::nullopt;
  ArrayRef<int64_t> before = operand, after = to.getShape();
  spmd::Sharding source = from.getShardingOrOpen().toValue(), target = to.getShardingOrOpen().toValue();
  SmallVector<FlatDim> fromDims, toDims;
  Regrouping regrouping;
  for (size_t i = 0, j = 0; i < before.size() || j < after.size();) {
    // Extends both groups of dimensions until they have the same number of elements.
    size_t firstBefore = i, firstAfter = j;
    int64_t in = i < before.size() ? before[i++] : 1, out = j < after.size() ? after[j++] : 1;
    while (in != out)
      in < out ? in *= before[i++] : out *= after[j++];
    std::optional<FlatDim> fromDim = flatten(mesh, from.getShape(), source, firstBefore, i),
                           toDim = flatten(mesh, after, target, firstAfter, j);
    std::optional<spmd::DimMove> move = flattenMove(part, from.getShape(), operand, firstBefore, i);
    if (!fromDim || !toDim || !move)
      return std::nullopt;
    move = moveToShards(mesh, *move, *fromDim, *toDim);
    if (!move)
      return std::nullopt;
    fromDims.push_back(*fromDim);
    toDims.push_back(*toDim);
    regrouping.moves.push_back(*move);
  }
  regrouping.isComplete = from.getShape() == operand;
  regrouping.from = flatType(from, fromDims, [](const FlatDim &dim) { return dim.getSize(); });
  regrouping.to = flatType(to, toDims, [&](const FlatDim &dim) {
    return spmd::localDimSize(dim.blocks, spmd::sizesOf(mesh, dim.axes)) * sizeOf(mesh, dim.axes) * dim.block;
  });
  regrouping.source = part.source;
  return regrouping;
}

} // namespace

std::optional<Regrouping> findRegrouping(const spmd::MeshShape &mesh, ReshapeOp op, ArrayType to,
                                         function_ref<ArrayType(Value)> typeOf, SmallVectorImpl<Operation *> *skipped,
                                         function_ref<bool(Value)> isAvailable) {
  ArrayRef<int64_t> shape = op.getOperand().getType().getShape();
  ArrayMove all{op.getOperand(), {}};
  for (int64_t size : shape)
    all.dims.push_back({0, 1, 0, size});
  struct Origin {
    ArrayMove move;
    Value outside;
  };
  SmallVector<Origin> origins = {{all, Value()}};
  SmallVector<Operation *> passed;
  Value outside;
  while (std::optional<ArrayMove> inner = getOnlyMove(origins.back().move.source, &outside)) {
    if (outside && (origins.back().outside || !isAvailable(outside)))
      break;
    std::optional<ArrayMove> move = composeMoves(origins.back().move, *inner);
    if (!move)
      break;
    passed.push_back(origins.back().move.source.getDefiningOp());
    origins.push_back({*move, outside ? outside : origins.back().outside});
  }
  for (; !origins.empty(); origins.pop_back()) {
    // A value that has been looked through may not be materialized, but the value further back may be.
    if (!isAvailable(origins.back().move.source))
      continue;
    if (std::optional<Regrouping> regrouping =
            getRegrouping(mesh, typeOf(origins.back().move.source), origins.back().move, shape, to)) {
      regrouping->outside = origins.back().outside;
      if (skipped)
        skipped->append(passed.begin(), passed.begin() + static_cast<ptrdiff_t>(origins.size()) - 1);
      return regrouping;
    }
  }
  return std::nullopt;
}

bool isLocalReshape(const spmd::MeshShape &mesh, ReshapeOp op, ArrayType from, ArrayType to) {
  ShardingRule rule = op.getShardingRule();
  auto isShardedAs = [&](ArrayType type, const ValueFactors &value, const FactorAxes &axes) {
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, value, axes);
    return sharding && type.getShardingOrOpen().hasSameAxes(ShardingAttr::fromValue(type.getContext(), *sharding));
  };
  auto agree = [&](const FactorAxes &axes) {
    return isShardedAs(from, rule.operands[0], axes) && isShardedAs(to, rule.results[0], axes);
  };
  return agree(projectToFactors(mesh, rule, rule.operands[0], from.getShardingOrOpen().toValue())) ||
         agree(projectToFactors(mesh, rule, rule.results[0], to.getShardingOrOpen().toValue()));
}

Value buildRegrouping(OpBuilder &builder, ReshapeOp op, Value local, Value outside, const Regrouping &regrouping,
                      ArrayType from, ArrayType to, MeshAttr mesh) {
  auto reshape = [&](Value value, ArrayType type) -> Value {
    return builder.createOrFold<ReshapeOp>(op.getLoc(), type, value);
  };
  Value flat = reshape(local, getLocalSource(mesh.toValue(), regrouping.from, regrouping.moves));
  ArrayMove part{op.getOperand(), regrouping.moves};
  Value shard = buildLocalPart(builder, op.getLoc(), flat, part, regrouping.from, regrouping.to, mesh);
  if (!shard) {
    std::string why = whyExchange(cast<ShardingRuleOpInterface>(op.getOperation()), from, to);
    shard = buildExchange(builder, op.getLoc(), flat, part, regrouping.from, regrouping.to, mesh, why);
  }
  if (regrouping.outside) {
    SmallVector<spmd::MovedRange> extent;
    for (const spmd::DimMove &move : regrouping.moves)
      extent.push_back({move.begin, move.end - move.begin});
    LocalBuilder builderOfLocal(builder, op.getLoc());
    outside = builderOfLocal.broadcast(outside, typeOf(shard).getShape());
    shard = chooseInside(builder, op.getLoc(), extent, regrouping.to, shard, outside);
  }
  return reshape(shard, to.getLocal(mesh));
}

} // namespace spmdc
