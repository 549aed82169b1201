//===- Partitioning.cpp - the partitioning passes, and a trial run of them ===//

#include "passes/partition/Partitioning.h"

#include "ir/spmd/DebugTrace.h"
#include "passes/collectives/Passes.h"
#include "passes/cost/CountedBranches.h"
#include "passes/partition/Passes.h"
#include "passes/reductions/Passes.h"
#include "passes/strategy/ComputeTime.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace spmdc {

void addPartitioning(OpPassManager &passes, const PartitioningOptions &options) {
  passes.addPass(createInsertReshards(options.memo));
  passes.addPass(createHoistSlices());
  SinkReductionsOptions sinkOptions;
  sinkOptions.growCarries = options.growsCarries;
  passes.addPass(createSinkReductions(sinkOptions));
  passes.addPass(createWarnReplication());
  passes.addPass(createAlignCollectives());
  passes.addPass(createPartition());
  passes.addPass(createAccumulateHalos());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Moves loop-invariant operations, above all collectives, in front of their loop.
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createCSEPass());
  passes.addPass(createDropBarriers());
  passes.addPass(createFoldCollectives());
  RematerializeGathersOptions rematerialize;
  rematerialize.freeBytes = options.bytesToFree;
  passes.addPass(createRematerializeGathers(rematerialize));
}

void reconcileReturns(func::FuncOp func) {
  func.walk([](func::ReturnOp op) {
    OpBuilder builder(op);
    for (auto [index, expected] : llvm::enumerate(op->getParentOfType<func::FuncOp>().getResultTypes())) {
      Value value = op.getOperand(index);
      auto from = dyn_cast<ArrayType>(value.getType()), to = dyn_cast<ArrayType>(expected);
      if (!from || !to || from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
        continue;
      std::string why = ("result " + Twine(index) + " is " + to.str() + "; the value is " + from.str()).str();
      op.setOperand(index, builder.create<ReshardOp>(value.getLoc(), to, value, builder.getStringAttr(why)));
    }
  });
}

namespace {

/// Seconds of a local operation, from its types alone.
double computeSeconds(ShardingRuleOpInterface op, const spmd::MeshShape &mesh, const CostModel &model) {
  ShardingRule rule = op.getShardingRule();
  Strategy strategy;
  strategy.axes.resize(rule.factors.size());
  for (Value operand : op->getOperands())
    strategy.operands.push_back(cast<ArrayType>(operand.getType()));
  strategy.result = cast<ArrayType>(op->getResult(0).getType());
  return ComputeTime(mesh, model, op, rule).of(strategy);
}

} // namespace

std::optional<Price> priceOfPartitioned(func::FuncOp func, const spmd::MeshShape &mesh, const CostModel &model,
                                        StrategyMemo &memo) {
  OwningOpRef<ModuleOp> trial = ModuleOp::create(func.getLoc());
  trial.get()->setAttrs(func->getParentOp()->getAttrDictionary());
  func::FuncOp copy = func.clone();
  trial->push_back(copy);
  copy.walk([](Operation *op) { op->removeAttr(kAnnotatedAttrName); });
  reconcileReturns(copy);
  ScopedDiagnosticHandler silent(func.getContext(), [](Diagnostic &) { return success(); });
  DebugTrace::Pause onTrial;
  PassManager passes(func.getContext());
  passes.enableVerifier(false); // The program that is kept is partitioned again, with the verifier.
  addPartitioning(passes, {.memo = &memo});
  if (failed(passes.run(*trial)))
    return std::nullopt;
  MeshAttr meshAttr = MeshAttr::fromValue(func.getContext(), "", mesh);
  CountedBranches branches(copy, meshAttr);
  Price price;
  copy.walk([&](Operation *op) {
    if (!branches.counts(op))
      return;
    auto runs = static_cast<double>(branches.countRuns(op));
    for (auto loop = op->getParentOfType<WhileOp>(); loop; loop = loop->getParentOfType<WhileOp>())
      runs *= estimateIterations(loop);
    if (auto collective = dyn_cast<CollectiveOpInterface>(op); collective && !isa<AllSliceOp>(op)) {
      std::vector<std::string> axes;
      for (const spmd::AxisRef &axis : collective.getGroupAxes().toValues())
        axes.push_back(axis.str());
      double bytes = collective.getWireBytes(meshAttr);
      StringRef name = op->getName().stripDialect();
      price.seconds += runs * model.collectiveSeconds(name, axes, bytes);
      price.linkBytes += runs * bytes * static_cast<double>(mesh.deviceCount());
    } else if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op); ruled && op->getNumResults() == 1) {
      price.seconds += runs * computeSeconds(ruled, mesh, model);
    }
  });
  return price;
}

} // namespace spmdc
