//===- ShardingGraph.h - values whose sharding may change, and its price ---*- C++ -*-===//
//
// The propagated program as a graph: variables are the shardings that nobody wrote, operations are what they cost. The
// types in the program are the state; a change of variables is priced by the operations that touch them, each run in
// the cheapest way between the shardings around it (OperationChoice.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/analysis/RunCounts.h"
#include "passes/partition/OperationChoice.h"
#include "passes/partition/WindowFamilies.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace spmdc {

/// New shardings, by variable.
using ShardingChange = llvm::MapVector<unsigned, ShardingAttr>;

class ShardingGraph {
public:
  ShardingGraph(mlir::func::FuncOp func, ReshardPlanner &planner);

  /// All operations that may send something, in program order.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

  /// What the operands of a terminator become: the results of the loop or branch; nothing for a condition.
  static mlir::ValueRange getYielded(mlir::Operation *terminator);

  /// The variable of a value; none where its sharding stays.
  std::optional<unsigned> getVariable(mlir::Value value) const;
  unsigned getVariableCount() const { return static_cast<unsigned>(variables.size()); }
  /// A value of the variable, for its type and place.
  mlir::Value getValue(unsigned variable) const { return variables[variable].front(); }
  ShardingAttr getSharding(unsigned variable) const;
  /// Whether a variable may lie so: devices hold no more of a value than they do now, or than `setMostHeld` allows.
  bool mayLie(unsigned variable, ShardingAttr sharding) const;
  /// How many bytes a device may hold of a value that propagation has cut finer.
  void setMostHeld(int64_t bytes) { mostHeld = bytes; }
  /// The bytes of the largest piece of a variable that a device holds now.
  int64_t getLargestPiece() const;

  /// Of an operation that is run by a sharding rule; null for any other.
  const OperationTraits *getTraits(mlir::Operation *op) const;
  const ShardingRule *getRule(mlir::Operation *op) const;

  /// What decides how an operation with a sharding rule is run, and what that costs, if it moves no elements: the
  /// operation, and the types around it. Equal for operations that are alike.
  struct Key {
    llvm::SmallVector<const void *, 16> parts;
    bool operator==(const Key &) const = default;
    struct Hash {
      size_t operator()(const Key &key) const { return llvm::hash_combine_range(key.parts.begin(), key.parts.end()); }
    };
  };
  Key getKey(ShardingRuleOpInterface op) const;

  /// How such an operation is run now.
  const OperationChoice &choose(ShardingRuleOpInterface op);
  /// What the operation, or the edges of a loop, a branch or a return, cost; times the trips of the loops around.
  OperationPrice price(mlir::Operation *op);

  /// How often the operation, or the edges, count; a loop that nobody knows to run at all does, too. Iterations of a
  /// `while` as getTrips takes them.
  double countRuns(mlir::Operation *op);
  /// How many may look at a window together, the operation included.
  size_t countWindowUsers(mlir::Operation *op) const { return std::max<size_t>(1, families.getFamily(op).size()); }

  /// Of all operations, each by itself.
  OperationPrice priceAll();
  /// The same where what several of them need of a value in one form is brought there once.
  OperationPrice priceTogether();

  /// What has been done so far, in choices made for an operation.
  double getWork() const {
    return work + kWorkOfExploring * static_cast<double>(planner.getExplored() - exploredBefore);
  }

  /// Notes that so many ways to run an operation have been listed.
  void addWork(size_t ways) { work += static_cast<double>(ways) / kWaysPerWork; }

  /// The operations that touch a variable of the change, and those that may share a window with one of them.
  llvm::SetVector<mlir::Operation *> getTouched(const ShardingChange &change) const;
  /// Gives variables their new shardings, and returns what undoes that.
  ShardingChange apply(const ShardingChange &change);
  /// What gives all variables the shardings that they have now.
  ShardingChange getState() const;

  /// Extends a change to variables that can follow without communication: through operations that take each element to
  /// one element, and along the edges of loops; none that is more than `radius` operations away. A change that goes far
  /// goes through contractions and reductions, too, along the dimensions that they share: all of an attention from its
  /// heads to its batch.
  void follow(ShardingChange &change, unsigned radius, bool isFar = false) const;

private:
  /// Of one sharding that is looked at to find a reshard, beside the choice that needs it.
  static constexpr double kWorkOfExploring = 0.01;
  /// As many ways to run an operation as one choice has, but on meshes of many axes.
  static constexpr double kWaysPerWork = 256;

  static double getWork(const OperationChoice &choice) {
    return std::max(1.0, static_cast<double>(choice.assignments) / kWaysPerWork);
  }
  void addVariables(mlir::func::FuncOp func);
  void addVariable(llvm::ArrayRef<mlir::Value> values);
  bool isFree(mlir::Value value) const;
  /// Of the variable in this sharding, on a device.
  int64_t getPieceBytes(unsigned variable, ShardingAttr sharding) const;
  /// What one operation says about the values around it, if one of them lies so.
  void followThrough(mlir::Operation *op, mlir::Value value, ShardingAttr sharding, bool isFar,
                     ShardingChange &change) const;

  const spmd::MeshShape &mesh;
  const CostModel &model;
  ReshardPlanner &planner;
  const int64_t exploredBefore;
  std::vector<llvm::SmallVector<mlir::Value, 2>> variables;
  llvm::DenseMap<mlir::Value, unsigned> variableOf;
  std::vector<mlir::Operation *> ops;
  struct Signature {
    OperationTraits traits;
    bool movesElements = false;
    bool takesEach = false; ///< Each element to one element,
    bool reduces = false;   ///< or several to one.
    /// What decides about the choice beside shardings: the same for operations that are alike.
    const void *fixed = nullptr;
    /// What operands can be made of again, and the values that this begins with.
    const void *recipes = nullptr;
    llvm::SmallVector<mlir::Value> ingredients = {};
  };
  void addSignature(ShardingRuleOpInterface op);
  /// What follows for one of the values around an operation from how another one lies, by their places; null where
  /// nothing does. `present`: how it lies now, if that matters.
  ShardingAttr followTo(const Signature &signature, unsigned self, ShardingAttr sharding, unsigned other,
                        ShardingAttr present) const;
  /// A number for each list of parts, as a part of others.
  const void *numberOf(std::vector<const void *> parts);
  /// The parts of a key but for what operands can be made of.
  Key getKeyOfTypes(ShardingRuleOpInterface op, const Signature &signature) const;
  static void addRecipes(const Signature &signature, Key &key);

  llvm::DenseMap<mlir::Operation *, Signature> signatures;
  /// Of followTo, by the operation's fixed part; only looked up.
  mutable llvm::DenseMap<std::tuple<const void *, unsigned, const void *, unsigned, const void *>, ShardingAttr>
      followed;
  std::map<std::vector<const void *>, uintptr_t> numbers;
  WindowFamilies families;
  RunCounts runs;
  std::unordered_map<Key, OperationChoice, Key::Hash> choices; ///< Only looked up.
  std::unordered_set<Key, Key::Hash> seen; ///< Without what operands can be made of; only looked up.
  OperationChoice uncached;
  double work = 0;
  int64_t mostHeld = 0;
};

} // namespace spmdc
