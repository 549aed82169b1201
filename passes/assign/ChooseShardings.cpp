//===- ChooseShardings.cpp - chooses the shardings that send less ---------===//

#include "ir/spmd/DebugTrace.h"
#include "passes/assign/Passes.h"
#include "passes/assign/ShardingSearch.h"
#include "passes/partition/Partitioning.h"
#include "passes/restructure/LookUpFirst.h"
#include "passes/restructure/SplitProducts.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CHOOSESHARDINGS
#include "passes/assign/Passes.h.inc"

namespace {

DebugTrace trace("choose-shardings");

/// A rewritten program is better only if it sends less than this part of the other's bytes: the bytes after
/// partitioning differ from the sum of the operations' prices, because operations share collectives.
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

  /// The function, or a rewritten one that computes the same; `func` is null if the rewrite does not apply.
  struct Version {
    func::FuncOp func;
    SmallVector<std::pair<Location, StringRef>> remarks = {}; ///< A remark for each rewritten operation.
    std::unique_ptr<ShardingSearch> search = nullptr;
    const char *kind = "as it is"; ///< For traces.
  };

  static auto describe(Price price) {
    return [price] { return llvm::formatv("{0:f1} us, {1:f0} bytes", price.seconds * 1e6, price.linkBytes); };
  }

  /// Chooses the shardings of a function. If the goal is the fewest bytes, also searches for the least time, and keeps
  /// that result if it sends less after partitioning: the two searches visit different shardings, and neither is
  /// exhaustive.
  void choose(func::FuncOp func, ReshardPlanner &planner) {
    CostModel model = CostModel::of(getOperation());
    StringAttr name = func.getSymNameAttr();
    func::FuncOp copy = model.goal == Goal::Bytes ? cloneBehind(func, ".time") : func::FuncOp();
    StrategyMemo trials;
    Version best = chooseBy(func, planner, trials);
    model.goal = Goal::Time;
    ReshardPlanner byTime(planner.getMesh(), model); // Must outlive the search that uses it.
    if (copy) {
      Version other = chooseBy(copy, byTime, trials);
      auto price = priceOfPartitioned(best.func, planner.getMesh(), planner.getModel(), trials);
      auto otherPrice = priceOfPartitioned(other.func, planner.getMesh(), planner.getModel(), trials);
      if (price && otherPrice && otherPrice->linkBytes < price->linkBytes)
        std::swap(best, other);
      other.func.erase();
    }
    emitRemarks(best);
    best.func.setSymNameAttr(name);
  }

  /// Searches the function and its rewritten versions (lookUpFirst, splitProducts, both), and returns the one that is
  /// cheaper and sends less. Erases the others.
  Version chooseBy(func::FuncOp func, ReshardPlanner &planner, StrategyMemo &trials) {
    Version plain{func};
    Version found =
        rewrite(plain, planner, lookUpFirst, "the lookup is moved in front of the slice, so that less is sent");
    StringRef inParts = "the product is split into separate products, so that less is sent";
    Version split = rewrite(plain, planner, splitProducts, inParts);
    Version both = rewrite(found, planner, splitProducts, inParts);
    found.kind = "with lookups first";
    split.kind = "with split products";
    both.kind = "with lookups first and split products";
    Version &either = isBetter(found, plain, planner, trials) ? found : plain;
    Version &parts = &either == &plain ? split : both;
    Version &best = isBetter(parts, either, planner, trials) ? parts : either;
    search(best, planner, trials);
    for (Version *version : {&plain, &found, &split, &both})
      if (version != &best && version->func)
        version->func.erase();
    return std::move(best);
  }

  void search(Version &version, ReshardPlanner &planner, StrategyMemo &trials) const {
    if (version.search)
      return;
    version.search = std::make_unique<ShardingSearch>(version.func, planner, trials, effort);
    version.search->run();
    trace.noteAt(version.func.getLoc(), "searched: ", version.kind, ", ", describe(version.search->getPrice()));
  }

  bool isBetter(Version &one, Version &other, ReshardPlanner &planner, StrategyMemo &trials) const {
    if (!one.func)
      return false;
    search(one, planner, trials);
    search(other, planner, trials);
    Price price = one.search->getPrice(), otherPrice = other.search->getPrice();
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

  /// A copy of the version's function, rewritten, behind it in the module and under another name; a null function if
  /// nothing is rewritten.
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
