//===- StrategyCache.h - memoized strategies of operations ------*- C++ -*-===//
//
// A strategy (Strategy.h) depends only on the operation and the types around it. So it is computed once for all layers
// of a network, and for all shardings that recur during the search.
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

/// The properties of an operation with a sharding rule that do not depend on the shardings around it.
struct OperationFacts {
  OperationRule operationRule;
  bool movesElements = false;
  bool isPointwise = false; ///< Whether each element is mapped to one element.
  bool reduces = false;     ///< Whether several elements are mapped to one.
  /// A number of the operation's sharding rule, attributes and types without shardings; equal for equal operations.
  const void *fixed = nullptr;
  /// A number of the operations that would rematerialize the operands; `rematInputs` are the values that they read.
  const void *rematId = nullptr;
  llvm::SmallVector<mlir::Value> rematInputs = {};
};

/// Numbers of equal operations, and the tables of strategies that they share. For operations of one context, mesh and
/// cost model; the operations may be gone when others are numbered.
class OperationNumbers {
public:
  /// A unique number for each list of parts, to be a part of other keys.
  const void *numberOf(std::vector<const void *> parts);

  /// The table of all operations with these numbers (`fixed` and `rematId` of OperationFacts); at first `table`.
  decltype(OperationRule::options) shareOptions(const void *fixed, const void *rematId,
                                                decltype(OperationRule::options) table) {
    return options.try_emplace({fixed, rematId}, std::move(table)).first->second;
  }

private:
  std::map<std::vector<const void *>, uintptr_t> numbers;
  llvm::DenseMap<std::pair<const void *, const void *>, decltype(OperationRule::options)> options;
};

/// The facts of operations. Equal operations share their table of strategies.
class OperationTable {
public:
  /// The numbers have to outlive this object.
  explicit OperationTable(OperationNumbers &numbers) : numbers(numbers) {}

  /// The facts of an operation, as it and those that compute its operands are now.
  OperationFacts compute(ShardingRuleOpInterface op) const;

  /// Computes and keeps the facts of an operation.
  const OperationFacts &add(ShardingRuleOpInterface op) { return factsByOp.try_emplace(op, compute(op)).first->second; }

  /// The facts of an operation that has been added; null for any other.
  const OperationFacts *find(mlir::Operation *op) const;

private:
  OperationNumbers &numbers;
  llvm::DenseMap<mlir::Operation *, OperationFacts> factsByOp;
};

/// The key of a strategy and its price, for an operation that moves no elements: the operation and the types around it.
/// Equal for equal operations.
struct OperationKey {
  llvm::SmallVector<const void *, 16> parts;
  bool operator==(const OperationKey &) const = default;

  struct Hash {
    size_t operator()(const OperationKey &key) const {
      return llvm::hash_combine_range(key.parts.begin(), key.parts.end());
    }
  };
};

/// Caches strategies by OperationKey. Operations have to be added before they are looked up.
class StrategyCache {
public:
  /// The number of strategies that count as one unit of work. One search tries about as many, except on meshes of many
  /// axes.
  static constexpr double kStrategiesPerWork = 256;

  /// Both references have to outlive this object.
  StrategyCache(ReshardPlanner &planner, WindowFamilies &families) : planner(planner), families(families) {}

  void add(ShardingRuleOpInterface op) { table.add(op); }

  /// The facts of an operation that has been added; null for any other.
  const OperationFacts *find(mlir::Operation *op) const { return table.find(op); }

  OperationKey getKey(ShardingRuleOpInterface op) const;

  /// The strategy for the present types, valid until the next call; adds to `work` the effort of the search.
  const Strategy &choose(ShardingRuleOpInterface op, double &work);

private:
  /// The parts of a key without `rematId`.
  OperationKey getKeyOfTypes(ShardingRuleOpInterface op, const OperationFacts &facts) const;
  static void addRematId(const OperationFacts &facts, OperationKey &key);

  ReshardPlanner &planner;
  WindowFamilies &families;
  OperationNumbers numbers;
  OperationTable table{numbers};
  std::unordered_map<OperationKey, Strategy, OperationKey::Hash> strategies; ///< Never iterated.
  /// Keys without `rematId`; never iterated.
  std::unordered_set<OperationKey, OperationKey::Hash> seen;
  Strategy uncached;
};

} // namespace spmdc
