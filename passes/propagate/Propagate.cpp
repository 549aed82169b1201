//===- Propagate.cpp - spmdc-propagate: gives every array a sharding ------===//
//
// Reads a function into a PropagationState, runs the Propagator, and writes the shardings to the types.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/SpmdOps.h"
#include "ir/spmd/ValueNames.h"
#include "passes/propagate/AxisProvenance.h"
#include "passes/propagate/Passes.h"
#include "passes/propagate/Propagator.h"
#include "passes/propagate/Remarks.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_PROPAGATEPASS
#include "passes/propagate/Passes.h.inc"

namespace {

DebugTrace trace("propagate");

/// Tags the operation that computes a value, or the loop whose carry it is, as annotated by the user.
void markAnnotated(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value))
    op = argument.getOwner()->getParentOp();
  if (!isa<func::FuncOp>(op))
    op->setAttr(kAnnotatedAttrName, UnitAttr::get(op->getContext()));
}

/// Writes the shardings to the types of all values and to the function's own.
void writeTypes(func::FuncOp func, const PropagationState &state) {
  auto write = [&](Value value) {
    auto type = dyn_cast<ArrayType>(value.getType());
    if (!type)
      return;
    if (type.getSharding() && !value.getDefiningOp<ConstraintOp>())
      markAnnotated(value);
    value.setType(type.withSharding(state.getFinalSharding(value)));
  };
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), write);
    if (auto manual = dyn_cast<ManualOp>(op); manual && !manual.hasAutomaticAxes())
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      llvm::for_each(region.getArguments(), write);
    return WalkResult::advance();
  });
  Operation *terminator = func.getBody().front().getTerminator();
  func.setType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(), terminator->getOperandTypes()));
}

/// The value from which a constraint's reshard starts. If the operand is itself the reshard of an earlier constraint,
/// this is the operand of that reshard, provided that nothing else needs the sharding between, or that its type is
/// already the wanted one. One reshard sends no more than two in sequence; if the sharding between is materialized
/// anyway, it is among the available shardings (passes/strategy/AvailableShardings.h).
Value findSource(ConstraintOp constraint) {
  auto reshard = constraint.getOperand().getDefiningOp<ReshardOp>();
  bool isNeeded = !reshard || (!reshard->hasOneUse() && reshard.getOperand().getType() != constraint.getType());
  return isNeeded ? constraint.getOperand() : reshard.getOperand();
}

/// Whether the only use of a constraint is another constraint. Then the sharding search may give the value another
/// sharding if that sends less (passes/assign/ChooseShardings.cpp).
bool isBetweenConstraints(ConstraintOp constraint) {
  return constraint->hasOneUse() && isa<ConstraintOp>(*constraint->user_begin());
}

/// Replaces each constraint with its operand, which takes over its names, if the operand has its sharding; otherwise
/// with a reshard. A constraint on the result of a loop always becomes a reshard: the annotated sharding of the result
/// need not be the best one for the iterations.
void replaceConstraints(func::FuncOp func) {
  func.walk([](ConstraintOp constraint) {
    Value operand = findSource(constraint), between = constraint.getOperand();
    OpBuilder builder(constraint);
    if (operand.getType() == constraint.getType() && !isa_and_nonnull<ForOp, WhileOp>(operand.getDefiningOp())) {
      if (!constraint.getDerived() && !isBetweenConstraints(constraint))
        markAnnotated(operand);
      Operation *producer = operand.getDefiningOp();
      moveValueNames(constraint, operand);
      if (std::optional<Location> mark = getAnnotationRange(constraint.getLoc()); producer && mark)
        producer->setLoc(getAnnotatedLoc(producer->getLoc(), *mark));
      constraint.replaceAllUsesWith(operand);
    } else {
      auto why = builder.getStringAttr("the annotation asks for " + constraint.getType().str());
      constraint.replaceAllUsesWith(
          builder.create<ReshardOp>(constraint.getLoc(), constraint.getType(), operand, why).getResult());
    }
    constraint.erase();
    if (between != operand && between.use_empty())
      between.getDefiningOp()->erase();
  });
}

class PropagatePass : public impl::PropagatePassBase<PropagatePass> {
public:
  using PropagatePassBase::PropagatePassBase;
  PropagatePass(const PropagatePassOptions &options, PropagationLog *log) : PropagatePassBase(options), log(log) {}

  void runOnOperation() override {
    MeshAxes mesh(getMesh(getOperation()));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(propagate(func, mesh)))
        signalPassFailure();
  }

private:
  /// Traces the arrays to which axes were not propagated: the same texts as the remarks.
  static void traceDisagreements(RemarkEmitter &emitter, MLIRContext *context) {
    ScopedDiagnosticHandler toTrace(context, [](Diagnostic &remark) {
      trace.noteAt(remark.getLocation(), remark.str());
      return success();
    });
    emitter.reportDisagreements();
  }

  LogicalResult propagate(func::FuncOp func, const MeshAxes &mesh) {
    FailureOr<PropagationState> state = PropagationState::create(func, mesh);
    if (failed(state))
      return failure();
    RemarkEmitter remarkEmitter(*state);
    ProvenanceRecorder recorder(*state, log, remarks ? &remarkEmitter : nullptr);
    Propagator(*state, strategy,
               log       ? static_cast<PropagationObserver *>(&recorder)
               : remarks ? &remarkEmitter
                         : nullptr)
        .run();
    if (remarks)
      remarkEmitter.reportDisagreements();
    if (trace.isOn())
      traceDisagreements(remarkEmitter, func.getContext());
    if (log)
      recorder.finish();
    writeTypes(func, *state);
    replaceConstraints(func);
    func.walk([](ShardingGroupOp group) {
      markAnnotated(group.getOperand());
      group.erase();
    });
    return success();
  }

  PropagationLog *log = nullptr;
};

} // namespace

std::unique_ptr<Pass> createPropagatePass(const PropagatePassOptions &options, PropagationLog *log) {
  return std::make_unique<PropagatePass>(options, log);
}

} // namespace spmdc
