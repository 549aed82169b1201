//===- MarkStage.cpp - records the stage of a module ----------------------===//

#include "passes/pipeline/Passes.h"
#include "passes/pipeline/Stage.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_MARKSTAGE
#include "passes/pipeline/Passes.h.inc"

namespace {

class MarkStagePass : public impl::MarkStageBase<MarkStagePass> {
public:
  using MarkStageBase::MarkStageBase;

private:
  void runOnOperation() override {
    if (!parseStage(stage)) {
      getOperation().emitError() << "'" << stage << "' is not a stage";
      return signalPassFailure();
    }
    getOperation()->setAttr("spmd.stage", StringAttr::get(&getContext(), stage));
  }
};

} // namespace
} // namespace spmdc
