//===- ChooseShardings.cpp - values lie where less has to be sent ---------===//

#include "passes/assign/LocalSearch.h"
#include "passes/assign/Passes.h"
#include "passes/partition/Partitioning.h"
#include "passes/restructure/LookUpFirst.h"
#include "passes/restructure/SplitProducts.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CHOOSESHARDINGS
#include "passes/assign/Passes.h.inc"

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
    std::unique_ptr<LocalSearch> search = nullptr;
  };

  /// Where bytes are to be least, also what would be chosen for the least time, if that sends less in the end: a search
  /// that counts work comes by other programs, and neither finds the best of all of them.
  void choose(func::FuncOp func, ReshardPlanner &planner) {
    CostModel model = CostModel::of(getOperation());
    StringAttr name = func.getSymNameAttr();
    func::FuncOp copy = model.goal == Goal::Bytes ? cloneBehind(func, ".time") : func::FuncOp();
    Version best = chooseBy(func, planner);
    model.goal = Goal::Time;
    ReshardPlanner byTime(planner.getMesh(), model); // As long as the search that asks it.
    if (copy) {
      Version other = chooseBy(copy, byTime);
      auto price = priceOfPartitioned(best.func, planner.getMesh(), planner.getModel());
      auto otherPrice = priceOfPartitioned(other.func, planner.getMesh(), planner.getModel());
      if (price && otherPrice && otherPrice->linkBytes < price->linkBytes)
        std::swap(best, other);
      other.func.erase();
    }
    emitRemarks(best);
    best.func.setSymNameAttr(name);
  }

  /// Of the function as it is, with lookups in all tables in place of those in one, and with parts of products
  /// multiplied by themselves, the one that is cheaper in the end and sends less. Erases the others.
  Version chooseBy(func::FuncOp func, ReshardPlanner &planner) {
    Version plain{func};
    Version found = rewrite(plain, planner, lookUpFirst, "is looked up before a part is taken, so that less is sent");
    StringRef inParts = "is computed in parts, each by itself, so that less is sent";
    Version split = rewrite(plain, planner, splitProducts, inParts);
    Version both = rewrite(found, planner, splitProducts, inParts);
    Version &either = isBetter(found, plain, planner) ? found : plain;
    Version &parts = &either == &plain ? split : both;
    Version &best = isBetter(parts, either, planner) ? parts : either;
    search(best, planner);
    for (Version *version : {&plain, &found, &split, &both})
      if (version != &best && version->func)
        version->func.erase();
    return std::move(best);
  }

  void search(Version &version, ReshardPlanner &planner) const {
    if (version.search)
      return;
    version.search = std::make_unique<LocalSearch>(version.func, planner, effort);
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

  static func::FuncOp cloneBehind(func::FuncOp func, StringRef suffix) {
    OpBuilder builder(func);
    builder.setInsertionPointAfter(func);
    auto copy = cast<func::FuncOp>(builder.clone(*func));
    copy.setSymName((func.getSymName() + suffix).str());
    return copy;
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
    Version other{cloneBehind(func, ".other"), version.remarks};
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
