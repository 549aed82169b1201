//===- SinkReductions.cpp - moves reductions behind linear regions --------===//
//
// The gradient of a parameter that is used twice is the sum of two partial sums: each device adds its own two, and the
// result is reduced once. The operations between partial sums and their sum must be linear (a transpose, a scale, a
// slice). The same holds in a loop that adds to a carry: the carry is unreduced in all iterations, and is reduced
// behind the loop. A reduction also moves behind a slice or a sum along dimensions that leaves fewer elements: the mean
// of a product over a sharded dimension sends one number.
//
// The pass rewrites one linear region (LinearRegion.h) at a time.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "passes/reductions/LinearRegion.h"
#include "passes/reductions/Passes.h"
#include "passes/reductions/ReductionDiscount.h"
#include "passes/reshard/ReshardPlanner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SINKREDUCTIONS
#include "passes/reductions/Passes.h.inc"

namespace {

DebugTrace trace("sink-reductions", "not sunk");

class ReductionSinker {
public:
  ReductionSinker(ReshardPlanner &planner, bool growsCarries)
      : mesh(planner.getMesh()), planner(planner), model(planner.getModel()), growsCarries(growsCarries) {}

  /// Traces the reductions that are left in the function, and that no end of a linear region has been traced for.
  void traceLeft(func::FuncOp func) const {
    func.walk([&](ReshardOp reduction) {
      if (!isUnreduced(typeOf(reduction.getOperand())) || isUnreduced(reduction.getType()) ||
          traced.contains(reduction.getLoc()))
        return;
      Operation *user = findOtherUser(reduction.getResult());
      trace.skip(getSum(reduction),
                 reduction->hasOneUse() && user == *reduction->user_begin()
                     ? "the user of the partial sum is not linear ("
                     : "the partial sum has another user (",
                 user ? user->getName().stripDialect() : StringRef("none"), ")");
    });
  }

  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto manual = dyn_cast<ManualOp>(op); manual && !manual.hasAutomaticAxes())
        continue;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
      if (isa<LoopLikeOpInterface>(op)) {
        reduceInSlices(getBody(&op));
        for (unsigned index = 0; index < op.getNumResults(); ++index)
          visitCarry(&op, index);
      } else if (isa<AddOp, SubtractOp, ReduceOp, SliceOp, DynamicSliceOp, ScatterAddOp, ScatterAddAlongOp, AllReduceOp,
                     ReduceScatterOp>(op)) {
        visitEnd(&op);
      } else if (auto entry = dyn_cast<ReshardOp>(op); entry && isUnreduced(entry.getType())) {
        // The reshard makes a value unreduced again that may just have been reduced: try to remove that reduction.
        if (Operation *end = entry.getOperand().getDefiningOp(); end && end->getBlock() == &block)
          visitEnd(end);
      }
    }
  }

