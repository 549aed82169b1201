//===- DeferReductions.cpp - sums of partial sums, reduced once -----------===//
//
// A parameter that is used twice has a gradient that is the sum of two partial sums: devices add theirs, and reduce
// what comes out. What lies between partial sums and their sum has to be linear (a transpose, a scale, a slice), and so
// it has in a loop that adds to what it carries: then the carry is a partial sum in all iterations, reduced behind the
// loop.
//
// A linear cone is what leads from reductions (a spmd.reshard of partial sums that moves nothing) to one value, through
// linear operations that nobody else uses. It is rewritten as a whole: the reductions go, each value in it becomes a
// partial sum, and the one value is reduced.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/collective/ReshardPlanner.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DEFERREDUCTIONS
#include "passes/partition/Passes.h.inc"

namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

ArrayRef<AxisRefAttr> unreducedOf(ArrayType type) {
  return type.getSharding() ? type.getSharding().getUnreduced() : ArrayRef<AxisRefAttr>();
}

/// The same dimensions, with partial sums over these axes.
ArrayType withUnreduced(ArrayType type, ArrayRef<AxisRefAttr> axes) {
  ShardingAttr sharding = type.getShardingOrOpen();
  return type.withSharding(ShardingAttr::get(type.getContext(), sharding.getDims(), axes));
}

/// A reshard that reduces all of its partial sums.
ReshardOp getReduction(Value value) {
  auto reshard = value.getDefiningOp<ReshardOp>();
  bool isReduction =
      reshard && !unreducedOf(typeOf(reshard.getOperand())).empty() && unreducedOf(reshard.getType()).empty();
  return isReduction ? reshard : ReshardOp();
}

/// ... and leaves the dimensions as they are.
bool movesNothing(ReshardOp reduction) {
  ArrayType source = typeOf(reduction.getOperand());
  return withUnreduced(source, {}).getShardingOrOpen().hasSameAxes(reduction.getType().getShardingOrOpen());
}

bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().isSplat() && isa<FloatType>(constant.getValue().getElementType()) &&
         constant.getValue().getSplatValue<APFloat>().isZero();
}

class Cone {
public:
  /// `carry`: an argument of the loop around, which may be a partial sum, too.
  explicit Cone(Block *block, Value carry = {}) : block(block), carry(carry) {}

  /// Whether the value can be a partial sum.
  bool collect(Value value) {
    if (value == carry)
      return true;
    if (isZero(value))
      return zeros.insert(value), true;
    if (ReshardOp reduction = getReduction(value))
      return movesNothing(reduction) && agrees(unreducedOf(typeOf(reduction.getOperand()))) &&
             (reductions.insert(reduction), true);
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block || !unreducedOf(typeOf(value)).empty())
      return false;
    if (ops.contains(op))
      return true;
    SmallVector<unsigned> terms = listTerms(op);
    if (terms.empty() || !llvm::all_of(terms, [&](unsigned term) { return collect(op->getOperand(term)); }))
      return false;
    ops.insert(op);
    termsOf[op] = terms;
    return true;
  }

  /// Whether the values between are used in the cone alone; `end` uses the last one.
  bool isClosed(Operation *last, Operation *end) const {
    auto isInside = [&](Operation *user) { return ops.contains(user) || user == end; };
    for (Operation *op : ops)
      if (op != last && !llvm::all_of(op->getUsers(), [&](Operation *user) { return ops.contains(user); }))
        return false;
    return !carry || (llvm::all_of(carry.getUsers(), isInside) && !llvm::is_contained(carry.getUsers(), end));
  }

  ArrayRef<AxisRefAttr> getAxes() const { return axes; }
  ArrayRef<Operation *> getOps() const { return ops.getArrayRef(); }
  ArrayRef<Operation *> getReductions() const { return reductions.getArrayRef(); }

  /// The reason why there are partial sums.
  std::string why(StringRef end) const { return whyOf(cast<ReshardOp>(reductions.front()), end); }
  static std::string whyOf(ReshardOp reduction, StringRef end) {
    StringRef first = reduction.getWhy().value_or("");
    first = first.take_until([](char c) { return c == ';'; });
    return (first + (first.empty() ? "" : "; ") + end).str();
  }

  /// Makes all values partial sums.
  void rewrite() {
    for (Operation *op : ops) {
      for (unsigned term : termsOf.lookup(op)) {
        OpOperand &operand = op->getOpOperand(term);
        if (reductions.contains(operand.get().getDefiningOp()))
          operand.set(operand.get().getDefiningOp()->getOperand(0));
        else if (zeros.contains(operand.get()))
          operand.set(createZero(op, operand.get()));
      }
      Value result = op->getResult(0);
      result.setType(withUnreduced(typeOf(result), axes));
    }
    for (Operation *reduction : reductions)
      if (reduction->use_empty())
        reduction->erase();
  }

  /// Zero, as a partial sum.
  Value createZero(Operation *before, Value zero) const {
    OpBuilder builder(before);
    Operation *constant = builder.clone(*zero.getDefiningOp());
    constant->getResult(0).setType(withUnreduced(typeOf(zero), axes));
    return constant->getResult(0);
  }

