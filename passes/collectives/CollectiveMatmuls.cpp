//===- CollectiveMatmuls.cpp - overlaps products with their transfers -----===//

#include "passes/collectives/CollectiveMatmulBuilder.h"
#include "passes/collectives/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_COLLECTIVEMATMULS
#include "passes/collectives/Passes.h.inc"

namespace {

class CollectiveMatmulsPass : public impl::CollectiveMatmulsBase<CollectiveMatmulsPass> {
  void runOnOperation() override {
    CostModel model = CostModel::of(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (const ChosenCollectiveMatmul &chosen : chooseCollectiveMatmuls(func, getMesh(func), model))
        replaceByCollectiveMatmul(chosen.ring, chosen.way);
  }
};

} // namespace
} // namespace spmdc
