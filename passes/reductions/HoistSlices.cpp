//===- HoistSlices.cpp - reduces only the used part of partial sums -------===//
//
// Often only a part of a network's last layer is used: the last token, the token of a class. Then the reduction of
// partial sums, and the element-wise operations behind it (a residual, a bias), need only that part.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "passes/reductions/LinearRegion.h"
#include "passes/reductions/Passes.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/sharding/FactorAxes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <set>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_HOISTSLICES
#include "passes/reductions/Passes.h.inc"

namespace {

DebugTrace trace("hoist-slices", "not hoisted");

/// The most element-wise operations that a slice is hoisted above.
constexpr size_t kMaxOperations = 32;

/// A slice or lookup, and the element-wise operations that compute its operand and have no other use.
class HoistedSlice {
public:
  HoistedSlice(Operation *take, ReshardPlanner &planner) : take(take), planner(planner) {
    end = take->getResult(0);
    if (auto behind = end.hasOneUse() ? dyn_cast<ReshardOp>(*end.user_begin()) : ReshardOp();
        behind && behind->getBlock() == take->getBlock())
      end = behind.getResult();
  }

  /// Hoists the slice if reducing and resharding the parts takes less time than for the full arrays.
  void hoist() {
    if (mayHoist())
      rewrite();
  }

private:
  bool mayHoist() {
    if (isUnreduced(take->getOperand(0)) || isUnreduced(end))
      return trace.skip(take, "it takes a part of a partial sum already");
    if (!collect(take->getOperand(0)))
      return false;
    if (!hasReduction)
      return trace.skip(take, "no partial sum is reduced for it alone");
    if (typeOf(end).getNumElements() >= typeOf(take->getOperand(0)).getNumElements())
      return trace.skip(take, "it leaves no fewer elements");
    double parts = secondsOfParts(), all = secondsOfAll();
    return parts < all || trace.skip(take, "reducing the part takes ", asTime(parts), ", the full array ", asTime(all));
  }

  struct Leaf {
    Value origin;                  ///< The value before it was reduced or resharded.
    ArrayType part;                ///< The type of the slice of `origin`.
    SmallVector<ArrayType> others; ///< The types that the slice's other operands (indices) need.
    ReshardOp reduction;           ///< Null if the leaf is not reduced.
  };

  /// Collects the element-wise operations that compute the value for the slice alone, and their inputs as leaves. False
  /// if a leaf cannot be sliced.
  bool collect(Value value) {
    auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
    std::set<Operation *, decltype(isBefore)> made(isBefore);
    llvm::SetVector<Value> others;
    auto add = [&](Value operand) {
      Operation *op = operand.getDefiningOp();
      bool isMadeHere = op && op->getBlock() == take->getBlock() && !isUnreduced(operand) &&
                        isa<ElementwiseOpInterface>(op) && isPure(op);
      if (isMadeHere)
        made.insert(op);
      else
        others.insert(operand);
    };
    add(value);
    while (!made.empty()) { // The last operation first, so that all its possible users are already visited.
      Operation *op = *std::prev(made.end());
      made.erase(op);
      if (!isForTakeAlone(op)) {
        others.insert(op->getResult(0));
        continue;
      }
      if (ops.size() >= kMaxOperations)
        return trace.skip(take, "more than ", kMaxOperations, " operations are in front of it");
      ops.push_back(op);
      users.insert(op);
      for (Value operand : op->getOperands())
        if (typeOf(operand).getRank() > 0)
          add(operand);
    }
    std::reverse(ops.begin(), ops.end());
    return llvm::all_of(others, [&](Value other) { return addLeaf(other); });
  }

