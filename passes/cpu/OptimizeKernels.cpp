//===- OptimizeKernels.cpp - LLVM's passes over kernels -------------------===//

#include "passes/cpu/OptimizeKernels.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Constants.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Scalar/LoopInstSimplify.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopSimplifyCFG.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

namespace spmdc {
namespace {

/// LLVM's level of effort for unrolling, that of -O3.
constexpr int kUnrollLevel = 3;

/// Gives the vectoriser the width of parallel loops: it spends half its time to find it.
void setVectorWidth(llvm::Module &module, unsigned width) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Metadata *hint = llvm::MDNode::get(
      context, {llvm::MDString::get(context, "llvm.loop.vectorize.width"),
                llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), width))});
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function) {
      llvm::Instruction *end = block.getTerminator();
      llvm::MDNode *loop = end ? end->getMetadata(llvm::LLVMContext::MD_loop) : nullptr;
      if (!loop || !llvm::findOptionMDForLoopID(loop, "llvm.loop.parallel_accesses"))
        continue;
      llvm::SmallVector<llvm::Metadata *, 4> operands(loop->op_begin(), loop->op_end());
      operands.push_back(hint);
      llvm::MDNode *wide = llvm::MDNode::getDistinct(context, operands);
      wide->replaceOperandWith(0, wide);
      end->setMetadata(llvm::LLVMContext::MD_loop, wide);
    }
}

/// Unrolls loops of few iterations. Parallel loops of enough iterations for a vector are left to the vectoriser, which
/// does not find vectors in unrolled code.
class UnrollShortLoops : public llvm::PassInfoMixin<UnrollShortLoops> {
public:
  explicit UnrollShortLoops(bool onlyWhenForced) : unroll(kUnrollLevel, onlyWhenForced) {}

  llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &analyses,
                              llvm::LoopStandardAnalysisResults &results, llvm::LPMUpdater &updater) {
    if (llvm::findOptionMDForLoopID(loop.getLoopID(), "llvm.loop.parallel_accesses") &&
        results.SE.getSmallConstantTripCount(&loop) >= kLeastLanes)
      return llvm::PreservedAnalyses::all();
    return unroll.run(loop, analyses, results, updater);
  }

private:
  /// The f32 elements of a vector of AVX.
  static constexpr unsigned kLeastLanes = 8;

  llvm::LoopFullUnrollPass unroll;
};

llvm::FunctionToLoopPassAdaptor hoist() {
  return llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true);
}

/// Straightens the code as it was emitted.
void addCleanUp(llvm::FunctionPassManager &passes) {
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::ReassociatePass());
}

/// Moves what does not change out of loops, conditions included, and gives loops the form that the vectoriser expects.
void addLoopPasses(llvm::FunctionPassManager &passes, const llvm::PipelineTuningOptions &tuning) {
  llvm::LoopPassManager first;
  first.addPass(llvm::LoopInstSimplifyPass());
  first.addPass(llvm::LoopSimplifyCFGPass());
  llvm::LICMOptions beforeRotation;
  beforeRotation.AllowSpeculation = false;
  first.addPass(llvm::LICMPass(beforeRotation));
  first.addPass(llvm::LoopRotatePass());
  first.addPass(llvm::LICMPass(llvm::LICMOptions()));
  first.addPass(llvm::SimpleLoopUnswitchPass(/*NonTrivial=*/true));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(first), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager second;
  second.addPass(llvm::LoopIdiomRecognizePass());
  second.addPass(llvm::IndVarSimplifyPass());
  second.addPass(llvm::LoopDeletionPass());
  second.addPass(UnrollShortLoops(/*onlyWhenForced=*/!tuning.LoopUnrolling));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(second)));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::GVNPass());
  passes.addPass(hoist());
  passes.addPass(llvm::SimplifyCFGPass(
      llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true).hoistCommonInsts(true).sinkCommonInsts(true)));
}

void addVectorPasses(llvm::FunctionPassManager &passes, const llvm::PipelineTuningOptions &tuning) {
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  passes.addPass(llvm::LoopVectorizePass(
      llvm::LoopVectorizeOptions(/*InterleaveOnlyWhenForced=*/!tuning.LoopInterleaving, !tuning.LoopVectorization)));
  passes.addPass(llvm::InferAlignmentPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions()
                                           .convertSwitchRangeToICmp(true)
                                           .needCanonicalLoops(false)
                                           .hoistCommonInsts(true)
                                           .sinkCommonInsts(true)));
  passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(kUnrollLevel, /*OnlyWhenForced=*/!tuning.LoopUnrolling)));
  passes.addPass(hoist());
  passes.addPass(llvm::InstSimplifyPass());
  passes.addPass(
      llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true).speculateUnpredictables(true)));
}

void runOnFunctions(LlvmCode &code, llvm::FunctionPassManager passes, const llvm::PipelineTuningOptions &tuning) {
  llvm::ModulePassManager all;
  all.addPass(llvm::AlwaysInlinerPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  code.run(std::move(all), tuning);
}

} // namespace

void optimizeKernels(LlvmCode &code, const llvm::PipelineTuningOptions &tuning) {
  llvm::FunctionPassManager passes;
  addCleanUp(passes);
  addLoopPasses(passes, tuning);
  addVectorPasses(passes, tuning);
  runOnFunctions(code, std::move(passes), tuning);
}

void optimizeKernelsLightly(LlvmCode &code, const llvm::PipelineTuningOptions &tuning, unsigned vectorWidth) {
  setVectorWidth(code.getModule(), vectorWidth);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  passes.addPass(hoist());
  passes.addPass(llvm::LoopVectorizePass(
      llvm::LoopVectorizeOptions(/*InterleaveOnlyWhenForced=*/true, !tuning.LoopVectorization)));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  runOnFunctions(code, std::move(passes), tuning);
}

} // namespace spmdc
