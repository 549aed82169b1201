//===- RingContractions.cpp - products under their own transfers ----------===//

#include "passes/partition/Passes.h"
#include "passes/partition/RingBuilder.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_RINGCONTRACTIONS
#include "passes/partition/Passes.h.inc"

namespace {

class RingContractionsPass : public impl::RingContractionsBase<RingContractionsPass> {
  void runOnOperation() override {
    CostModel model = CostModel::of(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (const ChosenRing &chosen : chooseRings(func, getMesh(func), model))
        replaceByRing(chosen.ring, chosen.way);
  }
};

} // namespace
} // namespace spmdc
