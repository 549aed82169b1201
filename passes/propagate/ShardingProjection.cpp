//===- ShardingProjection.cpp - shardings of an operation's factors -------===//

#include "passes/propagate/ShardingProjection.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <numeric>

namespace spmdc {
namespace {

/// Takes axes, or parts of them, from the major end of a list.
class AxisCursor {
public:
  explicit AxisCursor(llvm::ArrayRef<AxisPart> axes) : axes(axes) {
    if (!axes.empty())
      front = axes.front();
  }
  bool atEnd() const { return axes.empty(); }
  int64_t frontSize() const { return front.size; }

  /// Removes and returns the major part of the first axis with this size, which must divide the axis's size.
  AxisPart take(int64_t size) {
    AxisPart taken = front.majorPart(size);
    if (size == front.size) {
      axes = axes.drop_front();
      if (!axes.empty())
        front = axes.front();
    } else {
      front = {front.axis, front.preSize * size, front.size / size};
    }
    return taken;
  }

  void takeRest(AxisList &into) {
    while (!atEnd())
      appendMerged(into, take(frontSize()));
  }

private:
  llvm::ArrayRef<AxisPart> axes;
  AxisPart front;
};

} // namespace

bool isRun(int64_t factorSize, llvm::ArrayRef<AxisPart> axes) {
  int64_t deviceCount = totalSize(axes);
  return deviceCount < factorSize && factorSize % deviceCount != 0;
}

TensorProjection::TensorProjection(const TensorSharding &sharding, llvm::ArrayRef<DimFactors> dimFactors,
                                   llvm::ArrayRef<Factor> factors)
    : dimFactors(dimFactors), factors(factors), blocked(sharding.blocked) {
  assert(sharding.dims.size() == dimFactors.size() && "the rule speaks of another rank");
  factorShardings.resize(factors.size());
  unmapped.resize(dimFactors.size());
  for (auto [index, dim, factorsOfDim] : llvm::enumerate(sharding.dims, dimFactors)) {
    if (factorsOfDim.empty()) {
      unmapped[index] = dim.axes;
      blocked.append(dim.axes);
    } else {
      projectDim(dim, factorsOfDim);
    }
  }
}

void TensorProjection::projectDim(const TensorSharding::Dim &dim, const DimFactors &factorsOfDim) {
  AxisCursor cursor(dim.axes);
  bool hasOverflow = false;
  for (int64_t factor : factorsOfDim) {
    assert(!factorShardings[factor] && "a factor may stand for one dimension of an array only");
    FactorSharding &sharding = factorShardings[factor].emplace();
    size *= factors[factor].size;
    sharding.isClosed = dim.isClosed || hasOverflow;
    sharding.isAlone = llvm::all_of(factorsOfDim, [&](int64_t other) {
      return other == factor || factors[other].kind == FactorKind::ManualShards;
    });
    sharding.isMajor = factor == factorsOfDim.front();
    if (factor == factorsOfDim.back()) {
      cursor.takeRest(sharding.axes);
      return;
    }
    int64_t rest = factors[factor].size;
    if (sharding.isMajor && isRun(rest, dim.axes)) {
      cursor.takeRest(sharding.axes);
      hasOverflow = true;
      continue;
    }
    while (!cursor.atEnd()) {
      int64_t common = std::gcd(rest, cursor.frontSize());
      if (common == 1 && cursor.frontSize() != 1)
        break;
      appendMerged(sharding.axes, cursor.take(common));
      rest /= common;
    }
    if (rest > 1 && !cursor.atEnd()) {
      cursor.takeRest(sharding.overflow);
      hasOverflow = true;
    }
  }
}

bool TensorProjection::extend(int64_t factor, llvm::ArrayRef<AxisPart> axes) {
  std::optional<FactorSharding> &sharding = factorShardings[factor];
  if (!sharding || !isStrictPrefix(sharding->axes, axes))
    return false;
  sharding->axes.assign(axes.begin(), axes.end());
  return true;
}

llvm::SmallVector<AxisList, 4> TensorProjection::projectBack() const {
  llvm::SmallVector<AxisList, 4> dims(unmapped);
  for (auto [axes, factorsOfDim] : llvm::zip(dims, dimFactors)) {
    for (int64_t factor : factorsOfDim) {
      const FactorSharding &sharding = *factorShardings[factor];
      for (const AxisPart &part : sharding.axes)
        appendMerged(axes, part);
      for (const AxisPart &part : sharding.overflow)
        appendMerged(axes, part);
      if (!sharding.overflow.empty() || totalSize(sharding.axes) < factors[factor].size)
        break; // This includes a sharding by runs (isRun): its axes have fewer devices than the factor has elements.
    }
  }
  return dims;
}

ShardingProjection::ShardingProjection(const ShardingRule &rule, llvm::ArrayRef<const TensorSharding *> shardings)
    : rule(rule) {
  assert(shardings.size() == rule.operands.size() + rule.results.size() && "one sharding per operand and result");
  for (auto [index, sharding] : llvm::enumerate(shardings)) {
    const ValueFactors &dimFactors =
        index < rule.operands.size() ? rule.operands[index] : rule.results[index - rule.operands.size()];
    tensors.emplace_back(*sharding, dimFactors, rule.factors);
  }
}

} // namespace spmdc
