//===- Registration.cpp - dialects and passes of the compiler -------------===//

#include "passes/pipeline/Registration.h"

#include "ir/array/ArrayOps.h"
#include "ir/plan/PlanOps.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/assign/Passes.h"
#include "passes/collectives/Passes.h"
#include "passes/differentiate/Passes.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/propagate/Passes.h"
#include "passes/reductions/Passes.h"
#include "passes/restructure/Passes.h"
#include "passes/simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<ArrayDialect, SpmdDialect, plan::PlanDialect, mlir::func::FuncDialect>();
}

void registerPasses() {
  registerDifferentiatePasses();
  registerSimplifyPasses();
  registerPropagatePasses();
  registerRestructurePasses();
  registerAssignPasses();
  registerReductionsPasses();
  registerPartitionPasses();
  registerCollectivesPasses();
  registerKernelPasses();
  registerGpuPasses();
  registerPlanPasses();
  registerPipelinePasses();
}

} // namespace spmdc
