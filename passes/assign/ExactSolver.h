//===- ExactSolver.h - the best shardings of all values together ---*- C++ -*-===//
//
// The shardings of a function's values and the ways to run its operations, all at once, so that the whole is predicted
// to take least: by elimination of one after the other (MinSum.h). Each operation has a way, each free value a
// sharding; what is paid for is each way by itself, and between a way and the shardings around it what has to be moved.
//
// Where tables stay small (chains of products, blocks of a network on a mesh of two axes) the outcome is exact but for
// what one operation spares another: a form that serves several, a window that is shared. Beyond, it is a start for the
// search. In both cases `leastSeconds` is a bound for every assignment of shardings to these values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/assign/MinSum.h"
#include "passes/assign/ShardingGraph.h"
#include "runtime/sharding/MissingElements.h"

namespace spmdc {

class ExactSolver {
public:
  /// Numbers of one table that is made.
  static constexpr size_t kMostNumbers = 1 << 16;

  ExactSolver(ShardingGraph &graph, ReshardPlanner &planner, size_t mostNumbers = kMostNumbers)
      : graph(graph), planner(planner), mesh(planner.getMesh()), mostNumbers(mostNumbers), missing(mesh) {}

  /// Lists what there is to choose from; false where that is too much: many axes, or many ways to run one operation.
  bool build();

  /// What devices hold of the value is to count, too. It has a variable.
  void countHeld(mlir::Value value);

  struct Outcome {
    ShardingChange shardings;
    /// What no shardings take less than, by the prices of operations one by one.
    double leastSeconds = 0;
  };
  /// What takes least if what is moved counts so many times, and each byte that is held so many seconds; where devices
  /// hold no more of a value than now, or up to the largest piece of any. (The bound is one for times with weight 1
  /// only, where nothing is held.)
  Outcome solve(double weight, bool mayHoldMore, double secondsPerHeldByte = 0) const;

private:
  /// Limits of what is listed: of a value, of an operation, and of changes of sharding for all.
  static constexpr size_t kMostShardings = 64, kMostWays = 512, kMostReshards = 1 << 17;

  /// Where something lies: a variable, or what stays.
  struct Place {
    std::optional<unsigned> node;
    llvm::SmallVector<ArrayType> types;
  };

  using Ways = std::optional<std::vector<SolverStrategy>>;

  bool listShardings();
  const Ways &listWays(ShardingRuleOpInterface op);
  bool addOp(mlir::Operation *op);
  bool addRuled(ShardingRuleOpInterface op);
  void addExchanges(const ArrayMoves &moves, const Place &result, unsigned node, unsigned way, double trips);
  void addFunction(llvm::ArrayRef<Place> places, llvm::function_ref<double(llvm::ArrayRef<ArrayType>)> price);
  Place placeOf(mlir::Value value) const;
  double secondsOf(ArrayType from, ArrayType to);
  double computeSeconds(ArrayType from, ArrayType to) const;

  ShardingGraph &graph;
  ReshardPlanner &planner;
  const spmd::MeshShape &mesh;
  const size_t mostNumbers;
  MinSum problem;
  std::vector<llvm::SmallVector<ArrayType>> shardings; ///< By variable of the graph, which has the same number here.
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, double> known; ///< Of secondsOf.
  spmd::MissingElements missing;
  std::unordered_map<OperationKey, Ways, OperationKey::Hash> ways; ///< Of listWays; only looked up.
};

} // namespace spmdc
