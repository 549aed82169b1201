//===- AvailableShardings.h - the shardings in which a value exists ----------*- C++ -*-===//
//
// Each operation gives its result in one form, and spmd.reshard makes others of it. Who needs a value takes the form
// that is cheapest to bring into the sharding that it wants, one that is there already above all: an array that two
// operations need gathered is gathered once, and a result that lies as its user wants it does not go through what
// propagation thought of it. What a transpose of a value needs gathered is a transpose of the gathered value. A value
// is made again (Rematerialization.h) where that sends less: not the rows of a bias are gathered, the bias is.
//
// An operation's result is brought into its propagated sharding at once, but that is owed until somebody uses it: the
// users share its price, the first one pays for all, and what nobody needs is removed (`clean`).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/sharding/Rematerialization.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace spmdc {

/// Before what the forms of this value are made for the operation: in front of the loops that it is not of, also where
/// these have the operation in a branch, so that what is behind them can take them, too.
mlir::Operation *findReshardPlace(mlir::Value value, mlir::Operation *user);

/// How often the operation runs for each time that a form of the value is made for it, which is in front of the loops
/// that the value is not of.
double getRunsPerReshard(mlir::Value value, mlir::Operation *user);

/// The type with nothing left to add up.
ArrayType withoutUnreduced(ArrayType type);

class AvailableShardings {
public:
  /// How many element-wise operations on large arrays, one after another, may be repeated to make a value again.
  static constexpr unsigned kLongestChain = 8;

  explicit AvailableShardings(ReshardPlanner &planner, unsigned longestChain = kLongestChain)
      : planner(planner), longestChain(longestChain), chainLeft(longestChain) {}

  /// A form of the value from which the wanted sharding is made, with what that costs.
  struct Source {
    mlir::Value value;
    CollectiveCost cost;
    /// Of a form of another value, how it is transposed to be one of this; empty otherwise.
    llvm::SmallVector<int64_t> perm;
    /// What makes it again in the wanted sharding, then in place of a form; null otherwise.
    ShardingRuleOpInterface maker;
    double readBytes = 0; ///< By the kernel of that.
  };

  /// The cheapest for this operation, which uses the value as it is propagated.
  Source find(mlir::Value value, ArrayType wanted, mlir::Operation *user);

  /// What it sends at least to make the wanted sharding for this operation, as CollectiveCost::linkBytes.
  double getLeastBytes(mlir::Value value, ArrayType wanted, mlir::Operation *user) const;

  /// The value in the wanted sharding, through a new spmd.reshard in front of the operation where no form lies so,
  /// or made there again.
  mlir::Value take(mlir::Value value, ArrayType wanted, mlir::Operation *user, llvm::StringRef why);

  /// What it costs one user that the value lies as it is propagated, if nobody has paid for that yet.
  CollectiveCost getDebt(mlir::Value value, mlir::Operation *user) const;
  /// Somebody uses this form as it is.
  void pay(mlir::Value form) { debts.erase(form); }

  /// The result of an operation gets its propagated sharding: all its users use that.
  void addPropagated(mlir::Value result, ArrayType propagated, llvm::StringRef why);

  /// The form that the value has where it is computed.
  mlir::Value getRoot(mlir::Value value) const;

  /// Removes what nobody uses, and forms between two others.
  void clean();

private:
  /// Those that the operation can use beside the value itself.
  llvm::SmallVector<mlir::Value, 2> getOthers(mlir::Value value, mlir::Operation *user) const;
  /// Calls visit(form, type, perm) for the forms of values that this one is a transpose of, or that are transposes of
  /// it; the type is that of the transposed form.
  void visitTransposed(mlir::Value value, mlir::Operation *user,
                       llvm::function_ref<void(mlir::Value, ArrayType, llvm::ArrayRef<int64_t>)> visit) const;
  /// The transposes of forms of this value, which may have very many other users.
  llvm::SmallVector<mlir::Operation *, 1> &getTransposes(mlir::Value root) const;
  /// Notes a new form of the value with this root, and returns it.
  mlir::Value keep(mlir::Value root, mlir::Value form);
  mlir::Value create(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from, ArrayType to, llvm::StringRef why);
  /// Calls visit(operand, type) for each array of which the maker of a value makes the wanted sharding again; false,
  /// and no call, where it cannot, or is no longer looked for.
  bool visitMaking(mlir::Value value, ArrayType wanted, ShardingRuleOpInterface &maker,
                   llvm::function_ref<void(mlir::Value, ArrayType)> visit) const;
  mlir::Value makeAgain(ShardingRuleOpInterface maker, mlir::Value value, ArrayType wanted, mlir::Operation *user,
                        llvm::StringRef why);

  ReshardPlanner &planner;
  const unsigned longestChain;
  mutable unsigned chainLeft;                     ///< Of what is looked at now.
  llvm::DenseMap<mlir::Value, mlir::Value> roots; ///< Of forms that were made here.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> made;
  llvm::DenseMap<mlir::Value, CollectiveCost> debts;
  mutable llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 1>> transposes; ///< By root, once asked for.
  std::vector<ReshardOp> reshards; ///< In the order in which they were made: what one uses is before it.
};

} // namespace spmdc
