//===- ReductionDiscount.cpp - the cost that sinking saves ----------------===//

#include "passes/reductions/ReductionDiscount.h"

#include "ir/array/PartialSums.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/cost/RunCounts.h"
#include "passes/reductions/LinearRegion.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The operands that may be partial sums if the operation's result is one.
SmallVector<unsigned> listTerms(Operation *op) {
  return listLinear(op, [](Value operand) { return !isUniform(operand); });
}

/// Whether the use is a slice or lookup that leaves fewer elements.
bool isSlice(OpOperand &use) {
  Operation *user = use.getOwner();
  return use.getOperandNumber() == 0 && readsPartOfFirstOperand(user) &&
         typeOf(user->getResult(0)).getNumElements() < typeOf(use.get()).getNumElements();
}

/// The use by a slice or lookup to which only element-wise operations without other uses lead from the value: then the
/// slice is hoisted above them and the reduction (spmdc-hoist-slices). Null if there is none.
OpOperand *findSlicedUse(Value value) {
  constexpr size_t kMaxOperations = 32;
  llvm::SmallPtrSet<Operation *, 16> seen; // Contains null if there is a use in another block.
  SmallVector<Operation *> next;           // Users of the values so far, the earliest last.
  auto addUsers = [&](Value made) {
    for (Operation *user : made.getUsers())
      if (user->getBlock() == value.getParentBlock() && seen.insert(user).second)
        next.push_back(user);
      else if (user->getBlock() != value.getParentBlock())
        seen.insert(nullptr);
    llvm::sort(next, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  };
  addUsers(value);
  while (!next.empty() && seen.size() <= kMaxOperations && !seen.contains(nullptr)) {
    Operation *user = next.pop_back_val();
    OpOperand &first = user->getOpOperand(0);
    bool isMade = first.get() == value || seen.contains(first.get().getDefiningOp());
    if (isMade && next.empty() && isSlice(first))
      return &first;
    if (!isa<ElementwiseOpInterface>(user) || typeOf(user->getResult(0)).getShape() != typeOf(value).getShape())
      return nullptr;
    addUsers(user->getResult(0));
  }
  return nullptr;
}

/// Whether there is one use, or the uses are in different branches, of which at most one runs.
bool isUsedOnceOrInBranches(Value value) {
  llvm::SmallPtrSet<Region *, 2> branches;
  return value.hasOneUse() || llvm::all_of(value.getUsers(), [&](Operation *user) {
           Region *ifBranch = user->getParentRegion();
           return isa<IfOp>(ifBranch->getParentOp()) && branches.insert(ifBranch).second;
         });
}

/// Whether the argument is a carry in the body of a `while` whose condition does not use it.
bool isUnseenByCondition(BlockArgument argument) {
  auto loop = dyn_cast<WhileOp>(argument.getOwner()->getParentOp());
  return loop && argument.getParentRegion() == &loop.getBody() &&
         loop.getCondition().getArgument(argument.getArgNumber()).use_empty();
}

/// The argument of a loop's body for one of its results.
Value getCarry(Operation *loop, unsigned result) {
  return loop->getRegions().back().getArgument(result + (isa<ForOp>(loop) ? 1 : 0));
}

/// The most linear operations that one search follows. Each reduction of the program starts some searches, so without a
/// limit the sums of a chain (a loss that adds a thousand terms) take quadratic time; a step takes about a microsecond.
/// A reduction farther away than this is priced as if it could not sink there.
constexpr unsigned kMaxSteps = 256;

/// The carry of a loop from which linear operations compute this value, if it has no other use; else null.
Value findCarry(Value value) {
  for (unsigned step = 0; Operation *op = value.getDefiningOp(); ++step) {
    if (step == kMaxSteps)
      return {};
    SmallVector<unsigned> terms = isa<ReshardOp>(op) ? SmallVector<unsigned>{0} : listTerms(op);
    if (terms.size() != 1 || !value.hasOneUse())
      return {};
    value = op->getOperand(terms.front());
  }
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *loop = argument ? argument.getOwner()->getParentOp() : nullptr;
  bool isCarry = loop && (isa<ForOp>(loop) || isUnseenByCondition(argument));
  return isCarry && isUsedOnceOrInBranches(argument) ? argument : Value();
}

/// Follows the result of an operation to the point where its reduction is cheapest.
class Follower {
public:
  explicit Follower(ShardingRuleOpInterface op) : value(op->getResult(0)) {
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      if (op.isAddedTo(index))
        carry = findCarry(op->getOperand(index));
    findOrigins();
  }

  /// Follows a value that is computed from this carry, or from no carry (null).
  Follower(Value value, Value carry) : value(value), carry(carry) { findOrigins(); }

  ReductionDiscount run() {
    // The cheapest point is in front of operations that repeat elements, and behind those that leave fewer.
    ReductionDiscount least;
    auto shareOf = [](const ReductionDiscount &each) {
      return each.share / static_cast<double>(1 + each.sharers.size());
    };
    for (unsigned steps = 0; steps < kMaxSteps && value.hasOneUse() && step(*value.use_begin()); ++steps)
      if (shareOf(result) <= shareOf(least))
        least = result;
    // Operations that are not linear run on a slice alone, if only that is used.
    if (OpOperand *taken = findSlicedUse(value)) {
      take(*taken);
      least = result;
    }
    return least;
  }

private:
  void findOrigins() { origins = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank())); }

  bool step(OpOperand &use) {
    Operation *user = use.getOwner();
    if (isSlice(use)) {
      take(use);
    } else if (isLinearIn(use)) {
      for (unsigned other : listTerms(user)) // The other terms, which must be partial sums as well.
        if (other != use.getOperandNumber())
          meet(user, other);
      pass(use);
    } else if (auto branch = isa<YieldOp>(user) ? dyn_cast<IfOp>(user->getParentOp()) : IfOp()) {
      value = branch.getOutputs()[use.getOperandNumber()];
    } else if (Operation *loop = user->getParentOp(); carry && isa<YieldOp>(user) && isa<LoopLikeOpInterface>(loop) &&
                                                      comesTo(loop, getCarry(loop, use.getOperandNumber()), carry)) {
      unsigned index = use.getOperandNumber();
      scaleBy(1 / estimateIterations(loop));
      value = loop->getResult(index);
      carry = findCarry(loop->getOperand(index));
    } else {
      return false;
    }
    return true;
  }

  /// Handles another term of the operation: a carry of a loop, or sums of as many elements, which share a reduction.
  void meet(Operation *op, unsigned term) {
    Value other = op->getOperand(term);
    if (Value found = findCarry(other))
      carry = found;
    else if (typeOf(other).getNumElements() == typeOf(op->getResult(0)).getNumElements())
      collectSharers(other);
  }

  /// Continues with the result of the operation that uses the value.
  void pass(OpOperand &use) {
    Value next = use.getOwner()->getResult(0);
    bool isOfAll = typeOf(next).getNumElements() == typeOf(value).getNumElements();
    SmallVector<int64_t> found(typeOf(next).getRank(), -1);
    if (auto rule = dyn_cast<ShardingRuleOpInterface>(use.getOwner());
        rule && isOfAll && !isa<ReshapeOp, ConcatenateOp>(use.getOwner())) {
      ShardingRule factors = rule.getShardingRule();
      const ValueFactors &from = factors.operands[use.getOperandNumber()];
      for (auto [dim, made] : llvm::enumerate(factors.results[0]))
        for (auto [old, origin] : llvm::zip_equal(from, origins))
          if (!made.empty() && old == made)
            found[dim] = origin;
    }
    if (!isa<ConcatenateOp>(use.getOwner())) // Each part of a concatenation counts for itself.
      scaleBy(getRatio(next, value));
    origins = std::move(found);
    value = next;
  }

  /// Whether the carry `from` becomes the carry `to` after some iterations that only add to it (carries may swap
  /// places).
  static bool comesTo(Operation *loop, Value from, Value to) {
    for (unsigned i = 1; from && from != to && i < loop->getNumResults(); ++i)
      from = Follower(from, from).findNextCarry(loop);
    return from == to;
  }

  /// The carry that the value becomes in the next iteration of the loop; null if it is not only added to.
  Value findNextCarry(Operation *loop) {
    for (unsigned steps = 0; steps < kMaxSteps && value.hasOneUse(); ++steps) {
      OpOperand &use = *value.use_begin();
      if (isa<YieldOp>(use.getOwner()) && use.getOwner()->getParentOp() == loop)
        return getCarry(loop, use.getOperandNumber());
      if (isOfPartialSums(use.getOwner()))
        value = use.getOwner()->getResult(0);
      else if (!step(use))
        break;
    }
    return {};
  }

  /// Whether the operation is a reshard to or from partial sums, inserted around an operation whose strategy is known.
  static bool isOfPartialSums(Operation *op) {
    auto reshard = dyn_cast<ReshardOp>(op);
    auto isPartial = [](ArrayType type) { return !type.getShardingOrOpen().getUnreduced().empty(); };
    return reshard && (isPartial(reshard.getOperand().getType()) || isPartial(reshard.getType()));
  }

  /// Collects the sums that lead to the value through linear operations without other uses.
  void collectSharers(Value term, unsigned depth = 0) {
    Operation *op = term.getDefiningOp();
    if (!op || !term.hasOneUse() || op->getBlock() != value.getParentBlock() || result.sharers.size() >= kMaxSharers ||
        depth >= kMaxTerms)
      return;
    if (isa<ReshardOp>(op)) {
      collectSharers(op->getOperand(0), depth + 1);
    } else if (SmallVector<unsigned> terms = listTerms(op); !terms.empty()) {
      for (unsigned number : terms) // Sums of another size are reduced at another point.
        if (typeOf(op->getOperand(number)).getNumElements() == typeOf(term).getNumElements())
          collectSharers(op->getOperand(number), depth + 1);
    } else if (auto sum = dyn_cast<ShardingRuleOpInterface>(op);
               sum && mayLeavePartialSums(sum, sum.getShardingRule())) {
      result.sharers.push_back(sum);
    }
  }

  void scaleBy(double factor) {
    result.share *= factor;
    result.shareIfSharded *= factor;
  }

  static double getRatio(Value part, Value all) {
    return static_cast<double>(typeOf(part).getNumElements()) /
           static_cast<double>(std::max<int64_t>(1, typeOf(all).getNumElements()));
  }

  void take(OpOperand &use) {
    ShardingRule rule = cast<ShardingRuleOpInterface>(use.getOwner()).getShardingRule();
    for (auto [dim, factors] : llvm::enumerate(rule.operands[0]))
      if (origins[dim] >= 0 &&
          llvm::any_of(factors, [&](unsigned factor) { return rule.factors[factor].kind != FactorKind::PassThrough; }))
        result.fullDims.push_back(origins[dim]);
    value = use.getOwner()->getResult(0);
    result.share *= getRatio(value, use.get());
    origins.assign(typeOf(value).getRank(), -1);
  }

  static constexpr size_t kMaxSharers = 16;
  static constexpr unsigned kMaxTerms = 64;

  ReductionDiscount result;
  Value value, carry;
  SmallVector<int64_t> origins; ///< For each dimension of the value: that of the operation's result; -1: unknown.
};

} // namespace

