//===- AvailableShardings.h - materialized copies of a value ----*- C++ -*-===//
//
// AvailableShardings tracks the shardings in which each value is materialized while a block is partitioned. The root of
// a value is the result of its operation; each spmd.reshard makes another copy. A user that wants a sharding takes the
// copy from which the reshard is cheapest. So an array that two operations need gathered is gathered once, and a result
// that its user wants as computed skips the propagated sharding. A gathered transpose is a transpose of the gathered
// value. A value is rematerialized (Rematerialization.h) if that sends less: the bias is gathered, not its broadcast
// rows.
//
// The reshard of an operation's result to its propagated sharding is inserted at once. Its cost is divided among the
// users until one of them takes that sharding, after which it is free. `clean` removes unused reshards.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/sharding/Rematerialization.h"
#include "passes/strategy/ByteFormula.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace spmdc {

/// The operation before which reshards of the value for `user` are inserted: the outermost loop around `user` that does
/// not contain the value, even if the loop has `user` in a branch, so that operations after the loop can use the
/// copies, too.
mlir::Operation *findReshardPlace(mlir::Value value, mlir::Operation *user);

/// The number of runs of `user` for each run of a reshard at `findReshardPlace`.
double getRunsPerReshard(mlir::Value value, mlir::Operation *user);

/// The type with no unreduced axes.
ArrayType withoutUnreduced(ArrayType type);

/// The materialized copies of all values that have been resharded so far, with what they cost.
class AvailableShardings {
public:
  /// The largest number of consecutive element-wise operations on large arrays that are repeated to rematerialize a
  /// value.
  static constexpr unsigned kLongestChain = 8;

  explicit AvailableShardings(ReshardPlanner &planner, unsigned longestChain = kLongestChain)
      : planner(planner), longestChain(longestChain), chainLeft(longestChain) {}

  /// The copy of a value from which the wanted sharding is computed, and the cost.
  struct Source {
    mlir::Value value;
    CollectiveCost cost;
    /// If `value` is a copy of another value: the permutation that transposes it to this one; empty otherwise.
    llvm::SmallVector<int64_t> perm;
    /// If the value is rematerialized: the operation to repeat; null otherwise.
    ShardingRuleOpInterface producer;
    double readBytes = 0; ///< Bytes that the rematerializing kernel reads.
  };

  /// The cheapest source for `user`; `value` is the operand in its propagated sharding.
  Source find(mlir::Value value, ArrayType wanted, mlir::Operation *user);

  /// A lower bound on the bytes to send for the wanted sharding, as CollectiveCost::linkBytes.
  double getLeastBytes(mlir::Value value, ArrayType wanted, mlir::Operation *user) const;

  /// The value in the wanted sharding: an available copy, the result of a new spmd.reshard before `user`, or a
  /// rematerialized value there.
  mlir::Value take(mlir::Value value, ArrayType wanted, mlir::Operation *user, llvm::StringRef why);

  /// The share of `user` in the cost of the reshard to the propagated sharding, if no user has paid for it yet.
  CollectiveCost getUnpaidCost(mlir::Value value, mlir::Operation *user) const;
  /// Whether `user` would pay for one of its operands as it is.
  bool hasUnpaidOperand(mlir::Operation *user) const {
    return llvm::any_of(user->getOperands(), [&](mlir::Value operand) { return unpaidCosts.contains(operand); });
  }
  /// Marks `copy` as used: its cost is paid.
  void pay(mlir::Value copy) { unpaidCosts.erase(copy); }

  /// Inserts the reshard of an operation's result to its propagated sharding; all users use that.
  void addPropagated(mlir::Value result, ArrayType propagated, llvm::StringRef why);

  /// The result of the operation that computes `value`, of which `value` is a copy in some sharding.
  mlir::Value getOriginal(mlir::Value value) const;

  /// Appends to `parts` all on which `find` and `getLeastBytes` of this value for `user` depend, besides the wanted
  /// sharding: its copies and those of its transposes with what they cost, and the operations that would rematerialize
  /// it, with their operands. Equal for equal states, in other functions and at other times, too.
  void describe(mlir::Value value, mlir::Operation *user, llvm::SmallVectorImpl<const void *> &parts) const;

  /// Removes unused reshards, and merges a reshard with one before it that has no other use.
  void clean();

private:
  /// The available copies that `user` can use, without `value` itself.
  llvm::SmallVector<mlir::Value, 2> getOthers(mlir::Value value, mlir::Operation *user) const;
  /// Calls visit(copy, type, perm) for the copies of values that this one is a transpose of, or that are transposes of
  /// it; `type` is that of the transposed copy.
  void visitTransposed(mlir::Value value, mlir::Operation *user,
                       llvm::function_ref<void(mlir::Value, ArrayType, llvm::ArrayRef<int64_t>)> visit) const;
  /// The transposes of copies of this value, cached because the copies may have very many other users.
  llvm::SmallVector<mlir::Operation *, 1> &getTransposes(mlir::Value root) const;
  /// Registers a new copy of the value with this root, and returns it.
  mlir::Value keep(mlir::Value root, mlir::Value copy);
  mlir::Value create(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from, ArrayType to, llvm::StringRef why);
  /// An operation that rematerializes a value, or the formula of its bytes, or neither.
  struct Recipe {
    ShardingRuleOpInterface producer;
    std::optional<ByteFormula> formula;
  };
  /// Whether the value is rematerializable (Rematerialization.h). Cached, as the next two are: the operations that
  /// compute an operand do not change any more when operations behind them ask for it.
  bool isCheap(mlir::Value value) const;
  const Recipe &getRecipe(mlir::Value value) const;
  /// The types of the producer's operands for its result in the wanted sharding (`listOperandTypes`).
  const std::optional<llvm::SmallVector<ArrayType>> &getOperandTypes(ShardingRuleOpInterface producer,
                                                                     ArrayType wanted) const;
  /// Calls visit(operand, type) for each operand from which `producer`, which it sets, rematerializes `value` in the
  /// wanted sharding, until a call returns false: then the others cannot change the answer. Returns false without a
  /// call if the value cannot be rematerialized, or `chainLeft` is used up.
  bool visitProducer(mlir::Value value, ArrayType wanted, ShardingRuleOpInterface &producer,
                     llvm::function_ref<bool(mlir::Value, ArrayType)> visit) const;
  mlir::Value rematerialize(ShardingRuleOpInterface producer, mlir::Value value, ArrayType wanted,
                            mlir::Operation *user, llvm::StringRef why);

  /// The value by this formula for its bytes in the wanted sharding.
  mlir::Value compute(const ByteFormula &formula, mlir::Value value, ArrayType wanted, mlir::Operation *user,
                      llvm::StringRef why);

  ReshardPlanner &planner;
  const unsigned longestChain;
  mutable unsigned chainLeft;                     ///< Operations that may still be repeated in this search.
  llvm::DenseMap<mlir::Value, mlir::Value> roots; ///< Of the copies of this object.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> copies;
  llvm::DenseMap<mlir::Value, CollectiveCost> unpaidCosts;
  mutable llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 1>> transposes; ///< By root, on demand.
  mutable llvm::DenseMap<mlir::Value, bool> cheap;
  mutable llvm::DenseMap<mlir::Value, Recipe> recipes;
  mutable llvm::DenseMap<std::pair<mlir::Operation *, mlir::Type>, std::optional<llvm::SmallVector<ArrayType>>>
      operandTypes;
  std::vector<ReshardOp> reshards; ///< In program order of creation: operands come first.
};

} // namespace spmdc