  bool isForTakeAlone(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return users.contains(user); });
  }

  /// The reshard that reduces partial sums to this value, if only the slice uses it; else null.
  ReshardOp getReduction(Value value) const {
    auto reshard = value.getDefiningOp<ReshardOp>();
    bool isReduction = reshard && isUnreduced(reshard.getOperand()) && !isUnreduced(value);
    return isReduction && isForTakeAlone(reshard) ? reshard : ReshardOp();
  }

  bool addLeaf(Value value) {
    ReshardOp reduction = getReduction(value);
    Value origin = reduction ? reduction.getOperand() : LinearRegion::getOrigin(value);
    std::optional<Leaf> leaf = getLeaf(typeOf(origin));
    hasReduction |= static_cast<bool>(reduction);
    if (leaf) {
      leaf->origin = origin;
      leaf->reduction = reduction;
      leaves.insert({value, *leaf});
    }
    return leaf || trace.skip(take, "devices cannot take its part of ", typeOf(origin), " locally");
  }

  /// The types of the slice of an array and of the slice's other operands, if each device can slice its shard locally;
  /// else none.
  std::optional<Leaf> getLeaf(ArrayType from) const {
    ShardingRule rule = cast<ShardingRuleOpInterface>(take).getShardingRule();
    const spmd::MeshShape &mesh = planner.getMesh();
    spmd::Sharding sharding = from.getShardingOrOpen().toValue();
    FactorAxes axes = projectToFactors(mesh, rule, rule.operands[0], sharding);
    for (auto [factor, list] : llvm::zip(rule.factors, axes))
      if (factor.kind != FactorKind::PassThrough && !list.empty())
        return std::nullopt;
    followIndices(rule, sharding, axes);
    std::optional<spmd::Sharding> kept = shardingOf(mesh, rule, rule.operands[0], axes),
                                  part = shardingOf(mesh, rule, rule.results[0], axes);
    if (!kept || !part || kept->dims != sharding.dims)
      return std::nullopt;
    part->unreduced = sharding.unreduced;
    MLIRContext *context = from.getContext();
    ArrayType type = typeOf(take->getResult(0)).withElementType(from.getElementType());
    Leaf leaf;
    leaf.part = type.withSharding(ShardingAttr::fromValue(context, *part));
    for (unsigned index = 1; index < take->getNumOperands(); ++index) {
      std::optional<spmd::Sharding> needed = shardingOf(mesh, rule, rule.operands[index], axes);
      if (!needed)
        return std::nullopt;
      leaf.others.push_back(typeOf(take->getOperand(index)).withSharding(ShardingAttr::fromValue(context, *needed)));
    }
    return leaf;
  }

  /// Keeps the axes of factors that only the indices have, unless the array uses these axes.
  void followIndices(const ShardingRule &rule, const spmd::Sharding &sharding, FactorAxes &axes) const {
    AxisRefs used = sharding.unreduced;
    for (const AxisRefs &dim : sharding.dims)
      llvm::append_range(used, dim);
    for (unsigned index = 1; index < take->getNumOperands(); ++index) {
      FactorAxes own = projectToFactors(planner.getMesh(), rule, rule.operands[index],
                                        typeOf(take->getOperand(index)).getShardingOrOpen().toValue());
      for (auto [list, more] : llvm::zip(axes, own)) {
        if (!list.empty() || overlap(more, used))
          continue;
        llvm::append_range(used, more);
        list = more;
      }
    }
  }

  double secondsOf(ArrayType from, ArrayType to) {
    return planner.getModel().seconds(planner.plan(from, to).cost, planner.getMesh().deviceCount());
  }

  /// Seconds of the current reshards. An exchange for the slice itself is not counted.
  double secondsOfAll() {
    double seconds = secondsOf(typeOf(take->getResult(0)), typeOf(end));
    for (auto &[value, leaf] : leaves)
      seconds += secondsOf(typeOf(leaf.origin), typeOf(value));
    return seconds;
  }

  double secondsOfParts() {
    double seconds = 0;
    for (auto &[value, leaf] : leaves) {
      seconds += secondsOf(leaf.part, typeAtEnd(value));
      for (auto [operand, type] : llvm::zip(llvm::drop_begin(take->getOperands()), leaf.others))
        seconds += secondsOf(typeOf(operand), type);
    }
    return seconds;
  }

  ArrayType typeAtEnd(Value value) const { return typeOf(end).withElementType(typeOf(value).getElementType()); }

  void rewrite() {
    OpBuilder builder(end.getDefiningOp());
    IRMapping parts;
    for (auto &[value, leaf] : leaves) {
      IRMapping operands;
      operands.map(take->getOperand(0), leaf.origin);
      for (auto [operand, type] : llvm::zip(llvm::drop_begin(take->getOperands()), leaf.others))
        if (typeOf(operand) != type)
          operands.map(operand,
                       builder.create<ReshardOp>(getUnannotatedLoc(take->getLoc()), type, operand, StringAttr()));
      Operation *part = builder.clone(*take, operands);
      part->getResult(0).setType(leaf.part);
      Value result = part->getResult(0);
      if (leaf.part != typeAtEnd(value)) {
        ReshardOp reduction = leaf.reduction;
        StringRef first = reduction
                              ? StringRef(reduction.getWhy().value_or("")).take_until([](char c) { return c == ';'; })
                              : StringRef();
        std::string why = (first + (first.empty() ? "" : "; ") + "only the used elements are reduced").str();
        Location loc = reduction ? reduction.getLoc() : part->getLoc();
        result = builder.create<ReshardOp>(loc, typeAtEnd(value), result,
                                           reduction ? builder.getStringAttr(why) : StringAttr());
      }
      parts.map(value, result);
    }
    for (Operation *op : ops)
      builder.clone(*op, parts)->getResult(0).setType(typeAtEnd(op->getResult(0)));
    end.replaceAllUsesWith(parts.lookup(take->getOperand(0)));
    if (end.getDefiningOp() != take)
      end.getDefiningOp()->erase();
    take->erase();
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    for (auto &[value, leaf] : leaves)
      LinearRegion::eraseUnused(value);
  }

  Operation *take;
  ReshardPlanner &planner;
  Value end; ///< The slice's result, behind a reshard of it if there is one.
  SmallVector<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 16> users{take}; ///< `ops` and the slice.
  llvm::MapVector<Value, Leaf> leaves;
  bool hasReduction = false;
};

class HoistSlicesPass : public impl::HoistSlicesBase<HoistSlicesPass> {
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    SmallVector<Operation *> takes;
    getOperation().walk([&](Operation *op) {
      if (readsPartOfFirstOperand(op) && !isPerDevice(op))
        takes.push_back(op);
    });
    for (Operation *take : takes)
      HoistedSlice(take, planner).hoist();
  }
};

} // namespace
} // namespace spmdc
