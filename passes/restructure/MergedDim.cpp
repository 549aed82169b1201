//===- MergedDim.cpp - a dimension merged of sharded ones -----------------===//

#include "passes/restructure/MergedDim.h"

#include "ir/array/LocalBuilder.h"
#include "passes/restructure/BeforeReshape.h"
#include "passes/sharding/FactorAxes.h"

#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(ArrayType like, ArrayRef<int64_t> shape, const spmd::Sharding &sharding) {
  return like.withShape(shape).withSharding(ShardingAttr::fromValue(like.getContext(), sharding));
}

} // namespace

std::optional<FactorizedType> FactorizedType::of(ArrayType type, const ShardingRule &rule, const ValueFactors &value,
                                                 const spmd::MeshShape &mesh) {
  spmd::Sharding sharding = type.getShardingOrOpen().toValue(), apart;
  if (type.getNumElements() == 0 || !sharding.unreduced.empty())
    return std::nullopt;
  FactorizedType factorized;
  factorized.axes = projectToFactors(mesh, rule, value, sharding);
  std::optional<spmd::Sharding> projected = shardingOf(mesh, rule, value, factorized.axes);
  if (!projected || !type.getShardingOrOpen().hasSameAxes(ShardingAttr::fromValue(type.getContext(), *projected)))
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (const DimFactors &factors : value)
    for (int64_t factor : factors) {
      factorized.order.push_back(factor);
      shape.push_back(rule.factors[factor].size);
      llvm::copy_if(factorized.axes[factor], std::back_inserter(apart.dims.emplace_back()),
                    [&](const spmd::AxisRef &axis) { return axis.sizeIn(mesh) > 1; });
    }
  factorized.type = typeOf(type, shape, apart);
  return factorized;
}

std::optional<MergedDim> MergedDim::of(Value value, int64_t dim, const spmd::MeshShape &mesh) {
  ArrayType type = typeOf(value);
  if (ReshapeOp reshape = findReshape(value)) {
    ShardingRule rule = reshape.getShardingRule();
    auto found = find(reshape.getOperand().getType(), type, rule, rule.operands[0], rule.results[0], dim, mesh);
    if (found && !found->runs) {
      found->merged = true;
      return found;
    }
  }
  ShardingRule rule = ShardingRule::elementwise(type.getShape(), 1);
  return find(type, type, rule, rule.operands[0], rule.results[0], dim, mesh);
}

std::optional<MergedDim> MergedDim::ofSplit(ReshapeOp reshape, int64_t dim, const spmd::MeshShape &mesh) {
  ShardingRule rule = reshape.getShardingRule();
  ArrayType from = reshape.getOperand().getType();
  auto found = find(reshape.getType(), from, rule, rule.results[0], rule.operands[0], dim, mesh);
  if (!found || found->runs)
    return std::nullopt;
  found->merged = true;
  return found;
}

std::optional<MergedDim> MergedDim::find(ArrayType source, ArrayType unsharded, const ShardingRule &rule,
                                         const ValueFactors &before, const ValueFactors &behind, int64_t dim,
                                         const spmd::MeshShape &mesh) {
  std::optional<FactorizedType> apart = FactorizedType::of(source, rule, before, mesh);
  if (!apart)
    return std::nullopt;
  ArrayRef<int64_t> shape = apart->type.getShape(), order = apart->order;
  const DimFactors &group = behind[dim];
  const int64_t *begin = std::search(order.begin(), order.end(), group.begin(), group.end());
  if (group.empty() || begin == order.end())
    return std::nullopt;
  auto first = static_cast<int64_t>(begin - order.begin()), count = static_cast<int64_t>(group.size());

  MergedDim merged;
  merged.source = source;
  merged.dim = dim;
  FactorAxes othersOf = apart->axes;
  for (int64_t factor : group)
    othersOf[factor].clear();
  std::optional<spmd::Sharding> others = shardingOf(mesh, rule, behind, othersOf);
  if (!others)
    return std::nullopt;
  merged.unsharded = typeOf(unsharded, unsharded.getShape(), *others);
  merged.steps.push_back({source, source, {}});
  spmd::Sharding sharding = apart->type.getShardingOrOpen().toValue();
  merged.step(shape, sharding);

  merged.parts.resize(count);
  for (int64_t i = count - 1; i >= 0; --i) {
    merged.parts[i].size = shape[first + i];
    merged.splitDim(first + i, merged.parts[i], mesh);
  }
  bool areSingleElements = true; // Whether all parts before are sharded into single elements.
  for (auto [i, part] : llvm::enumerate(merged.parts)) {
    llvm::append_range(merged.axes, sharding.dims[first + static_cast<int64_t>(i)]);
    merged.runs &= areSingleElements || part.splits.empty();
    areSingleElements &= part.getShardSize() == 1;
    for (const AxisSplit &cut : part.splits)
      merged.shards *= cut.count;
    merged.shardSize *= part.getShardSize();
  }
  if (merged.shards == 1 || merged.shards * merged.shardSize > std::numeric_limits<int32_t>::max())
    return std::nullopt;

  // The dimensions that count shards come first.
  ArrayType last = merged.steps.back().to;
  spmd::Sharding cut = last.getShardingOrOpen().toValue(), moved = cut;
  SmallVector<int64_t> perm, inside, sizes;
  int64_t next = 0;
  for (; next < first; ++next)
    perm.push_back(next);
  for (const Part &part : merged.parts) {
    for (size_t i = 0; i < part.splits.size(); ++i)
      perm.push_back(next++);
    inside.push_back(next++);
  }
  llvm::append_range(perm, inside);
  for (; next < last.getRank(); ++next)
    perm.push_back(next);
  for (auto [to, from] : llvm::enumerate(perm)) {
    sizes.push_back(last.getDimSize(from));
    moved.dims[to] = cut.dims[from];
  }
  if (!llvm::is_sorted(perm))
    merged.step(sizes, moved, perm);
  ArrayType result = merged.typeOfShards(unsharded.getElementType(), merged.shardSize);
  merged.step(result.getShape(), result.getShardingOrOpen().toValue());
  return merged;
}

