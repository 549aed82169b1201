//===- FactorRanges.cpp - ranges of dimensions through operations ---------===//

#include "passes/restructure/FactorRanges.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace spmdc {
namespace {

/// The first factor that is larger than 1; nothing if there is none.
std::optional<int64_t> getMajor(const ShardingRule &rule, const DimFactors &dim) {
  for (int64_t factor : dim)
    if (rule.factors[factor].size != 1)
      return factor;
  return std::nullopt;
}

int64_t getMinorSize(const ShardingRule &rule, const DimFactors &dim, int64_t factor) {
  int64_t size = 1;
  for (int64_t minor : make_range(std::next(find(dim, factor)), dim.end()))
    size *= rule.factors[minor].size;
  return size;
}

/// The number of the dimension that has the factor.
std::optional<int64_t> findDim(const ValueFactors &value, int64_t factor) {
  for (auto [dim, factors] : enumerate(value))
    if (is_contained(factors, factor))
      return dim;
  return std::nullopt;
}

} // namespace

std::optional<int64_t> findFactor(const ShardingRule &rule, const DimFactors &dim) {
  std::optional<int64_t> factor = getMajor(rule, dim);
  if (!factor ||
      (rule.factors[*factor].kind != FactorKind::PassThrough && rule.factors[*factor].kind != FactorKind::Reduction))
    return std::nullopt;
  auto isMajor = [&](const ValueFactors &value) {
    return none_of(value, [&](const DimFactors &other) {
      return is_contained(other, *factor) && getMajor(rule, other) != factor;
    });
  };
  auto isOnce = [&](const ValueFactors &value) {
    return count_if(value, [&](const DimFactors &other) { return is_contained(other, *factor); }) <= 1;
  };
  auto fits = [&](const ValueFactors &value) { return isMajor(value) && isOnce(value); };
  return all_of(rule.operands, fits) && all_of(rule.results, fits) ? factor : std::nullopt;
}

std::optional<FactorRange> toFactorRange(const ShardingRule &rule, const ValueFactors &value, int64_t factor,
                                         DimRange part) {
  int64_t step = getMinorSize(rule, value[part.dim], factor);
  if (step == 0 || part.start % step != 0 || part.size % step != 0)
    return std::nullopt;
  return FactorRange{factor, part.start / step, part.size / step};
}

std::optional<DimRange> toDimRange(const ShardingRule &rule, const ValueFactors &value, FactorRange part) {
  std::optional<int64_t> dim = findDim(value, part.factor);
  if (!dim)
    return std::nullopt;
  int64_t step = getMinorSize(rule, value[*dim], part.factor);
  return DimRange{*dim, part.start * step, part.size * step};
}

std::optional<ArrayType> getRangeType(const spmd::MeshShape &mesh, const ShardingRule &rule, FactorRange part,
                                      const ValueFactors &value, ArrayType full, const ValueFactors &other,
                                      ArrayType partOfOther) {
  std::optional<DimRange> range = toDimRange(rule, value, part);
  if (!range)
    return full;
  ShardingRule ofPart = rule;
  ofPart.factors[part.factor].size = part.size;
  FactorAxes axes = projectToFactors(mesh, rule, value, full.getShardingOrOpen().toValue());
  FactorAxes taken = projectToFactors(mesh, ofPart, other, partOfOther.getShardingOrOpen().toValue());
  const DimFactors &ofRange = value[range->dim];
  for (int64_t factor : ofRange)
    axes[factor].clear();
  AxisRefs used = full.getShardingOrOpen().toValue().unreduced;
  for (const DimFactors &dim : value)
    for (int64_t factor : dim)
      append_range(used, axes[factor]);
  for (int64_t factor : ofRange)
    if (!overlap(taken[factor], used))
      axes[factor] = taken[factor];
  std::optional<spmd::Sharding> sharding = shardingOf(mesh, ofPart, value, axes);
  if (!sharding)
    return std::nullopt;
  sharding->unreduced = full.getShardingOrOpen().toValue().unreduced;
  SmallVector<int64_t> shape(full.getShape());
  shape[range->dim] = range->size;
  return full.withShape(shape).withSharding(ShardingAttr::fromValue(full.getContext(), *sharding));
}

} // namespace spmdc
