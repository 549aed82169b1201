//===- FactorPropagation.cpp - extending axes along factors ---------------===//

#include "passes/propagate/FactorPropagation.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <tuple>

namespace spmdc {
namespace {

/// The axes on which the arrays of a factor agree.
class AxisAgreement {
public:
  /// Combines the list with one array's axes. Only a source can extend the list.
  void add(llvm::ArrayRef<AxisPart> list, bool isSource) {
    if (isPrefix(list, axes))
      return;
    if (isPrefix(axes, list)) {
      if (isSource && !isDisputed)
        axes.assign(list.begin(), list.end());
      return;
    }
    axes = commonPrefix(axes, list);
    isDisputed = true;
  }

  AxisList axes;
  bool isDisputed = false; ///< The arrays have different axes after `axes`.
};

/// The axes that a factor may propagate. Conflicts with other factors are not considered yet.
AxisAgreement getAgreement(const ShardingProjection &projection, int64_t factor, Direction direction) {
  AxisAgreement agreement;
  if (direction == Direction::None)
    return agreement;
  auto add = [&](llvm::ArrayRef<TensorProjection> tensors, Direction needed) {
    bool isSource = (static_cast<unsigned>(direction) & static_cast<unsigned>(needed)) != 0;
    for (const TensorProjection &tensor : tensors)
      if (const FactorSharding *sharding = tensor.getFactor(factor))
        agreement.add(sharding->axes, isSource);
  };
  // Sources first: the axes of other arrays count only if they contradict the sources.
  if (direction == Direction::Backward) {
    add(projection.getResults(), Direction::Backward);
    add(projection.getOperands(), Direction::Forward);
  } else {
    add(projection.getOperands(), Direction::Forward);
    add(projection.getResults(), Direction::Backward);
  }
  return agreement;
}

/// The axes that a factor may be extended to, in the order of preference.
using Alternatives = llvm::SmallVector<AxisList, 1>;

/// The axes that the arrays have along a factor: those of the largest array first, then the most sharded, then by
/// index.
Alternatives getAxesBySize(const ShardingProjection &projection, int64_t factor) {
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  llvm::SmallVector<std::pair<Key, const AxisList *>, 4> ranked;
  for (auto [index, tensor] : llvm::enumerate(projection.getTensors()))
    if (const FactorSharding *sharding = tensor.getFactor(factor); sharding && !sharding->axes.empty())
      ranked.push_back({Key(-tensor.getSize(), -totalSize(sharding->axes), index), &sharding->axes});
  llvm::sort(ranked, [](const auto &lhs, const auto &rhs) { return lhs.first < rhs.first; });
  return llvm::map_to_vector<1>(ranked, [](const auto &entry) { return *entry.second; });
}

using AxesPerFactor = llvm::SmallVector<Alternatives, 4>;

/// The factors that have axes to propagate, in the order in which they get an axis that several factors want.
llvm::SmallVector<int64_t, 4> rankFactors(const ShardingProjection &projection, const AxesPerFactor &axes,
                                          bool isElementwise) {
  struct Claim {
    int64_t factor, sourceSize = -1, source = -1, shards = 0;
    auto key() const { return std::tuple(-sourceSize, -shards, source, factor); }
  };
  llvm::SmallVector<Claim, 4> claims;
  for (auto [factor, alternatives] : llvm::enumerate(axes)) {
    if (alternatives.empty())
      continue;
    const AxisList &list = alternatives.front();
    Claim claim{static_cast<int64_t>(factor)};
    for (auto [index, tensor] : llvm::enumerate(projection.getTensors())) {
      const FactorSharding *sharding = tensor.getFactor(factor);
      if (sharding && list == sharding->axes && tensor.getSize() > claim.sourceSize) {
        claim.sourceSize = tensor.getSize();
        claim.source = static_cast<int64_t>(index);
      }
    }
    // All arrays of an element-wise operation have one size, so the factor that saves most goes first.
    claim.shards = isElementwise ? totalSize(list) : 0;
    claims.push_back(claim);
  }
  llvm::sort(claims, [](const Claim &lhs, const Claim &rhs) { return lhs.key() < rhs.key(); });
  return llvm::map_to_vector<4>(claims, [](const Claim &claim) { return claim.factor; });
}

bool extendAgreed(ShardingProjection &projection, int64_t factor, AxisList axes) {
  int64_t size = projection.getRule().factors[factor].size;
  for (const TensorProjection &tensor : projection.getTensors())
    axes = getUsablePrefix(tensor, factor, size, axes);
  bool changed = false;
  for (unsigned index = 0; index < projection.getTensors().size(); ++index)
    changed |= projection.getTensor(index).extend(factor, axes);
  return changed;
}

bool extendEach(ShardingProjection &projection, const AxesPerFactor &axes, bool isElementwise) {
  const ShardingRule &rule = projection.getRule();
  llvm::SmallVector<int64_t, 4> ranked = rankFactors(projection, axes, isElementwise);
  bool changed = false;
  auto extend = [&](unsigned index, bool isOperand) {
    for (int64_t factor : ranked) {
      TensorProjection &tensor = projection.getTensor(index);
      if (!tensor.getFactor(factor))
        continue;
      for (const AxisList &wanted : axes[factor]) {
        AxisList usable = getUsablePrefix(tensor, factor, rule.factors[factor].size, wanted);
        // An element-wise operand with more axes than the result would be gathered again, so operands exchange only
        // axes that the result has, too.
        if (isElementwise && isOperand)
          for (const TensorProjection &result : projection.getResults())
            usable = commonPrefix(usable, result.getFactor(factor)->axes);
        if (!tensor.extend(factor, usable))
          continue;
        changed = true;
        break;
      }
    }
  };
  for (unsigned index = projection.getNumOperands(); index < projection.getTensors().size(); ++index)
    extend(index, /*isOperand=*/false);
  for (unsigned index = 0; index < projection.getNumOperands(); ++index)
    extend(index, /*isOperand=*/true);
  return changed;
}

bool isFree(const TensorProjection &tensor, int64_t factor) {
  const FactorSharding *sharding = tensor.getFactor(factor);
  return sharding && sharding->axes.empty() && sharding->overflow.empty();
}

/// The largest factor that the axes divide evenly and that neither array has sharded.
std::optional<int64_t> findOtherFactor(const ShardingRule &rule, const TensorProjection &operand,
                                       const TensorProjection &result, const AxisList &axes) {
  std::optional<int64_t> best;
  for (auto [other, info] : llvm::enumerate(rule.factors)) {
    bool isPossible = info.kind == FactorKind::PassThrough && isFree(operand, other) && isFree(result, other) &&
                      info.size % totalSize(axes) == 0 && (!best || info.size > rule.factors[*best].size);
    if (isPossible && getUsablePrefix(result, other, info.size, axes) == axes)
      best = other;
  }
  return best;
}

/// The result's factor of the same dimension, if it needs replication, too, and has the same size.
std::optional<int64_t> findSameFactor(const ShardingRule &rule, const ValueFactors &operand, const ValueFactors &result,
                                      int64_t factor) {
  for (auto [from, to] : llvm::zip(operand, result))
    if (llvm::is_contained(from, factor))
      for (int64_t other : to)
        if (rule.factors[other].kind == FactorKind::NeedReplication &&
            rule.factors[other].size == rule.factors[factor].size)
          return other;
  return std::nullopt;
}

/// The longest prefix of `axes` that shards the factor evenly, on an array that has some of them already (`own`).
AxisList getEvenPrefix(const FactorSharding &own, int64_t factorSize, llvm::ArrayRef<AxisPart> axes) {
  AxisList result;
  int64_t deviceCount = 1;
  for (auto [index, part] : llvm::enumerate(axes)) {
    const AxisPart *present = index < own.axes.size() ? &own.axes[index] : nullptr;
    AxisPart usablePart = part;
    if (!present || !part.isPrefixOf(*present)) {
      usablePart = part.majorPart(factorSize % deviceCount == 0 ? std::gcd(factorSize / deviceCount, part.size) : 1);
      if (present && present->isPrefixOf(part) && usablePart.isPrefixOf(*present))
        usablePart = *present;
      if (usablePart.size == 1 && part.size != 1)
        break;
    }
    result.push_back(usablePart);
    if (usablePart != part)
      break;
    deviceCount *= usablePart.size;
  }
  return result;
}

} // namespace

AxisList getUsablePrefix(const TensorProjection &tensor, int64_t factor, int64_t factorSize,
                         llvm::ArrayRef<AxisPart> axes) {
  const FactorSharding *own = tensor.getFactor(factor);
  AxisList conflicts;
  if (own)
    conflicts.append(tensor.getBlocked().begin(), tensor.getBlocked().end());
  for (int64_t other = 0; other < tensor.getNumFactors(); ++other) {
    const FactorSharding *sharding = tensor.getFactor(other);
    if (!sharding || other == factor)
      continue;
    conflicts.append(sharding->axes);
    conflicts.append(sharding->overflow);
  }

  AxisList unused;
  for (auto [index, part] : llvm::enumerate(axes)) {
    const AxisPart *present = own && index < own->axes.size() ? &own->axes[index] : nullptr;
    std::optional<AxisPart> usablePart;
    if (present && part.isPrefixOf(*present))
      usablePart = part;
    else if (!own || (!own->isClosed && own->overflow.empty()))
      usablePart = part.prefixWithout(conflicts);
    // Axes that the array already has stay usable.
    if (present && present->isPrefixOf(part) && (!usablePart || usablePart->isPrefixOf(*present)))
      usablePart = *present;
    if (!usablePart)
      break;
    unused.push_back(*usablePart);
    if (*usablePart != part)
      break;
  }
  if (!own || own->isAlone)
    return unused;
  AxisList complete = unused;
  if (!complete.empty() && complete.back() != axes[complete.size() - 1])
    complete.pop_back();
  return own->isMajor && isRun(factorSize, complete) ? complete : getEvenPrefix(*own, factorSize, unused);
}

bool propagateFactors(ShardingProjection &projection, const OpKind &kind, DirectionOfFactor direction,
                      PropagationStrategy strategy) {
  llvm::ArrayRef<Factor> factors = projection.getRule().factors;
  AxesPerFactor axes(factors.size());
  bool changed = false;
  for (auto [index, factor] : llvm::enumerate(factors)) {
    if (factor.kind == FactorKind::NeedReplication)
      continue;
    AxisAgreement agreement = getAgreement(projection, index, direction(index));
    if (strategy == PropagationStrategy::Basic)
      changed |= extendAgreed(projection, index, agreement.axes);
    else if (strategy == PropagationStrategy::Settle && agreement.isDisputed)
      axes[index] = getAxesBySize(projection, index);
    else if (!agreement.axes.empty())
      axes[index] = {agreement.axes};
  }
  if (strategy != PropagationStrategy::Basic)
    changed = extendEach(projection, axes, kind.isElementwise);
  return changed;
}

/// Whether the axes of an operand's factor cannot go to the result, because the factor is a minor one of a dimension
/// there: the shards would not be contiguous.
static bool isStopped(const FactorSharding *operand, const FactorSharding *result) {
  return operand && result && !operand->axes.empty() && result->axes.empty() && !result->isMajor && !result->isAlone;
}

/// The major factor of the result's dimension that contains `factor`, if it is unsharded and the axes divide it evenly.
static std::optional<int64_t> findMajorFactor(const ShardingRule &rule, const TensorProjection &result,
                                              const ValueFactors &dims, int64_t factor, const AxisList &axes) {
  for (const DimFactors &dim : dims)
    if (llvm::is_contained(dim, factor) && rule.factors[dim.front()].kind == FactorKind::PassThrough &&
        rule.factors[dim.front()].size % totalSize(axes) == 0 && isFree(result, dim.front()))
      return dim.front();
  return std::nullopt;
}

bool displaceAxes(ShardingProjection &projection) {
  const ShardingRule &rule = projection.getRule();
  bool changed = false;
  for (auto [o, operand] : llvm::enumerate(projection.getOperands()))
    for (auto [index, factor] : llvm::enumerate(rule.factors)) {
      const FactorSharding *displaced = operand.getFactor(index);
      if (!displaced || displaced->axes.empty())
        continue;
      for (auto [r, resultFactors] : llvm::enumerate(rule.results)) {
        TensorProjection &result = projection.getTensor(projection.getNumOperands() + r);
        bool needsReplication = factor.kind == FactorKind::NeedReplication;
        if (result.getSize() != operand.getSize() ||
            (!needsReplication && !isStopped(displaced, result.getFactor(index))))
          continue;
        std::optional<int64_t> place;
        if (!needsReplication)
          place = findMajorFactor(rule, result, resultFactors, index, displaced->axes);
        if (!place)
          place = findOtherFactor(rule, operand, result, displaced->axes);
        if (!place && needsReplication)
          place = findSameFactor(rule, rule.operands[o], resultFactors, index);
        if (place && isFree(result, *place) &&
            getUsablePrefix(result, *place, rule.factors[*place].size, displaced->axes) == displaced->axes)
          changed |= result.extend(*place, displaced->axes);
      }
    }
  return changed;
}

std::pair<unsigned, int64_t> getDisplaced(const ShardingProjection &projection, llvm::ArrayRef<AxisPart> axes) {
  auto isSource = [&](const TensorProjection &operand, int64_t factor) {
    auto isStoppedAt = [&](const TensorProjection &result) {
      return isStopped(operand.getFactor(factor), result.getFactor(factor));
    };
    return projection.getRule().factors[factor].kind == FactorKind::NeedReplication ||
           llvm::any_of(projection.getResults(), isStoppedAt);
  };
  for (auto [source, operand] : llvm::enumerate(projection.getOperands()))
    for (int64_t factor = 0; factor < operand.getNumFactors(); ++factor)
      if (const FactorSharding *sharding = operand.getFactor(factor);
          sharding && axes == llvm::ArrayRef<AxisPart>(sharding->axes) && isSource(operand, factor))
        return {static_cast<unsigned>(source), factor};
  llvm_unreachable("no operand has these axes on a factor that they are displaced from");
}

} // namespace spmdc