void MergedDim::step(ArrayRef<int64_t> shape, const spmd::Sharding &sharding, ArrayRef<int64_t> perm) {
  ArrayType from = steps.back().to;
  if (perm.empty() && from.getShape() == shape)
    return;
  steps.push_back({from, typeOf(source, shape, sharding), SmallVector<int64_t>(perm)});
}

void MergedDim::splitDim(int64_t at, Part &part, const spmd::MeshShape &mesh) {
  spmd::Sharding sharding = steps.back().to.getShardingOrOpen().toValue();
  SmallVector<int64_t> shape(steps.back().to.getShape());
  std::vector<spmd::AxisRef> splits = sharding.dims[at];
  for (const spmd::AxisRef &axis : splits) {
    int64_t count = axis.sizeIn(mesh), above = shape[at], size = (above + count - 1) / count;
    part.isPadded |= count * size != above;
    shape[at] = count * size;
    step(shape, sharding);
    // The remaining axes divide each shard.
    shape[at] = count;
    shape.insert(shape.begin() + at + 1, size);
    std::vector<spmd::AxisRef> left(sharding.dims[at].begin() + 1, sharding.dims[at].end());
    sharding.dims[at] = {axis};
    sharding.dims.insert(sharding.dims.begin() + at + 1, left);
    step(shape, sharding);
    part.splits.push_back({count, size});
    ++at;
  }
}

int64_t MergedDim::getSize() const { return unsharded.getDimSize(dim); }

bool MergedDim::isPadded() const {
  return llvm::any_of(parts, [](const Part &part) { return part.isPadded; });
}

bool MergedDim::isPaddedAtEnd() const {
  int64_t rows = 1;
  for (const Part &part : parts) {
    if (part.isPadded && rows > 1)
      return false;
    rows *= part.getShardSize();
  }
  return true;
}

ArrayType MergedDim::typeOfShards(Type elementType, int64_t count) const {
  SmallVector<int64_t> shape(unsharded.getShape());
  shape[dim] = shards;
  shape.insert(shape.begin() + dim + 1, count);
  spmd::Sharding sharding = unsharded.getShardingOrOpen().toValue();
  sharding.dims[dim] = axes;
  sharding.dims.insert(sharding.dims.begin() + dim + 1, {{}});
  return typeOf(unsharded.withElementType(elementType), shape, sharding);
}

ArrayType MergedDim::typeAsRuns(Type elementType) const {
  spmd::Sharding sharding = unsharded.getShardingOrOpen().toValue();
  sharding.dims[dim] = axes;
  return typeOf(unsharded.withElementType(elementType), unsharded.getShape(), sharding);
}

ArrayType MergedDim::typeOfJoined(Type elementType, int64_t count) const {
  SmallVector<int64_t> shape(unsharded.getShape());
  shape[dim] = shards * count;
  ArrayType runs = typeAsRuns(elementType);
  return runs.withShape(shape).withSharding(runs.getSharding());
}

Value MergedDim::toShards(OpBuilder &b, Location loc, Value before, Scalar filler) const {
  Type elementType = typeOf(before).getElementType();
  Value value = before;
  for (const Step &step : ArrayRef(steps).drop_front()) {
    ArrayType to = step.to.withElementType(elementType);
    if (!step.perm.empty()) {
      value = b.create<TransposeOp>(loc, to, value, step.perm);
    } else if (step.from.getNumElements() == step.to.getNumElements()) {
      value = b.create<ReshapeOp>(loc, to, value);
    } else {
      SmallVector<int64_t> none(to.getRank()), high;
      for (auto [size, padded] : llvm::zip(step.from.getShape(), to.getShape()))
        high.push_back(padded - size);
      Value outside = b.create<ConstantOp>(loc, to.withShape({}), filler);
      value = b.create<PadOp>(loc, to, value, outside, none, high, none);
    }
  }
  return value;
}

Value MergedDim::fromShards(OpBuilder &b, Location loc, Value shards) const {
  Type elementType = typeOf(shards).getElementType();
  Value value = shards;
  for (const Step &step : llvm::reverse(ArrayRef(steps).drop_front())) {
    ArrayType to = step.from.withElementType(elementType);
    if (!step.perm.empty()) {
      SmallVector<int64_t> back(step.perm.size());
      for (auto [i, from] : llvm::enumerate(step.perm))
        back[from] = static_cast<int64_t>(i);
      value = b.create<TransposeOp>(loc, to, value, back);
    } else if (step.from.getNumElements() == step.to.getNumElements()) {
      value = b.create<ReshapeOp>(loc, to, value);
    } else {
      SmallVector<int64_t> starts(to.getRank(), 0), strides(to.getRank(), 1);
      value = b.create<SliceOp>(loc, to, value, starts, to.getShape(), strides);
    }
  }
  return value;
}

Value MergedDim::join(OpBuilder &b, Location loc, Value value) const {
  ArrayType type = typeOf(value);
  return b.create<ReshapeOp>(loc, typeOfJoined(type.getElementType(), type.getDimSize(dim + 1)), value);
}

Value MergedDim::unjoin(OpBuilder &b, Location loc, Value value) const {
  ArrayType type = typeOf(value);
  return b.create<ReshapeOp>(loc, typeOfShards(type.getElementType(), type.getDimSize(dim) / shards), value);
}

} // namespace spmdc
