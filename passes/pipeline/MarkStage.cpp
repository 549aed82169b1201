//===- MarkStage.cpp - notes which station a module has reached -----------===//

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
      getOperation().emitError() << "'" << stage << "' is no station";
      return signalPassFailure();
    }
    getOperation()->setAttr("spmd.stage", StringAttr::get(&getContext(), stage));
  }
};

} // namespace
} // namespace spmdc