private:
  bool agrees(ArrayRef<AxisRefAttr> others) {
    if (axes.empty())
      axes.assign(others.begin(), others.end());
    return ArrayRef(axes) == others;
  }

  /// The operands in which the operation is linear together, all others being as they are; none where it is not.
  SmallVector<unsigned> listTerms(Operation *op) const {
    if (isa<NegateOp, TransposeOp, ReshapeOp, SliceOp, ReverseOp, BroadcastInDimOp, DynamicSliceOp>(op))
      return {0};
    if (isa<AddOp, SubtractOp, DynamicUpdateSliceOp>(op))
      return {0, 1};
    if (isa<ScatterAddOp>(op))
      return {0, 2};
    if (isa<ConcatenateOp>(op))
      return llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
    if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getKind() == ReductionKind::sum)
      return {0};
    if (isa<MultiplyOp, DivideOp>(op)) { // By what is no partial sum.
      bool isLeft = mayBePartial(op->getOperand(0)), isRight = mayBePartial(op->getOperand(1));
      if (isLeft != isRight && (isLeft || isa<MultiplyOp>(op)))
        return {isLeft ? 0U : 1U};
    }
    if (auto convert = dyn_cast<ConvertOp>(op)) { // Sums in a narrower type would be others.
      auto from = dyn_cast<FloatType>(convert.getOperand().getType().getElementType());
      auto to = dyn_cast<FloatType>(convert.getType().getElementType());
      if (from && to && from.getWidth() <= to.getWidth())
        return {0};
    }
    return {};
  }

  /// Whether a cone may begin here: found upward through single uses.
  bool mayBePartial(Value value) const {
    while (true) {
      if (value == carry || getReduction(value))
        return true;
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != block || !unreducedOf(typeOf(value)).empty())
        return ops.contains(op);
      if (ops.contains(op))
        return true;
      if (isa<AddOp, SubtractOp>(op) && mayBePartial(op->getOperand(1)))
        return true;
      if (!isa<NegateOp, TransposeOp, ReshapeOp, SliceOp, ReverseOp, BroadcastInDimOp, DynamicSliceOp, DivideOp,
               ConvertOp, AddOp, SubtractOp>(op))
        return false;
      value = op->getOperand(0);
    }
  }

  Block *block;
  Value carry;
  SmallVector<AxisRefAttr> axes;
  llvm::SetVector<Operation *> ops; ///< In the order of their dependence.
  llvm::DenseMap<Operation *, SmallVector<unsigned>> termsOf;
  llvm::SetVector<Operation *> reductions;
  llvm::SetVector<Value> zeros;
};

class Deferrer {
public:
  Deferrer(const spmd::MeshShape &mesh, const CostModel &model) : mesh(mesh), planner(mesh, model), model(model) {}

  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<ManualOp>(op))
        continue;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
      if (auto loop = dyn_cast<ForOp>(op)) {
        for (unsigned index = 0; index < op.getNumResults(); ++index)
          visitCarry(loop, index);
      } else if (isa<AddOp, SubtractOp>(op) && !deferScattered(&op)) {
        visitSum(&op);
      }
    }
  }

