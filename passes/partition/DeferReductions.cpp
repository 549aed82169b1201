//===- DeferReductions.cpp - sums of partial sums, reduced once -----------===//
//
// A parameter that is used twice has a gradient that is the sum of two partial sums: devices add theirs, and reduce
// what comes out. What lies between partial sums and their sum has to be linear (a transpose, a scale, a slice), and so
// it has in a loop that adds to what it carries: then the carry is a partial sum in all iterations, reduced behind the
// loop. Where a slice or a sum along dimensions leaves less of partial sums, that is reduced: the mean of a product
// over a cut dimension sends one number.
//
// What is rewritten is a linear cone (LinearCone.h) as a whole.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/Location.h"
#include "passes/collective/ReshardPlanner.h"
#include "passes/partition/LinearCone.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DEFERREDUCTIONS
#include "passes/partition/Passes.h.inc"

namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

class Deferrer {
public:
  explicit Deferrer(ReshardPlanner &planner) : mesh(planner.getMesh()), planner(planner), model(planner.getModel()) {}

  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto manual = dyn_cast<ManualOp>(op); manual && !manual.hasAutomaticAxes())
        continue;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
      if (auto loop = dyn_cast<ForOp>(op)) {
        for (unsigned index = 0; index < op.getNumResults(); ++index)
          visitCarry(loop, index);
      } else if (isa<AddOp, SubtractOp, ReduceOp, SliceOp, DynamicSliceOp, AllReduceOp, ReduceScatterOp>(op)) {
        visitEnd(&op);
      }
    }
  }

private:
  double secondsOf(ArrayType from, ArrayType to) {
    return model.seconds(planner.plan(from, to).cost, mesh.deviceCount());
  }

  /// Of making a whole value a partial sum, less what bringing it to where it lies has taken.
  double secondsToPartial(Value value, ArrayType type) {
    ArrayType origin = typeOf(LinearCone::getOrigin(value));
    return secondsOf(origin, type) - secondsOf(origin, typeOf(value));
  }

  double allReduceSeconds(ArrayType type, ArrayRef<AxisRefAttr> axes) const {
    std::vector<std::string> names;
    int64_t group = 1;
    for (AxisRefAttr axis : axes) {
      names.push_back(axis.getName().str());
      group *= axis.toValue().sizeIn(mesh);
    }
    int64_t bytes = type.getLocal(MeshAttr::fromValue(type.getContext(), "", mesh)).getBytes();
    double sent = 2 * static_cast<double>(bytes * (group - 1) * (mesh.deviceCount() / group));
    return model.seconds(model.costOf("all_reduce", names, sent, 0), mesh.deviceCount());
  }

  /// What is gained where a cone is rewritten: reductions that are not done any more, less what its operations take
  /// longer for values of which devices hold more then.
  double savedSeconds(const LinearCone &cone) {
    double seconds = 0;
    for (Operation *reduction : cone.getReductions())
      if (llvm::all_of(reduction->getUsers(), [&](Operation *user) { return llvm::is_contained(cone.getOps(), user); }))
        seconds += secondsOf(typeOf(reduction->getOperand(0)), typeOf(reduction->getResult(0)));
    for (auto [value, type] : cone.listWholes())
      seconds -= secondsToPartial(value, type);
    MeshAttr meshAttr = MeshAttr::fromValue(cone.getOps().front()->getContext(), "", mesh);
    auto getGrowth = [&](Value value) {
      ArrayType partial = cone.getPartialType(value);
      return partial ? partial.getLocal(meshAttr).getBytes() - typeOf(value).getLocal(meshAttr).getBytes() : 0;
    };
    for (Operation *op : cone.getOps()) {
      int64_t grown = getGrowth(op->getResult(0));
      for (Value operand : op->getOperands())
        grown += getGrowth(operand);
      seconds -= static_cast<double>(grown) / model.memoryPerSecond;
    }
    return seconds;
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
    LinearCone cone(mesh, op->getBlock());
    Value end = op->getResult(0);
    ArrayType type = typeOf(end);
    if (!cone.collect(end) || cone.getReductions().empty() || !cone.isClosed(op, nullptr))
      return;
    // What brings the result elsewhere, or reduces a sum along cut dimensions, reduces all.
    auto behind = end.hasOneUse() ? dyn_cast<ReshardOp>(*end.user_begin()) : ReshardOp();
    if (behind && behind->getBlock() != op->getBlock())
      behind = {};
    if (!behind && !type.getShardingOrOpen().getUnreduced().empty())
      return;
    ArrayType wanted = behind ? behind.getType() : type;
    double saved = savedSeconds(cone) + (behind ? secondsOf(type, wanted) : 0);
    double seconds = secondsOf(cone.getPartialType(end), wanted);
    // A sum over other axes that a person wrote, and this one behind it, are one (spmdc-join-collectives).
    if (auto written = dyn_cast<AllReduceOp>(op); written && !behind) {
      SmallVector<AxisRefAttr> axes(written.getAxes().getAxes());
      saved += allReduceSeconds(type, axes);
      llvm::append_range(axes, cone.getPartialType(end).getSharding().getUnreduced());
      seconds = std::min(seconds + allReduceSeconds(type, written.getAxes().getAxes()), allReduceSeconds(type, axes));
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

  /// A carry to which each iteration adds partial sums.
  void visitCarry(ForOp loop, unsigned index) {
    Block &body = loop.getBody().front();
    Operation *yield = body.getTerminator();
    Value argument = loop.getCarries()[index], next = yield->getOperand(index), result = loop.getOutputs()[index];
    Operation *last = next.getDefiningOp();
    ArrayType type = typeOf(result);
    auto isYieldedAgain = [&](OpOperand &other) { return other.get() == next && other.getOperandNumber() != index; };
    if (!last || llvm::any_of(yield->getOpOperands(), isYieldedAgain))
      return;
    LinearCone cone(mesh, &body, argument);
    if (!cone.collect(next) || cone.getReductions().empty() || !llvm::is_contained(cone.getOps(), last))
      return;
    bool isLastShared = llvm::any_of(
        last->getUsers(), [&](Operation *user) { return user != yield && !llvm::is_contained(cone.getOps(), user); });
    if (isLastShared || !cone.isClosed(last, yield))
      return;
    ArrayType partial = cone.getPartialType(next);
    if (!cone.fitsCarry(partial))
      return;
    double trips = static_cast<double>(loop.getTripCount());
    Value init = loop.getInitials()[index];
    if (trips * savedSeconds(cone) <= secondsOf(partial, type) + secondsToPartial(init, partial))
      return;
    std::string why = cone.why("those of all iterations are added before they are reduced");
    loop->setOperand(index, LinearCone::createPartial(loop, init, partial));
    LinearCone::eraseUnused(init);
    argument.setType(partial);
    cone.rewrite();
    result.setType(partial);
    reduceBehind(result, result.getLoc(), type, why);
  }

  const spmd::MeshShape &mesh;
  ReshardPlanner &planner;
  const CostModel &model;
};

class DeferReductionsPass : public impl::DeferReductionsBase<DeferReductionsPass> {
  void runOnOperation() override {
    Deferrer deferrer(getAnalysis<ReshardPlanner>());
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody())
        deferrer.visit(block);
  }
};

} // namespace
} // namespace spmdc
