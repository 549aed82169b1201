//===- Pipeline.cpp - stages and the passes between them ------------------===//

#include "passes/pipeline/Pipeline.h"

#include "passes/assign/Passes.h"
#include "passes/collectives/Passes.h"
#include "passes/differentiate/Passes.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/pipeline/DumpInstrumentation.h"
#include "passes/pipeline/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/propagate/Passes.h"
#include "passes/restructure/Passes.h"
#include "passes/simplify/Passes.h"
#include "passes/strategy/LowMemory.h"

#include "mlir/IR/Action.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace spmdc {

void addDifferentiation(OpPassManager &passes) {
  passes.addPass(createKnownIndicesPass());
  passes.addPass(createDifferentiatePass());
  passes.addPass(createVerifyDifferentiatedPass());
}

void addRestructuring(OpPassManager &passes, bool remarks) {
  OrderContractionsOptions order;
  order.remarks = remarks;
  passes.addPass(createOrderContractions(order));
  passes.addPass(createNarrowProducts());
  // Loop-invariant operations are priced and resharded once, not in every iteration.
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createDistributeSorts());
  passes.addPass(createTurnDiagonals());
  passes.addPass(createSkipReshapes());
  passes.addPass(createAlignInteriors());
  passes.addPass(createConcatenateFirst());
}

void buildPipeline(OpPassManager &passes, Stage from, Stage to, const PipelineOptions &options) {
  auto passesThrough = [&](Stage leg) { return from < leg && leg <= to; };
  auto arriveAt = [&](Stage stage) {
    MarkStageOptions mark;
    mark.stage = stageName(stage).str();
    passes.addPass(createMarkStage(mark));
  };
  if (passesThrough(Stage::Propagated)) {
    addDifferentiation(passes);
    passes.addPass(createSimplifyPass());
    passes.addPass(createSplitConstantsPass());
    passes.addPass(createSplitMergedDimsPass());
    PropagatePassOptions propagate;
    propagate.remarks = options.remarks;
    passes.addPass(createPropagatePass(propagate, options.propagationLog));
    passes.addPass(createVerifyPropagatedPass());
    arriveAt(Stage::Propagated);
  }
  if (passesThrough(Stage::Partitioned)) {
    addRestructuring(passes, options.remarks);
    ChooseShardingsOptions choose;
    choose.remarks = options.remarks;
    passes.addPass(createChooseShardings(choose));
    addPartitioning(passes, {options.growsCarries, options.bytesToFree});
    passes.addPass(createVerifyPartitioned());
    arriveAt(Stage::Partitioned);
  }
  if (passesThrough(Stage::Kernels)) {
    passes.addPass(createCollectiveMatmuls());
    passes.addPass(createCombineCollectives());
    passes.addPass(createSplitHalos());
    bool isGpu = options.backend == KernelTarget::Gpu;
    bool warpgroups = options.gpu.matrixUnit == MatrixUnit::Warpgroup;
    if (!isGpu)
      passes.addPass(createStreamProducts({/*sharedBytes=*/0, options.leastScoreBytes, /*warpgroups=*/false}));
    else if (options.gpu.matrixUnit != MatrixUnit::None)
      passes.addPass(createStreamProducts({options.gpu.sharedBytes, /*leastScoreBytes=*/0, warpgroups}));
    // For bytes times f32 on a CPU, sums take half of the time of the library for 8 vectors, and as long for 12. On a
    // GPU each sum is a further launch.
    passes.addPass(createSumVectorProducts({/*rows=*/!isGpu, /*vectors=*/isGpu ? 4 : 8}));
    if (isGpu) {
      passes.addPass(createDecomposeFourier());
      passes.addPass(createDecomposeScatters());
    }
    passes.addPass(createDecomposeReductions({isGpu, options.gpu.sharedBytes, options.gpu.clusterBlocks}));
    passes.addPass(createNormalizeContractions({/*views=*/!isGpu}));
    passes.addPass(createLowerLibraryCalls({/*ranges=*/!isGpu}));
    passes.addPass(createFormKernels({isGpu ? options.gpu.sharedBytes : 0, options.gpu.clusterBlocks}));
    passes.addPass(createShareKernels());
    if (isGpu)
      passes.addPass(createMatchLibraryEpilogues());
    passes.addPass(createScheduleKernels());
    if (isGpu)
      passes.addPass(createMapToGpu({options.gpu.sharedBytes, options.gpu.clusterBlocks, warpgroups}));
    passes.addPass(createVerifyKernels());
    arriveAt(Stage::Kernels);
  }
  if (passesThrough(Stage::Plan)) {
    passes.addPass(createBuildPlan());
    if (options.startsEarly)
      passes.addPass(createScheduleCollectives());
    passes.addPass(createAssignBuffers());
    if (options.backend != KernelTarget::Gpu)
      passes.addPass(createCompileLoops());
    passes.addPass(createVerifyPlan());
    arriveAt(Stage::Plan);
  }
}

namespace {

/// While it lives, no pass runs after the caller has cancelled the pipeline.
class WantedPasses {
public:
  WantedPasses(MLIRContext *context, const std::function<bool()> &shouldContinue)
      : context(shouldContinue ? context : nullptr) {
    if (!shouldContinue)
      return;
    context->registerActionHandler([this, shouldContinue](function_ref<void()> execute, const tracing::Action &action) {
      if (isa<PassExecutionAction>(action))
        isAll = isAll && shouldContinue();
      if (isAll || !isa<PassExecutionAction>(action))
        execute();
    });
  }
  ~WantedPasses() {
    if (context)
      context->registerActionHandler(nullptr);
  }
  WantedPasses(const WantedPasses &) = delete;
  WantedPasses &operator=(const WantedPasses &) = delete;

  bool all() const { return isAll; }

private:
  MLIRContext *context; ///< Null: all passes are wanted.
  bool isAll = true;
};

} // namespace

LogicalResult runPipeline(ModuleOp module, Stage from, Stage to, const PipelineOptions &options,
                          std::vector<PassTime> *times) {
  DumpInstrumentation::Report report;
  LogicalResult result = failure();
  if (!options.growsCarries)
    module->setAttr(kLowMemoryAttrName, UnitAttr::get(module.getContext()));
  {
    PassManager manager(module.getContext());
    buildPipeline(manager, from, to, options);
    // The verifier runs after every pass.
    manager.enableVerifier(true);
    manager.addInstrumentation(std::make_unique<DumpInstrumentation>(options.dumpDirectory, options.dumps, report));
    WantedPasses wanted(module.getContext(), options.shouldContinue);
    result = failure(failed(manager.run(module)) || !wanted.all());
  } // The destructor of the instrumentation writes the index of the dumped files, which may fail, too.
  if (times)
    times->insert(times->end(), report.times.begin(), report.times.end());
  if (!report.error.empty())
    return emitError(UnknownLoc::get(module.getContext())) << report.error;
  return result;
}

Stage getStage(ModuleOp module) {
  if (auto name = module->getAttrOfType<StringAttr>("spmd.stage"))
    if (std::optional<Stage> stage = parseStage(name.getValue()))
      return *stage;
  return Stage::Array;
}

} // namespace spmdc
