//===- ChooseShardings.cpp - values lie where less has to be sent ---------===//

#include "passes/partition/LookUpFirst.h"
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

  /// The function, or another that computes the same; null where that is no other.
  struct Version {
    func::FuncOp func;
    SmallVector<std::pair<Location, StringRef>> remarks = {}; ///< What is computed in another way.
    std::unique_ptr<ShardingSearch> search = nullptr;
  };

  /// Of the function as it is, with lookups in all tables in place of those in one, and with parts of products
  /// multiplied by themselves, the one that is cheaper in the end and sends less.
  void choose(func::FuncOp func, ReshardPlanner &planner) {
    Version plain{func};
    Version found = rewrite(plain, planner, lookUpFirst, "is looked up before a part is taken, so that less is sent");
    StringRef inParts = "is computed in parts, each by itself, so that less is sent";
    Version split = rewrite(plain, planner, splitProducts, inParts);
    Version both = rewrite(found, planner, splitProducts, inParts);
    Version &either = isBetter(found, plain, planner) ? found : plain;
    Version &parts = &either == &plain ? split : both;
    Version &best = isBetter(parts, either, planner) ? parts : either;
    search(best, planner);
    emitRemarks(best);
    StringAttr name = func.getSymNameAttr();
    for (Version *version : {&plain, &found, &split, &both})
      if (version != &best && version->func)
        version->func.erase();
    best.func.setSymNameAttr(name);
  }

  void search(Version &version, ReshardPlanner &planner) const {
    if (version.search)
      return;
    version.search = std::make_unique<ShardingSearch>(version.func, planner, effort);
    version.search->run();
  }

  bool isBetter(Version &one, Version &other, ReshardPlanner &planner) const {
    if (!one.func)
      return false;
    search(one, planner);
    search(other, planner);
    OperationPrice price = one.search->getPrice(), otherPrice = other.search->getPrice();
    return price.linkBytes < kFewerBytes * otherPrice.linkBytes && price.isBetterThan(otherPrice);
  }

  void emitRemarks(Version &version) const {
    if (!remarks)
      return;
    for (auto [loc, text] : version.remarks)
      emitRemark(loc) << text;
    version.search->emitRemarks();
  }

  /// Beside the function, under another name.
  static Version rewrite(const Version &version, ReshardPlanner &planner,
                         SmallVector<Location> (*rewriteIn)(func::FuncOp, ReshardPlanner &), StringRef text) {
    auto mayBeRewritten = [](Operation *op) {
      return isa<SliceOp, PadOp, ConcatenateOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    };
    func::FuncOp func = version.func;
    if (!func || !func.walk(mayBeRewritten).wasInterrupted())
      return {};
    OpBuilder builder(func);
    builder.setInsertionPointAfter(func);
    Version other{cast<func::FuncOp>(builder.clone(*func)), version.remarks};
    other.func.setSymName((func.getSymName() + ".other").str());
    SmallVector<Location> places = rewriteIn(other.func, planner);
    if (places.empty()) {
      other.func.erase();
      return {};
    }
    for (Location loc : places)
      other.remarks.emplace_back(loc, text);
    return other;
  }
};

} // namespace
} // namespace spmdc
