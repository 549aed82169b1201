//===- SplitConstants.cpp - a separate constant for each user -------------===//
//
// A constant that is used in two places would propagate the sharding of one place to the other. If the two disagree, it
// would be gathered like data, though every device can compute the shard that it needs. The same holds for a value that
// is computed from constants and scalars alone: an iota, a causal mask, a factor that clips gradients. After
// partitioning, common subexpression elimination merges equal copies.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SPLITCONSTANTSPASS
#include "passes/simplify/Passes.h.inc"

namespace {

/// The largest number of copies in one function; further constants stay shared.
constexpr size_t kMaxCopies = 10000;

/// An expression of at most this many operations, written out as a tree, is copied for each use, also within constant
/// expressions: a causal mask compares rows with columns, and both come from one iota. Larger ones (random numbers) use
/// their subexpressions so often that the tree would grow exponentially.
constexpr size_t kSmallTree = 32;

/// No axis propagates through an array without dimensions to shard.
bool connectsNothing(Value value) {
  return llvm::all_of(cast<ArrayType>(value.getType()).getShape(), [](int64_t size) { return size == 1; });
}

/// Splits the constants of one function.
class ConstantSplitter {
public:
  void run(func::FuncOp func) {
    collect(func);
    // Users first: a copy of a user is one more user of its operands.
    for (Operation *op : llvm::reverse(constants))
      if (!split(op))
        return;
  }

private:
  /// An operation of a constant expression.
  struct Constant {
    size_t treeSize = 0;
    bool isOfScalars = false;    ///< Depends on run-time scalars.
    Operation *usedBy = nullptr; ///< The operation, itself not constant, that this one is computed for.
  };

  void collect(func::FuncOp func) {
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      position[op] = position.size();
      bool isArrayOp =
          isa_and_nonnull<ArrayDialect>(op->getDialect()) && op->getNumResults() == 1 && op->getNumRegions() == 0;
      if (!isArrayOp || !isPure(op))
        return;
      Constant constant{.treeSize = 1};
      for (Value operand : op->getOperands()) {
        auto known = operand.getDefiningOp() ? found.find(operand.getDefiningOp()) : found.end();
        if (known != found.end()) {
          constant.treeSize = std::min(constant.treeSize + known->second.treeSize, kSmallTree + 1);
          constant.isOfScalars |= known->second.isOfScalars;
        } else if (connectsNothing(operand) && !connectsNothing(op->getResult(0))) {
          constant.isOfScalars = true;
        } else {
          return;
        }
      }
      // A large expression of run-time values is not computed twice.
      if (constant.isOfScalars && constant.treeSize > kSmallTree)
        return;
      constants.push_back(op);
      found[op] = constant;
    });
  }

  /// Gives each use a copy: a small expression is copied for each user, a larger one for each operation that its users
  /// are computed for. Returns false once there are too many copies.
  bool split(Operation *op) {
    SmallVector<Operation *> users;
    for (Operation *user : op->getUsers())
      if (!llvm::is_contained(users, user))
        users.push_back(user);
    if (users.empty())
      return true;
    // In program order, independent of the use list. The first user keeps the original.
    llvm::sort(users, [&](Operation *x, Operation *y) { return isBefore(x, y); });
    found[op].usedBy = endOf(users.front());
    // Sharding groups name their members, so members stay shared.
    if (connectsNothing(op->getResult(0)) ||
        llvm::any_of(users, [](Operation *user) { return isa<ShardingGroupOp>(user); }))
      return true;
    bool isSmall = found[op].treeSize <= kSmallTree;
    llvm::DenseMap<Operation *, Operation *> madeFor;
    if (!isSmall)
      madeFor[endOf(users.front())] = op;
    for (Operation *user : llvm::drop_begin(users)) {
      Operation *end = endOf(user);
      Operation *&made = madeFor[isSmall ? user : end];
      if (!made) {
        if (copies++ >= kMaxCopies)
          return false;
        made = OpBuilder(user).clone(*op);
        position[made] = position.lookup(user);
        found[made] = {found[op].treeSize, found[op].isOfScalars, end};
      }
      user->replaceUsesOfWith(op->getResult(0), made->getResult(0));
    }
    return true;
  }

  /// A copy is right in front of its user, and has the same position.
  bool isBefore(Operation *x, Operation *y) const {
    size_t xPosition = position.lookup(x), yPosition = position.lookup(y);
    return xPosition != yPosition ? xPosition < yPosition : x != y && x->isBeforeInBlock(y);
  }

  Operation *endOf(Operation *user) const {
    auto constant = found.find(user);
    return constant == found.end() ? user : constant->second.usedBy;
  }

  SmallVector<Operation *> constants; ///< In program order, without copies.
  llvm::DenseMap<Operation *, Constant> found;
  llvm::DenseMap<Operation *, size_t> position; ///< In program order, regions included.
  size_t copies = 0;
};

class SplitConstantsPass : public impl::SplitConstantsPassBase<SplitConstantsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      ConstantSplitter().run(func);
  }
};

} // namespace
} // namespace spmdc