private:
  double secondsOf(ArrayType from, ArrayType to) {
    return model.seconds(planner.plan(from, to).cost, mesh.deviceCount());
  }

  /// What reducing costs that the rewritten cone does not do any more.
  double savedSeconds(const Cone &cone) {
    double seconds = 0;
    for (Operation *reduction : cone.getReductions())
      if (llvm::all_of(reduction->getUsers(), [&](Operation *user) { return llvm::is_contained(cone.getOps(), user); }))
        seconds += secondsOf(typeOf(reduction->getOperand(0)), typeOf(reduction->getResult(0)));
    return seconds;
  }

  /// The value becomes the reduction of what it is now.
  static void reduceBehind(Value value, ArrayType type, const std::string &why) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto reshard = builder.create<ReshardOp>(value.getLoc(), type, value, builder.getStringAttr(why));
    value.replaceAllUsesExcept(reshard, reshard);
  }

  void visitSum(Operation *op) {
    Cone cone(op->getBlock());
    Value sum = op->getResult(0);
    ArrayType type = typeOf(sum);
    if (!cone.collect(sum) || cone.getReductions().size() < 2 || !cone.isClosed(op, nullptr))
      return;
    if (savedSeconds(cone) <= secondsOf(withUnreduced(type, cone.getAxes()), type))
      return;
    std::string why = cone.why("partial sums are added before they are reduced");
    cone.rewrite();
    reduceBehind(sum, type, why);
  }

  /// Two partial sums that are reduced and moved alike: their sum is.
  static bool deferScattered(Operation *op) {
    ReshardOp left = getReduction(op->getOperand(0)), right = getReduction(op->getOperand(1));
    if (!left || !right || left == right || movesNothing(left) || !left->hasOneUse() || !right->hasOneUse() ||
        left.getOperand().getType() != right.getOperand().getType())
      return false;
    Value sum = op->getResult(0);
    ArrayType type = typeOf(sum);
    std::string why = Cone::whyOf(left, "partial sums are added before they are reduced");
    op->setOperands({left.getOperand(), right.getOperand()});
    sum.setType(left.getOperand().getType());
    reduceBehind(sum, type, why);
    left.erase();
    right.erase();
    return true;
  }

  /// A carry that starts from zero and to which each iteration adds partial sums.
  void visitCarry(ForOp loop, unsigned index) {
    Block &body = loop.getBody().front();
    Operation *yield = body.getTerminator();
    Value argument = loop.getCarries()[index], next = yield->getOperand(index), result = loop.getOutputs()[index];
    Value init = loop.getInitials()[index];
    if (auto reshard = init.getDefiningOp<ReshardOp>())
      init = reshard.getOperand();
    Operation *last = next.getDefiningOp();
    ArrayType type = typeOf(result);
    auto isYieldedAgain = [&](OpOperand &other) { return other.get() == next && other.getOperandNumber() != index; };
    if (!isZero(init) || !last || llvm::any_of(yield->getOpOperands(), isYieldedAgain))
      return;
    Cone cone(&body, argument);
    if (!cone.collect(next) || cone.getReductions().empty() || !llvm::is_contained(cone.getOps(), last))
      return;
    bool isLastShared = llvm::any_of(
        last->getUsers(), [&](Operation *user) { return user != yield && !llvm::is_contained(cone.getOps(), user); });
    if (isLastShared || !cone.isClosed(last, yield))
      return;
    double trips = static_cast<double>(loop.getTripCount());
    if (trips * savedSeconds(cone) <= secondsOf(withUnreduced(type, cone.getAxes()), type))
      return;
    std::string why = cone.why("those of all iterations are added before they are reduced");
    Value zero = cone.createZero(loop, init);
    zero.setType(withUnreduced(type, cone.getAxes()));
    loop->setOperand(index, zero);
    argument.setType(zero.getType());
    cone.rewrite();
    result.setType(zero.getType());
    reduceBehind(result, type, why);
  }

  const spmd::MeshShape &mesh;
  ReshardPlanner planner;
  const CostModel &model;
};

class DeferReductionsPass : public impl::DeferReductionsBase<DeferReductionsPass> {
  void runOnOperation() override {
    spmd::MeshShape mesh = getMesh(getOperation()).toValue();
    CostModel model = CostModel::of(getOperation());
    Deferrer deferrer(mesh, model);
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody())
        deferrer.visit(block);
  }
};

} // namespace
} // namespace spmdc
