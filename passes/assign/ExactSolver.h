//===- ExactSolver.h - chooses all shardings together -----------*- C++ -*-===//
//
// Chooses the shardings of a function's values and the strategies of its operations together, with the least predicted
// time, by variable elimination (MinSum.h). Variables are the strategy of each operation and the sharding of each free
// value. The sum to minimize contains the price of each strategy, and the prices of the reshards between the strategy's
// shardings and those of the values around the operation.
//
// If tables stay small (chains of products, blocks of a network on a mesh of two axes), the outcome is exact, except
// that operations may share a resharded value or a window, which is priced for each of them. With larger tables it is a
// starting point for the search. In both cases `leastSeconds` is a lower bound for all shardings of these values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/assign/MinSum.h"
#include "passes/assign/ShardingGraph.h"
#include "runtime/sharding/MissingElements.h"

#include <map>
#include <unordered_map>

namespace spmdc {

/// The minimization problem of one function: `build` sets it up, `solve` may be called several times.
class ExactSolver {
public:
  /// The most entries of one table.
  static constexpr size_t kMaxEntries = 1 << 16;

  ExactSolver(ShardingGraph &graph, ReshardPlanner &planner, size_t maxEntries = kMaxEntries)
      : graph(graph), planner(planner), mesh(planner.getMesh()), maxEntries(maxEntries), missing(mesh) {}

  /// Adds all variables and functions; false if there are too many axes, or strategies of one operation.
  bool build();

  /// Adds the local bytes of a value, which must have a variable, to the sum (`secondsPerHeldByte`).
  void countHeld(mlir::Value value);

  struct Outcome {
    ShardingChange shardings;
    /// A lower bound on the seconds for any shardings, with operations priced one by one.
    double leastSeconds = 0;
  };
  /// The best shardings if reshards count `weight` times and each held byte counts `secondsPerHeldByte`. Devices hold
  /// no more of a value than now, or, with `mayHoldMore`, up to the largest shard of any value. `leastSeconds` is a
  /// bound on the time only for weight 1 without held bytes.
  Outcome solve(double weight, bool mayHoldMore, double secondsPerHeldByte = 0) const;

private:
  /// The most shardings of one value, strategies of one operation, and different reshards in total.
  static constexpr size_t kMaxShardings = 64, kMaxStrategies = 512, kMaxReshards = 1 << 17;

  /// The possible types of a value: those of its variable, or the one type that it keeps. Equal lists of types are one
  /// list of `lists`.
  struct Candidates {
    std::optional<unsigned> node;
    llvm::ArrayRef<ArrayType> types;
  };
  llvm::ArrayRef<ArrayType> share(std::vector<ArrayType> types);
  llvm::ArrayRef<ArrayType> listTypes(mlir::Value value, int64_t maxHeldBytes);

  using Strategies = std::optional<std::vector<SolverStrategy>>;

  bool listShardings();
  const Strategies &listStrategies(ShardingRuleOpInterface op);
  bool addOp(mlir::Operation *op);
  bool addRuled(ShardingRuleOpInterface op);
  void addExchanges(const ArrayMoves &moves, const Candidates &result, unsigned node, unsigned strategy,
                    double runCount);
  void addFunction(llvm::ArrayRef<Candidates> places, llvm::function_ref<double(llvm::ArrayRef<ArrayType>)> price);
  std::vector<double> listExchangeSeconds(llvm::ArrayRef<ArrayType> sources, llvm::ArrayRef<ArrayType> results,
                                          const std::vector<spmd::DimMove> &moves, unsigned strategy, double runCount);
  Candidates candidatesOf(mlir::Value value);
  double secondsOf(ArrayType from, ArrayType to);
  double computeSeconds(ArrayType from, ArrayType to) const;

  ShardingGraph &graph;
  ReshardPlanner &planner;
  const spmd::MeshShape &mesh;
  const size_t maxEntries;
  MinSum problem;
  std::vector<llvm::ArrayRef<ArrayType>> shardings; ///< By variable; numbers are the same as in the graph.
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, double> known; ///< The results of secondsOf.
  spmd::MissingElements missing;
  /// The layers of a network have equal operations between equal lists of types: the lists, strategies and tables of
  /// one are those of all. None of these maps is iterated.
  std::map<std::vector<const void *>, std::vector<ArrayType>> lists;                               ///< By the types.
  llvm::DenseMap<std::pair<mlir::Type, mlir::Operation *>, llvm::ArrayRef<ArrayType>> listsByType; ///< Of listTypes.
  std::unordered_map<OperationKey, Strategies, OperationKey::Hash> strategies;        ///< Of listStrategies.
  std::unordered_map<OperationKey, MinSum::Table, OperationKey::Hash> reshardTables;  ///< Of addRuled.
  std::unordered_map<OperationKey, MinSum::Table, OperationKey::Hash> exchangeTables; ///< Of addExchanges.
};

} // namespace spmdc
