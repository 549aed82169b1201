//===- StrategyCache.h - how operations are run, remembered ------*- C++ -*-===//
//
// A choice (Strategy.h) follows from the operation and from the types around it, so it is made once for all
// layers of a network and for all shardings that come again while others are tried.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/exchange/WindowFamilies.h"
#include "passes/strategy/Strategy.h"

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace spmdc {

/// What is known of an operation with a sharding rule, whatever the shardings around it.
struct OperationFacts {
  OperationRule traits;
  bool movesElements = false;
  bool takesEach = false; ///< Each element to one element,
  bool reduces = false;   ///< or several to one.
  /// What decides about the choice beside shardings: the same for operations that are alike.
  const void *fixed = nullptr;
  /// What operands can be made of again, and the values that this begins with.
  const void *recipes = nullptr;
  llvm::SmallVector<mlir::Value> ingredients = {};
};

/// What decides how an operation that moves no elements is run, and what that costs: the operation, and the types
/// around it. Equal for operations that are alike.
struct OperationKey {
  llvm::SmallVector<const void *, 16> parts;
  bool operator==(const OperationKey &) const = default;

  struct Hash {
    size_t operator()(const OperationKey &key) const {
      return llvm::hash_combine_range(key.parts.begin(), key.parts.end());
    }
  };
};

class StrategyCache {
public:
  /// As many ways to run an operation as one choice has, but on meshes of many axes.
  static constexpr double kStrategiesPerWork = 256;

  /// Both have to stay.
  StrategyCache(ReshardPlanner &planner, WindowFamilies &families) : planner(planner), families(families) {}

  void add(ShardingRuleOpInterface op);

  /// Of an operation that has been added; null for any other.
  const OperationFacts *find(mlir::Operation *op) const;

  OperationKey getKey(ShardingRuleOpInterface op) const;

  /// How the operation is run now, until it is asked for another one; adds to `work` what it took to find out.
  const Strategy &choose(ShardingRuleOpInterface op, double &work);

private:
  /// A number for each list of parts, as a part of others.
  const void *numberOf(std::vector<const void *> parts);
  /// The parts of a key but for what operands can be made of.
  OperationKey getKeyOfTypes(ShardingRuleOpInterface op, const OperationFacts &signature) const;
  static void addRecipes(const OperationFacts &signature, OperationKey &key);

  ReshardPlanner &planner;
  WindowFamilies &families;
  llvm::DenseMap<mlir::Operation *, OperationFacts> signatures;
  std::map<std::vector<const void *>, uintptr_t> numbers;
  /// Of operations, by what decides about them but shardings.
  llvm::DenseMap<std::pair<const void *, const void *>, decltype(OperationRule::candidates)> candidates;
  std::unordered_map<OperationKey, Strategy, OperationKey::Hash> choices; ///< Only looked up.
  /// Without what operands can be made of; only looked up.
  std::unordered_set<OperationKey, OperationKey::Hash> seen;
  Strategy uncached;
};

} // namespace spmdc
