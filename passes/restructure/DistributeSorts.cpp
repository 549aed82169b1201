//===- DistributeSorts.cpp - orders along cut dimensions ----------------------===//
//
// An order of which only an end is used is found piece by piece (DistributedTopK.h), any other by the quickest way of
// sorting (SampleSort.h, ColumnSort.h).
//
//===----------------------------------------------------------------------===//

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

class DistributeSortsPass : public impl::DistributeSortsBase<DistributeSortsPass> {
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ArgsortOp> orders;
      SmallVector<ArgReduceOp> extremes;
      func.walk([&](Operation *op) {
        if (isPerDevice(op))
          return;
        if (auto order = dyn_cast<ArgsortOp>(op))
          orders.push_back(order);
        else if (auto extreme = dyn_cast<ArgReduceOp>(op))
          extremes.push_back(extreme);
      });
      for (ArgReduceOp op : extremes)
        distributeMergedExtreme(op, planner.getMesh());
      for (ArgsortOp op : orders)
        if (!distributeTopK(op, planner.getMesh())) {
          layAsRuns(op, planner.getMesh());
          splitWhole(op, planner);
        }
      eraseUnused(func);
    }
  }

  /// Of an array that a reshape merges, which is looked at by the order only, each device gets a run of the elements,
  /// as it would on the way to the whole array.
  static void layAsRuns(ArgsortOp op, const spmd::MeshShape &mesh) {
    Value operand = op.getOperand();
    std::optional<MergedDim> dim = MergedDim::of(operand, static_cast<int64_t>(op.getDim()), mesh);
    bool isForOrder = llvm::all_of(operand.getUsers(), [&](Operation *user) {
      auto take = dyn_cast<TakeAlongOp>(user);
      return user == op || (take && take.getIndices() == op.getResult());
    });
    if (!dim || !dim->isMerged() || !isForOrder)
      return;
    OpBuilder b(op);
    Value before = buildBefore(b, operand, dim->getSource());
    operand.replaceAllUsesWith(
        b.create<ReshapeOp>(op.getLoc(), dim->typeAsRuns(op.getOperand().getType().getElementType()), before));
  }

  /// The quickest way that sends no more than gathering; of two that take nearly the same, the sort by samples, which
  /// sends least: how long computing takes is known less well than what is sent. It sorts spread data only: where there
  /// are others, its beginning is lost, which may be half as much time again as the way that is taken then, and hardly
  /// any bytes.
  static void splitWhole(ArgsortOp op, ReshardPlanner &planner) {
    std::optional<ShardedSort> order = ShardedSort::of(op, planner);
    if (!order)
      return;
    std::optional<ColumnSort> columns = findColumnSort(*order, planner);
    const OperationPrice &otherwise = columns ? columns->price : order->apart;
    // In a region that is manual along other axes, groups of devices may differ in which arm is theirs, so that all
    // would go through both (spmdc-align-collectives).
    bool mayBranch = !op->getParentOfType<ManualOp>();
    auto samples =
        planSampleSort(*order, planner, [&](const SampleSort &sort) { return mayBranch && isBetter(sort, otherwise); });
    if (samples) {
      if (std::optional<ShardedSort> others = ShardedSort::of(buildSampleSort(*samples), planner))
        if (std::optional<ColumnSort> ofOthers = findColumnSort(*others, planner))
          buildColumnSort(*ofOthers);
    } else if (columns) {
      buildColumnSort(*columns);
    }
  }

  static bool isBetter(const SampleSort &samples, const OperationPrice &otherwise) {
    constexpr double nearly = 1.1, hardlyMore = 1 + 1. / 64;
    double gathered = samples.order.apart.linkBytes;
    return samples.price.seconds < nearly * otherwise.seconds && 2 * samples.toBranch.seconds < otherwise.seconds &&
           samples.price.linkBytes <= gathered &&
           samples.toBranch.linkBytes + otherwise.linkBytes <= hardlyMore * gathered;
  }

  /// If it is better than gathering.
  static std::optional<ColumnSort> findColumnSort(ShardedSort &order, ReshardPlanner &planner) {
    std::optional<ColumnSort> sort = planColumnSort(order, planner);
    bool isBetter = sort && sort->price.seconds < order.apart.seconds && sort->price.linkBytes <= order.apart.linkBytes;
    return isBetter ? std::move(sort) : std::nullopt;
  }
};

} // namespace
} // namespace spmdc
