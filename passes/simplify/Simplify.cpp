//===- Simplify.cpp - canonicalization that keeps names -------------------===//

#include "ir/spmd/ValueNames.h"
#include "passes/simplify/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SIMPLIFYPASS
#include "passes/simplify/Passes.h.inc"

namespace {

class SimplifyPass : public impl::SimplifyPassBase<SimplifyPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet owned(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(owned);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(owned, context);
    patterns = std::move(owned);
    return success();
  }

  void runOnOperation() override {
    NameKeeper names;
    GreedyRewriteConfig config;
    config.useTopDownTraversal = true;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Normal;
    config.listener = &names;
    // Canonicalization is an optimization: the program is correct even if patterns do not converge.
    (void)applyPatternsAndFoldGreedily(getOperation(), patterns, config);
    IRRewriter rewriter(&getContext(), &names);
    eliminateCommonSubExpressions(rewriter, getAnalysis<DominanceInfo>(), getOperation());
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace spmdc
