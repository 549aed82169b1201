//===- Strategy.h - how one operation runs on the devices -*- C++ -*-===//
//
// For one operation between operands and a result whose shardings are given, candidates are assignments of axes to its
// factors: first those that the operands and the result have on each factor (or nothing), then, if these need
// communication, every other one (FactorAxesLists.h). Each is priced: resharding the operands, each from the form that
// is there and cheapest (AvailableShardings.h), the local computation (what devices repeat included), and bringing the
// result (partial sums included) to its sharding. The cheapest wins, of about as cheap ones that which sends least;
// ties go to the candidate that was listed first, which is the one closest to the result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/exchange/Windows.h"
#include "passes/reductions/ReductionDiscount.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/sharding/FactorAxes.h"
#include "passes/strategy/AvailableShardings.h"

#include <cmath>
#include <memory>

namespace spmdc {

class RunCounts;

struct OperationPrice {
  double seconds = 0;
  double linkBytes = 0; ///< Sent by all devices together; along slow links they count for more (CollectiveCost).

  /// Of times that the model cannot tell apart, fewer bytes decide.
  bool isBetterThan(const OperationPrice &other) const {
    bool isAlike = std::abs(seconds - other.seconds) <= CostModel::kAlike * std::max(seconds, other.seconds);
    return isAlike && linkBytes != other.linkBytes ? linkBytes < other.linkBytes : seconds < other.seconds;
  }
};

/// One assignment with the shardings that follow from it.
struct Strategy {
  FactorAxes axes;
  llvm::SmallVector<ArrayType> operands;
  ArrayType result; ///< With unreduced axes where the operation leaves partial sums.
  AxisRefs reduced; ///< Axes of reduction factors.
  /// The operands stay as they are and exchanges make the result as it is wanted (ArrayMoves.h): the rest says nothing.
  bool movesDirectly = false;
  /// Of a reshape that moves directly: the array that it is made of (Regrouping.h, ReshapeExchange.h).
  mlir::Value reshapedFrom;
  OperationPrice price;
  int64_t assignments = 0; ///< That were looked at for this choice.
};

/// The reshard that makes a value for its one user, from what is no partial sum; null for any other value. What moves
/// directly begins in front of it.
ReshardOp getOwnReshard(mlir::Value value);

/// What operations like this one look at together; null where it looks at what it moves by itself.
using WindowsOf = llvm::function_ref<const Windows *(mlir::Operation *)>;

/// An assignment, and what follows from it whatever the shardings around the operation.
struct StrategyEntry {
  Strategy choice;                     ///< Without a price; of the axes alone until it is tried.
  double leastComputeSeconds = 0;      ///< By the factors alone.
  std::optional<bool> isPossible = {}; ///< Whether shardings express it, once it is tried.
  double computeSeconds = 0;
};

/// What is known of an operation of one result, whatever the shardings around it.
struct OperationRule {
  explicit OperationRule(ShardingRuleOpInterface op)
      : rule(op.getShardingRule()), reductionDiscount(getReductionDiscount(op)) {}

  ShardingRule rule;
  ReductionDiscount reductionDiscount;
  /// Every assignment of whole axes, once these have been listed; what is known of them is added. Operations that are
  /// alike share them.
  std::shared_ptr<std::vector<StrategyEntry>> candidates = std::make_shared<std::vector<StrategyEntry>>();
};

/// The cheapest way for an operation of one result, for the types that its operands and result have now, the other
/// forms of its operands, and what operations that move elements look at together.
Strategy chooseStrategy(ReshardPlanner &planner, AvailableShardings &forms, WindowsOf windowsOf,
                        ShardingRuleOpInterface op, const OperationRule &traits);
/// The same where each value is there as it lies only, and without windows.
inline Strategy chooseStrategy(ReshardPlanner &planner, ShardingRuleOpInterface op, const OperationRule &traits) {
  AvailableShardings none(planner, /*longestChain=*/0);
  return chooseStrategy(planner, none, [](mlir::Operation *) { return nullptr; }, op, traits);
}
inline Strategy chooseStrategy(ReshardPlanner &planner, ShardingRuleOpInterface op) {
  return chooseStrategy(planner, op, OperationRule(op));
}

/// What operations cost for the types that they have now, each by itself and as often as it runs.
OperationPrice priceWithCurrentShardings(ReshardPlanner &planner, RunCounts &runs,
                                         llvm::ArrayRef<mlir::Operation *> ops);

/// A way to run an operation, for parts of the price of which nothing else has to be known.
struct SolverStrategy {
  llvm::SmallVector<ArrayType> operands;
  ArrayType result;       ///< With unreduced axes where the operation leaves partial sums.
  double seconds = 0;     ///< Of computing, and of combining what is no sum.
  double resultShare = 1; ///< How much of bringing the result elsewhere is paid for.
};

/// All ways to run an operation by its sharding rule, each with other types; nothing where there are more than that.
std::optional<std::vector<SolverStrategy>> listSolverStrategies(ReshardPlanner &planner, ShardingRuleOpInterface op,
                                                                const OperationRule &traits, size_t most);

} // namespace spmdc
