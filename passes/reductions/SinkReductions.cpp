//===- SinkReductions.cpp - sums of partial sums, reduced once -----------===//
//
// A parameter that is used twice has a gradient that is the sum of two partial sums: devices add theirs, and reduce
// what comes out. What lies between partial sums and their sum has to be linear (a transpose, a scale, a slice), and so
// it has in a loop that adds to what it carries: then the carry is a partial sum in all iterations, reduced behind the
// loop. Where a slice or a sum along dimensions leaves less of partial sums, that is reduced: the mean of a product
// over a cut dimension sends one number.
//
// What is rewritten is a linear cone (LinearRegion.h) as a whole.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/Location.h"
#include "passes/reductions/LinearRegion.h"
#include "passes/reductions/Passes.h"
#include "passes/reductions/ReductionDiscount.h"
#include "passes/reshard/ReshardPlanner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DEFERREDUCTIONS
#include "passes/reductions/Passes.h.inc"

namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

bool isPartial(ArrayType type) { return !type.getShardingOrOpen().getUnreduced().empty(); }

class Deferrer {
public:
  Deferrer(ReshardPlanner &planner, bool growsCarries)
      : mesh(planner.getMesh()), planner(planner), model(planner.getModel()), growsCarries(growsCarries) {}

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
      } else if (auto entry = dyn_cast<ReshardOp>(op); entry && isPartial(entry.getType())) {
        // What partial sums are added to may have been reduced for nothing.
        if (Operation *end = entry.getOperand().getDefiningOp(); end && end->getBlock() == &block)
          visitEnd(end);
      }
    }
  }