double ReductionDiscount::of(ArrayType type, ArrayRef<AxisRefs> sharersAxes) const {
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  bool isSharded = llvm::any_of(fullDims, [&](int64_t dim) { return !sharding.dims[dim].empty(); });
  auto sum = llvm::count_if(sharersAxes, [&](const AxisRefs &axes) {
    return axes.size() == sharding.unreduced.size() &&
           std::is_permutation(axes.begin(), axes.end(), sharding.unreduced.begin());
  });
  return (isSharded ? shareIfSharded : share) / static_cast<double>(1 + sum);
}

AxisRefs findPartialAxes(const spmd::MeshShape &mesh, ShardingRuleOpInterface op, const ShardingRule &rule) {
  FactorAxes factorAxes(rule.factors.size());
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands)) {
    FactorAxes own = projectToFactors(mesh, rule, factors, typeOf(operand).getShardingOrOpen().toValue());
    for (auto [all, axes] : llvm::zip(factorAxes, own)) {
      if (!all.empty() && !axes.empty() && all != axes)
        return {};
      if (all.empty())
        all = axes;
    }
  }
  AxisRefs summed, used;
  for (auto [factor, axes] : llvm::zip(rule.factors, factorAxes)) {
    if (overlap(axes, used))
      return {};
    llvm::append_range(used, axes);
    if (factor.kind == FactorKind::Reduction)
      llvm::append_range(summed, axes);
  }
  return summed;
}

bool mayLeavePartialSums(ShardingRuleOpInterface op, const ShardingRule &rule) {
  return op.getReductionKind() == ReductionKind::sum &&
         llvm::any_of(rule.factors, [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
}

ReductionDiscount getReductionDiscount(ShardingRuleOpInterface op, const ShardingRule &rule) {
  return mayLeavePartialSums(op, rule) ? Follower(op).run() : ReductionDiscount();
}

ReductionDiscount getReductionDiscount(Operation *loop, unsigned result) {
  return Follower(loop->getResult(result), findCarry(loop->getOperand(result))).run();
}

} // namespace spmdc