private:
  /// The operation whose result is the partial sum, or the reduction if that is an argument.
  static Operation *getSum(Operation *reduction) {
    Operation *op = reduction->getOperand(0).getDefiningOp();
    return op ? op : reduction;
  }

  /// The first operation behind the value that is not linear in it; null if there is none.
  static Operation *findOtherUser(Value value) {
    for (Operation *user : value.getUsers()) {
      bool isLinear =
          user->getNumResults() == 1 && !listLinear(user, [&](Value operand) { return operand == value; }).empty();
      Operation *other = isLinear ? findOtherUser(user->getResult(0)) : user;
      if (other)
        return other;
    }
    return nullptr;
  }

  /// Traces that the reductions of a region are not sunk behind `end`, and why.
  template <typename... Parts> void skip(const LinearRegion &region, Operation *end, const Parts &...reason) {
    if (!trace.isOn() || region.getReductions().empty())
      return;
    for (Operation *reduction : region.getReductions())
      traced.insert(reduction->getLoc());
    trace.skip(getSum(region.getReductions().front()), reason..., "; behind ", end);
  }
  void skipObstacle(const LinearRegion &region, Operation *end) {
    const LinearRegion::Obstacle &obstacle = region.getObstacle();
    if (obstacle.op)
      skip(region, end, obstacle.reason, " (", obstacle.op, ")");
    else
      skip(region, end, obstacle.reason);
  }

  double secondsOf(ArrayType from, ArrayType to) {
    return model.seconds(planner.plan(from, to).cost, mesh.deviceCount());
  }

  /// Seconds to make a reduced value a partial sum, less the seconds of the reshard that this saves.
  double secondsToPartial(Value value, ArrayType type) {
    ArrayType origin = typeOf(LinearRegion::getOrigin(value));
    return secondsOf(origin, type) - secondsOf(origin, typeOf(value));
  }

  double allReduceSeconds(ArrayType type, ArrayRef<AxisRefAttr> axes) const {
    std::vector<std::string> names;
    int64_t group = 1;
    for (AxisRefAttr axis : axes) {
      names.push_back(axis.getName().str());
      group *= axis.toValue().sizeIn(mesh);
    }
    int64_t bytes = type.getLocalBytes(mesh);
    double sent = 2 * static_cast<double>(bytes * (group - 1) * (mesh.deviceCount() / group));
    return model.seconds(model.costOf("all_reduce", names, sent, 0), mesh.deviceCount());
  }

  /// Seconds that rewriting a region saves: its reductions and entries, less new reshards, and less the additional
  /// memory traffic of operations whose local arrays become larger.
  double savedSeconds(const LinearRegion &region, Operation *end = nullptr) {
    double seconds = 0;
    for (Operation *reduction : region.getReductions())
      if (region.isUsedInside(reduction->getResult(0), end))
        seconds += region.getShare(reduction->getBlock()) *
                   secondsOf(typeOf(reduction->getOperand(0)), typeOf(reduction->getResult(0)));
    for (Operation *entry : region.getEntries())
      seconds +=
          region.getShare(entry->getBlock()) * secondsOf(typeOf(entry->getOperand(0)), typeOf(entry->getResult(0)));
    for (const auto &[value, block, type] : region.listReplicatedTerms())
      seconds -= region.getShare(block) * secondsToPartial(value, type);
    for (const auto &[block, move] : region.listRematReshards())
      seconds -= region.getShare(block) * secondsOf(move.from, move.to);
    for (const auto &[value, ifBranch] : region.getEscapes())
      seconds -= region.getShare(ifBranch) * secondsOf(region.getPartialType(value), typeOf(value));
    for (Operation *op : region.getOps())
      seconds -= region.getShare(op->getBlock()) * static_cast<double>(getGrowth(region, op)) / model.memoryPerSecond;
    return seconds;
  }

  /// The bytes of memory that an operation of the region reads and writes more than before.
  int64_t getGrowth(const LinearRegion &region, Operation *op) const {
    if (isa<IfOp>(op)) // The values that branches yield are already materialized.
      return 0;
    auto growthOf = [&](Value value) {
      ArrayType partial = region.getPartialType(value);
      return partial ? partial.getLocalBytes(mesh) - typeOf(value).getLocalBytes(mesh) : 0;
    };
    // A value between two operations of the region is not materialized, since they are fused; but a product is.
    auto isInMemory = [&](Value value) {
      Operation *definingOp = value.getDefiningOp();
      bool isForOther = value.hasOneUse() && llvm::is_contained(region.getOps(), definingOp) &&
                        llvm::is_contained(region.getOps(), *value.user_begin());
      return !isForOther || findProduct(region, definingOp);
    };
    auto readGrowthOf = [&](Value value) { return isInMemory(value) ? growthOf(value) : 0; };
    if (std::optional<unsigned> update = getUpdateOperandNumber(op)) // The update is written in place.
      return 2 * readGrowthOf(op->getOperand(*update));
    // The product's kernel writes the sum instead of the product, so neither is read or written by another kernel.
    OpOperand *product = findProduct(region, op);
    Value result = region.getValue(op);
    int64_t grown = product ? -typeOf(result).getLocalBytes(mesh) : readGrowthOf(result);
    for (OpOperand *term : region.getTerms(op))
      grown += term == product ? -typeOf(term->get()).getLocalBytes(mesh) : readGrowthOf(term->get());
    // A saved kernel alone is no reason to move a reduction.
    return std::max<int64_t>(grown, 0);
  }

  /// The term of an addition that is the reduction of a product, else null: without the reduction in between, the
  /// product's kernel adds the other term.
  static OpOperand *findProduct(const LinearRegion &region, Operation *op) {
    if (!isa<AddOp, SubtractOp>(op))
      return nullptr;
    for (OpOperand *term : region.getTerms(op)) {
      Operation *reduction = term->get().getDefiningOp();
      if (reduction && llvm::is_contained(region.getReductions(), reduction) && reduction->hasOneUse() &&
          reduction->getOperand(0).hasOneUse() && reduction->getOperand(0).getDefiningOp<DotGeneralOp>())
        return term;
    }
    return nullptr;
  }

  /// Reduces a value behind its definition, and replaces its uses by the reduced value of this type.
  static void reduceBehind(Value value, Location loc, ArrayType type, const std::string &why) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto reshard = builder.create<ReshardOp>(loc, type, value, builder.getStringAttr(why));
    value.replaceAllUsesExcept(reshard, reshard);
  }

  /// Rewrites the linear region that ends in an operation that adds partial sums or leaves fewer elements, if it saves
  /// time.
  void visitEnd(Operation *op) {
    LinearRegion region(mesh, runs, op->getBlock());
    Value end = op->getResult(0);
    ArrayType type = typeOf(end);
    if (!region.collect(end) || region.getReductions().empty() || !region.isClosed())
      return skipObstacle(region, op);
    // A reshard of the result, or the reduction of a sum along sharded dimensions, can reduce the whole region.
    auto behind = end.hasOneUse() ? dyn_cast<ReshardOp>(*end.user_begin()) : ReshardOp();
    if (behind && behind->getBlock() != op->getBlock())
      behind = {};
    if (!behind && isUnreduced(type))
      return skip(region, op, "no reduction follows the sum");
    ArrayType wanted = behind ? behind.getType() : type;
    double saved = savedSeconds(region) + (behind ? secondsOf(type, wanted) : 0);
    double seconds = secondsOf(region.getPartialType(end), wanted);
    // An all_reduce of the user over other axes, and the reduction behind it, become one (spmdc-fold-collectives).
    if (auto written = dyn_cast<AllReduceOp>(op); written && !behind) {
      SmallVector<AxisRefAttr> axes(written.getAxes().getAxes());
      saved += allReduceSeconds(type, axes);
      ArrayType partial = region.getPartialType(end);
      double apart = seconds + allReduceSeconds(partial, axes);
      llvm::append_range(axes, partial.getSharding().getUnreduced());
      seconds = std::min(apart, allReduceSeconds(partial, axes));
    }
    if (saved <= seconds)
      return skip(region, op, "that saves ", asTime(saved), " and takes ", asTime(seconds));
    bool isOne = region.getReductions().size() == 1;
    std::string why = region.why(isOne ? "only the remaining elements are reduced"
                                       : "partial sums are added before they are reduced");
    // The collective keeps the source line of the partial sums; the annotation of the result stays where it was.
    Location loc = isOne ? region.getReductions().front()->getLoc() : end.getLoc();
    std::optional<Location> annotation = getAnnotationRange(behind ? behind->getLoc() : end.getLoc());
    loc = annotation ? getAnnotatedLoc(getUnannotatedLoc(loc), *annotation) : getUnannotatedLoc(loc);
    region.rewrite();
    if (!behind)
      return reduceBehind(end, loc, type, why);
    behind.setWhyAttr(StringAttr::get(op->getContext(), why));
    behind->setLoc(loc);
  }

  static Block &getBody(Operation *loop) { return loop->getRegions().back().front(); }
  static BlockArgument getCarry(Operation *loop, unsigned index) {
    return getBody(loop).getArgument(index + (isa<ForOp>(loop) ? 1 : 0));
  }
  /// If stacked partial sums are only read in slices (the gradients of a list of layers), reduces the slices instead,
  /// because they may be added to different carries. spmdc-combine-collectives combines those that are not.
  static void reduceInSlices(Block &body) {
    for (Operation &op : llvm::make_early_inc_range(body)) {
      auto reduction = dyn_cast<ReshardOp>(op);
      if (!reduction || !isUnreduced(typeOf(reduction.getOperand())) || isUnreduced(reduction.getType()) ||
          !isInSlices(reduction))
        continue;
      ArrayType partial = typeOf(reduction.getOperand());
      for (Operation *slice : llvm::make_early_inc_range(reduction->getUsers())) {
        Value part = slice->getResult(0);
        ArrayType type = typeOf(part);
        slice->setOperand(0, reduction.getOperand());
        part.setType(type.withSharding(partial.getSharding()).withElementType(partial.getElementType()));
        OpBuilder builder(slice->getContext());
        builder.setInsertionPointAfter(slice);
        auto reduced = builder.create<ReshardOp>(slice->getLoc(), type, part, reduction.getWhyAttr());
        part.replaceAllUsesExcept(reduced, reduced);
      }
      reduction.erase();
    }
  }

  /// Whether all uses are slices, with at most as many elements in total, along dimensions that are not sharded before
  /// or behind the reduction.
  static bool isInSlices(ReshardOp reduction) {
    int64_t elements = 0;
    for (Operation *user : reduction->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || slice->getBlock() != reduction->getBlock())
        return false;
      for (int64_t dim = 0; dim < slice.getType().getRank(); ++dim)
        if (slice.getType().getDimSize(dim) != reduction.getType().getDimSize(dim))
          for (ArrayType type : {typeOf(reduction.getOperand()), reduction.getType()})
            if (!type.getShardingOrOpen().getDims()[dim].getAxes().empty())
              return false;
      elements += slice.getType().getNumElements();
    }
    return !reduction->hasOneUse() && elements > 0 && elements <= reduction.getType().getNumElements();
  }

  /// Makes a carry unreduced, if each iteration adds partial sums to it and that saves time.
  void visitCarry(Operation *loop, unsigned index) {
    Operation *yield = getBody(loop).getTerminator();
    Value argument = getCarry(loop, index), next = yield->getOperand(index);
    Operation *last = next.getDefiningOp();
    auto isYieldedAgain = [&](OpOperand &other) { return other.get() == next && other.getOperandNumber() != index; };
    bool isLookedAt = isa<WhileOp>(loop) && !loop->getRegion(0).getArgument(index).use_empty();
    if (!last || isLookedAt || llvm::any_of(yield->getOpOperands(), isYieldedAgain))
      return;
    LinearRegion region(mesh, runs, &getBody(loop), argument);
    if (!region.collect(next) || region.getReductions().empty() || !region.isClosed(yield))
      return skipObstacle(region, loop);
    ArrayType partial = region.getPartialType(next);
    if (!isWorthIt(loop, index, partial, savedSeconds(region, yield)))
      return skip(region, loop, "an unreduced carry takes more time or memory");
    std::string why =
        region.why(argument.use_empty() ? "only the partial sum of the last iteration is reduced"
                                        : "the partial sums of all iterations are added before they are reduced");
    region.rewrite(yield);
    makeCarryPartial(loop, index, partial, why);
  }

  /// Whether all iterations save more than it takes once to make the initial value a partial sum and reduce the result.
  /// The reduction may move behind outer loops as well, which its discount takes into account.
  bool isWorthIt(Operation *loop, unsigned index, ArrayType partial, double saved) {
    if (!growsCarries && partial.getLocalBytes(mesh) > typeOf(loop->getResult(index)).getLocalBytes(mesh))
      return false;
    double share = getReductionDiscount(loop, index).of(partial, {});
    double once =
        share * secondsOf(partial, typeOf(loop->getResult(index))) + secondsToPartial(loop->getOperand(index), partial);
    return estimateIterations(loop) * saved > once;
  }

  /// Makes the carry and the loop's result unreduced, and reduces the result behind the loop.
  static void makeCarryPartial(Operation *loop, unsigned index, ArrayType partial, const std::string &why) {
    Value init = loop->getOperand(index), result = loop->getResult(index);
    ArrayType type = typeOf(result);
    loop->setOperand(index, LinearRegion::createPartial(loop, init, partial));
    LinearRegion::eraseUnused(init);
    if (isa<WhileOp>(loop))
      loop->getRegion(0).getArgument(index).setType(partial);
    getCarry(loop, index).setType(partial);
    result.setType(partial);
    reduceBehind(result, result.getLoc(), type, why);
  }

  const spmd::MeshShape &mesh;
  ReshardPlanner &planner;
  const CostModel &model;
  bool growsCarries;
  RunCounts runs;
  llvm::DenseSet<Location> traced; ///< The reductions of traced regions.
};

class SinkReductionsPass : public impl::SinkReductionsBase<SinkReductionsPass> {
public:
  using SinkReductionsBase::SinkReductionsBase;

private:
  void runOnOperation() override {
    ReductionSinker sinker(getAnalysis<ReshardPlanner>(), growCarries);
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      for (Block &block : func.getBody())
        sinker.visit(block);
      func.walk([](ReshardOp reshard) {
        if (reshard.getOperand().getType() != reshard.getType())
          return;
        reshard.replaceAllUsesWith(reshard.getOperand());
        reshard.erase();
      });
      if (trace.isOn())
        sinker.traceLeft(func);
    }
  }
};

} // namespace
} // namespace spmdc