private:
  double secondsOf(ArrayType from, ArrayType to) {
    return model.seconds(planner.plan(from, to).cost, mesh.deviceCount());
  }

  /// Of making a whole value a partial sum, less what bringing it to where it lies has taken.
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

  /// What is gained where a cone is rewritten: reductions that are not done any more, less what its operations take
  /// longer for values of which devices hold more then.
  double savedSeconds(const LinearRegion &cone, Operation *end = nullptr) {
    double seconds = 0;
    for (Operation *reduction : cone.getReductions())
      if (cone.isUsedInside(reduction->getResult(0), end))
        seconds += cone.getShare(reduction->getBlock()) *
                   secondsOf(typeOf(reduction->getOperand(0)), typeOf(reduction->getResult(0)));
    for (Operation *entry : cone.getEntries())
      seconds +=
          cone.getShare(entry->getBlock()) * secondsOf(typeOf(entry->getOperand(0)), typeOf(entry->getResult(0)));
    for (const auto &[value, block, type] : cone.listWholes())
      seconds -= cone.getShare(block) * secondsToPartial(value, type);
    for (const auto &[block, move] : cone.listRemakes())
      seconds -= cone.getShare(block) * secondsOf(move.from, move.to);
    for (const auto &[value, arm] : cone.getEscapes())
      seconds -= cone.getShare(arm) * secondsOf(cone.getPartialType(value), typeOf(value));
    for (Operation *op : cone.getOps())
      seconds -= cone.getShare(op->getBlock()) * static_cast<double>(getGrowth(cone, op)) / model.memoryPerSecond;
    return seconds;
  }

  /// How many bytes of memory an operation of the cone touches more.
  int64_t getGrowth(const LinearRegion &cone, Operation *op) const {
    if (isa<IfOp>(op)) // What arms yield is there already.
      return 0;
    auto growthOf = [&](Value value) {
      ArrayType partial = cone.getPartialType(value);
      return partial ? partial.getLocalBytes(mesh) - typeOf(value).getLocalBytes(mesh) : 0;
    };
    // What one operation makes for another is in no memory: they become one kernel, but a product has its own.
    auto isInMemory = [&](Value value) {
      Operation *maker = value.getDefiningOp();
      bool isForOther = value.hasOneUse() && llvm::is_contained(cone.getOps(), maker) &&
                        llvm::is_contained(cone.getOps(), *value.user_begin());
      return !isForOther || findProduct(cone, maker);
    };
    auto readGrowthOf = [&](Value value) { return isInMemory(value) ? growthOf(value) : 0; };
    if (std::optional<unsigned> update = getUpdateOperandNumber(op)) // In place.
      return 2 * readGrowthOf(op->getOperand(*update));
    // The product writes the sum in place of itself: then neither the one nor the other is touched.
    OpOperand *product = findProduct(cone, op);
    Value result = cone.getValue(op);
    int64_t grown = product ? -typeOf(result).getLocalBytes(mesh) : readGrowthOf(result);
    for (OpOperand *term : cone.getTerms(op))
      grown += term == product ? -typeOf(term->get()).getLocalBytes(mesh) : readGrowthOf(term->get());
    // What a kernel less would save alone is no reason to reduce elsewhere.
    return std::max<int64_t>(grown, 0);
  }

  /// A term that is the reduction of a product: once nothing lies between them, the product's kernel adds the other
  /// term.
  static OpOperand *findProduct(const LinearRegion &cone, Operation *op) {
    if (!isa<AddOp, SubtractOp>(op))
      return nullptr;
    for (OpOperand *term : cone.getTerms(op)) {
      Operation *reduction = term->get().getDefiningOp();
      if (reduction && llvm::is_contained(cone.getReductions(), reduction) && reduction->hasOneUse() &&
          reduction->getOperand(0).hasOneUse() && reduction->getOperand(0).getDefiningOp<DotGeneralOp>())
        return term;
    }
    return nullptr;
  }

  /// The value becomes the reduction of what it is now.
  static void reduceBehind(Value value, Location loc, ArrayType type, const std::string &why) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto reshard = builder.create<ReshardOp>(loc, type, value, builder.getStringAttr(why));
    value.replaceAllUsesExcept(reshard, reshard);
  }

  /// An operation that adds partial sums, or leaves less of them.
  void visitEnd(Operation *op) {
    LinearRegion cone(mesh, runs, op->getBlock());
    Value end = op->getResult(0);
    ArrayType type = typeOf(end);
    if (!cone.collect(end) || cone.getReductions().empty() || !cone.isClosed())
      return;
    // What brings the result elsewhere, or reduces a sum along cut dimensions, reduces all.
    auto behind = end.hasOneUse() ? dyn_cast<ReshardOp>(*end.user_begin()) : ReshardOp();
    if (behind && behind->getBlock() != op->getBlock())
      behind = {};
    if (!behind && isPartial(type))
      return;
    ArrayType wanted = behind ? behind.getType() : type;
    double saved = savedSeconds(cone) + (behind ? secondsOf(type, wanted) : 0);
    double seconds = secondsOf(cone.getPartialType(end), wanted);
    // A sum over other axes that a person wrote, and this one behind it, are one (spmdc-fold-collectives).
    if (auto written = dyn_cast<AllReduceOp>(op); written && !behind) {
      SmallVector<AxisRefAttr> axes(written.getAxes().getAxes());
      saved += allReduceSeconds(type, axes);
      ArrayType partial = cone.getPartialType(end);
      double apart = seconds + allReduceSeconds(partial, axes);
      llvm::append_range(axes, partial.getSharding().getUnreduced());
      seconds = std::min(apart, allReduceSeconds(partial, axes));
    }
    if (saved <= seconds)
      return;
    bool isOne = cone.getReductions().size() == 1;
    std::string why =
        cone.why(isOne ? "what is left of it is reduced" : "partial sums are added before they are reduced");
    // It stays the collective of the line where the partial sums come from, and how its result lies is written where it
    // was.
    Location loc = isOne ? cone.getReductions().front()->getLoc() : end.getLoc();
    std::optional<Location> mark = getMark(behind ? behind->getLoc() : end.getLoc());
    loc = mark ? getMarkedLoc(getUnmarkedLoc(loc), *mark) : getUnmarkedLoc(loc);
    cone.rewrite();
    if (!behind)
      return reduceBehind(end, loc, type, why);
    behind.setWhyAttr(StringAttr::get(op->getContext(), why));
    behind->setLoc(loc);
  }

  static Block &getBody(Operation *loop) { return loop->getRegions().back().front(); }
  static BlockArgument getCarry(Operation *loop, unsigned index) {
    return getBody(loop).getArgument(index + (isa<ForOp>(loop) ? 1 : 0));
  }
  /// Of stacked partial sums that are only looked at in slices (the gradients of a list of layers), the slices are
  /// reduced: they may be added to different carries. Those that are not come together again
  /// (spmdc-combine-collectives).
  static void reduceInSlices(Block &body) {
    for (Operation &op : llvm::make_early_inc_range(body)) {
      auto reduction = dyn_cast<ReshardOp>(op);
      if (!reduction || !isPartial(typeOf(reduction.getOperand())) || isPartial(reduction.getType()) ||
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

  /// Whether all uses are slices that together have no more elements, along dimensions that no axis cuts, before the
  /// reduction or behind.
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

  /// A carry to which each iteration adds partial sums.
  void visitCarry(Operation *loop, unsigned index) {
    Operation *yield = getBody(loop).getTerminator();
    Value argument = getCarry(loop, index), next = yield->getOperand(index);
    Operation *last = next.getDefiningOp();
    auto isYieldedAgain = [&](OpOperand &other) { return other.get() == next && other.getOperandNumber() != index; };
    bool isLookedAt = isa<WhileOp>(loop) && !loop->getRegion(0).getArgument(index).use_empty();
    if (!last || isLookedAt || llvm::any_of(yield->getOpOperands(), isYieldedAgain))
      return;
    LinearRegion cone(mesh, runs, &getBody(loop), argument);
    if (!cone.collect(next) || cone.getReductions().empty() || !cone.isClosed(yield))
      return;
    ArrayType partial = cone.getPartialType(next);
    if (!isWorthIt(loop, index, partial, savedSeconds(cone, yield)))
      return;
    std::string why = cone.why(argument.use_empty() ? "that of the last iteration is reduced"
                                                    : "those of all iterations are added before they are reduced");
    cone.rewrite(yield);
    makeCarryPartial(loop, index, partial, why);
  }

  /// Whether what each iteration saves is more than making and reducing the partial sum once; of which loops around
  /// this one may leave less, in the same way.
  bool isWorthIt(Operation *loop, unsigned index, ArrayType partial, double saved) {
    if (!growsCarries && partial.getLocalBytes(mesh) > typeOf(loop->getResult(index)).getLocalBytes(mesh))
      return false;
    double share = getReductionDiscount(loop, index).of(partial, {});
    double once =
        share * secondsOf(partial, typeOf(loop->getResult(index))) + secondsToPartial(loop->getOperand(index), partial);
    return getTrips(loop) * saved > once;
  }

  /// The carry and the loop's result become partial sums, which are reduced behind the loop.
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
};

class SinkReductionsPass : public impl::SinkReductionsBase<SinkReductionsPass> {
public:
  using SinkReductionsBase::SinkReductionsBase;

private:
  void runOnOperation() override {
    Deferrer deferrer(getAnalysis<ReshardPlanner>(), growCarries);
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      for (Block &block : func.getBody())
        deferrer.visit(block);
      func.walk([](ReshardOp reshard) {
        if (reshard.getOperand().getType() != reshard.getType())
          return;
        reshard.replaceAllUsesWith(reshard.getOperand());
        reshard.erase();
      });
    }
  }
};

} // namespace
} // namespace spmdc
