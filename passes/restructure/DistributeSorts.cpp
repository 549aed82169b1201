//===- DistributeSorts.cpp - sorts along sharded dimensions ---------------===//
//
// A sort of which only the first or last elements are used becomes a distributed top-k (DistributedTopK.h), any other
// the faster of two distributed sorts (SampleSort.h, ColumnSort.h).
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/DebugTrace.h"
#include "passes/restructure/BeforeReshape.h"
#include "passes/restructure/ColumnSort.h"
#include "passes/restructure/DistributedTopK.h"
#include "passes/restructure/MergedDim.h"
#include "passes/restructure/Passes.h"
#include "passes/restructure/SampleSort.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DISTRIBUTESORTS
#include "passes/restructure/Passes.h.inc"

namespace {

DebugTrace trace("distribute-sorts", "not distributed");

class DistributeSortsPass : public impl::DistributeSortsBase<DistributeSortsPass> {
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ArgsortOp> argsorts;
      SmallVector<ArgReduceOp> extremes;
      func.walk([&](Operation *op) {
        if (isPerDevice(op))
          return;
        if (auto argsort = dyn_cast<ArgsortOp>(op))
          argsorts.push_back(argsort);
        else if (auto extreme = dyn_cast<ArgReduceOp>(op))
          extremes.push_back(extreme);
      });
      for (ArgReduceOp op : extremes)
        distributeMergedExtreme(op, planner.getMesh());
      for (ArgsortOp op : argsorts)
        if (!distributeTopK(op, planner.getMesh())) {
          shardIntoRuns(op, planner.getMesh());
          distributeSort(op, planner);
        }
      eraseDeadOps(func);
    }
  }

  /// If a reshape merges sharded dimensions, and only the sort uses the result, shards the result over the same axes
  /// into contiguous runs, which a gather would pass through as well.
  static void shardIntoRuns(ArgsortOp op, const spmd::MeshShape &mesh) {
    Value operand = op.getOperand();
    std::optional<MergedDim> dim = MergedDim::of(operand, static_cast<int64_t>(op.getDim()), mesh);
    bool isForSort = llvm::all_of(operand.getUsers(), [&](Operation *user) {
      auto take = dyn_cast<TakeAlongOp>(user);
      return user == op || (take && take.getIndices() == op.getResult());
    });
    if (!dim || !dim->isMerged() || !isForSort)
      return;
    OpBuilder b(op);
    Value before = buildBefore(b, operand, dim->getSource());
    operand.replaceAllUsesWith(
        b.create<ReshapeOp>(op.getLoc(), dim->typeAsRuns(op.getOperand().getType().getElementType()), before));
  }

  /// Chooses the fastest sort that sends no more than a gather. If a sample sort takes nearly the same time, it wins,
  /// because it sends least, and bytes are predicted better than compute time. It works only for data that are spread
  /// over the shards: for other data its first steps are wasted, which may take half as long as the sort that runs
  /// instead, and send few bytes.
  static void distributeSort(ArgsortOp op, ReshardPlanner &planner) {
    std::optional<ShardedSort> argsort = ShardedSort::of(op, planner);
    if (!argsort) {
      trace.skip(op, "it does not sort along a sharded dimension, or is not used");
      return;
    }
    std::optional<ColumnSort> columns = findColumnSort(*argsort, planner);
    const Price &otherwise = columns ? columns->price : argsort->gatherPrice;
    // In a region that is manual along other axes, groups of devices may take different branches, so that all would
    // have to run both (spmdc-align-collectives).
    bool mayBranch = !op->getParentOfType<ManualOp>();
    auto samples = planSampleSort(*argsort, planner,
                                  [&](const SampleSort &sort) { return mayBranch && isBetter(sort, otherwise); });
    if (samples) {
      if (std::optional<ShardedSort> others = ShardedSort::of(buildSampleSort(*samples), planner))
        if (std::optional<ColumnSort> ofOthers = findColumnSort(*others, planner))
          buildColumnSort(*ofOthers);
    } else if (columns) {
      buildColumnSort(*columns);
    } else {
      trace.skip(op, "no distributed sort takes less time and sends less than a gather (",
                 asTime(argsort->gatherPrice.seconds), ", ", asCount(argsort->gatherPrice.linkBytes), " bytes)");
    }
  }

  static bool isBetter(const SampleSort &samples, const Price &otherwise) {
    constexpr double nearly = 1.1, hardlyMore = 1 + 1. / 64;
    double gathered = samples.shardedSort.gatherPrice.linkBytes;
    return samples.price.seconds < nearly * otherwise.seconds && 2 * samples.toBranch.seconds < otherwise.seconds &&
           samples.price.linkBytes <= gathered &&
           samples.toBranch.linkBytes + otherwise.linkBytes <= hardlyMore * gathered;
  }

  /// Nothing if it is no better than a gather.
  static std::optional<ColumnSort> findColumnSort(ShardedSort &argsort, ReshardPlanner &planner) {
    std::optional<ColumnSort> sort = planColumnSort(argsort, planner);
    bool isBetter = sort && sort->price.seconds < argsort.gatherPrice.seconds &&
                    sort->price.linkBytes <= argsort.gatherPrice.linkBytes;
    return isBetter ? std::move(sort) : std::nullopt;
  }
};

} // namespace
} // namespace spmdc
