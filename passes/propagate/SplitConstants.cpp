//===- SplitConstants.cpp - a constant of its own for every user ----------===//
//
// A constant (or what is computed from constants alone: an iota, a causal mask) used in two places would carry the
// sharding of one place to the other, and where the two disagree it would be gathered like data, though every device
// can make the part it needs. After partitioning, common subexpression elimination joins copies that came out alike.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/propagate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SPLITCONSTANTSPASS
#include "passes/propagate/Passes.h.inc"

namespace {

/// Copies of one function's constants; beyond this they stay shared. Constant expressions that use one another in many
/// places could otherwise grow without bound.
constexpr size_t kMaxCopies = 10000;

class SplitConstantsPass : public impl::SplitConstantsPassBase<SplitConstantsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      split(func);
  }

  static void split(func::FuncOp func) {
    SmallVector<Operation *> constants;
    llvm::DenseSet<Operation *> areConstant;
    llvm::DenseMap<Operation *, size_t> position; // in program order, regions included
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      position[op] = position.size();
      auto isConstant = [&](Value operand) {
        return operand.getDefiningOp() && areConstant.contains(operand.getDefiningOp());
      };
      bool isArrayOp =
          isa_and_nonnull<ArrayDialect>(op->getDialect()) && op->getNumResults() == 1 && op->getNumRegions() == 0;
      if (isArrayOp && isPure(op) && llvm::all_of(op->getOperands(), isConstant)) {
        constants.push_back(op);
        areConstant.insert(op);
      }
    });
    size_t copies = 0;
    // Users first: a copy of a user is one more user of what it is computed from.
    for (Operation *op : llvm::reverse(constants)) {
      // A copy of a sharding group's member would be no member, so members stay shared.
      if (llvm::any_of(op->getUsers(), [](Operation *user) { return isa<ShardingGroupOp>(user); }))
        continue;
      SmallVector<Operation *> users;
      for (Operation *user : op->getUsers())
        if (!llvm::is_contained(users, user))
          users.push_back(user);
      // In program order, whatever order the use list has. The first user keeps the original.
      llvm::sort(users, [&](Operation *x, Operation *y) { return position.lookup(x) < position.lookup(y); });
      for (Operation *user : llvm::drop_begin(users, users.empty() ? 0 : 1)) {
        if (copies++ >= kMaxCopies)
          return;
        Operation *copy = OpBuilder(user).clone(*op);
        position[copy] = position.lookup(user);
        user->replaceUsesOfWith(op->getResult(0), copy->getResult(0));
      }
    }
  }
};

} // namespace
} // namespace spmdc
