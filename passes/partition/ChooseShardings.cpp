//===- ChooseShardings.cpp - values lie where less has to be sent ---------===//

#include "passes/partition/Partitioning.h"
#include "passes/partition/Passes.h"
#include "passes/partition/ShardingSearch.h"
#include "passes/partition/SplitProducts.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CHOOSESHARDINGS
#include "passes/partition/Passes.h.inc"

namespace {

/// Of the bytes, what a program may send for which another one is given up: what is sent in the end differs from what
/// is priced operation by operation, where they share what they need.
constexpr double kFewerBytes = 0.95;

class ChooseShardingsPass : public impl::ChooseShardingsBase<ChooseShardingsPass> {
public:
  using ChooseShardingsBase::ChooseShardingsBase;

private:
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!func.isExternal())
        choose(func, planner);
    getOperation().walk([](Operation *op) { op->removeAttr(kAnnotatedAttrName); });
    for (auto func : getOperation().getOps<func::FuncOp>())
      reconcileReturns(func);
  }

  /// Of the function as it is, and with parts of products multiplied by themselves, the one that is cheaper in the end
  /// and sends less.
  void choose(func::FuncOp func, ReshardPlanner &planner) {
    SmallVector<Location> places;
    func::FuncOp split = cloneSplit(func, planner, places);
    ShardingSearch search(func, planner, effort);
    search.run();
    if (!split)
      return emitRemarks(search, {});
    ShardingSearch ofSplit(split, planner, effort);
    ofSplit.run();
    OperationPrice whole = search.getPrice(), parts = ofSplit.getPrice();
    if (parts.linkBytes < kFewerBytes * whole.linkBytes && parts.isBetterThan(whole)) {
      emitRemarks(ofSplit, places);
      StringAttr name = func.getSymNameAttr();
      func.erase();
      split.setSymNameAttr(name);
    } else {
      emitRemarks(search, {});
      split.erase();
    }
  }

  void emitRemarks(ShardingSearch &search, ArrayRef<Location> split) const {
    if (!remarks)
      return;
    for (Location loc : split)
      emitRemark(loc) << "is computed in parts, each by itself, so that less is sent";
    search.emitRemarks();
  }

  /// Beside the function, under another name; null where nothing is split.
  static func::FuncOp cloneSplit(func::FuncOp func, ReshardPlanner &planner, SmallVector<Location> &places) {
    auto mayBeSplit = [](Operation *op) {
      return isa<SliceOp, PadOp, ConcatenateOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (!func.walk(mayBeSplit).wasInterrupted())
      return {};
    OpBuilder builder(func);
    builder.setInsertionPointAfter(func);
    auto split = cast<func::FuncOp>(builder.clone(*func));
    split.setSymName((func.getSymName() + ".split").str());
    places = splitProducts(split, planner);
    if (!places.empty())
      return split;
    split.erase();
    return {};
  }
};

} // namespace
} // namespace spmdc
