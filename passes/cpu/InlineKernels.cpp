//===- InlineKernels.cpp - kernels in the functions of loops --------------===//

#include "passes/cpu/InlineKernels.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace spmdc {
namespace {

/// A call and the return take 2 ns, a kernel of this many instructions much longer.
constexpr unsigned kMostOfKernel = 300;
/// LLVM's time for one function is kept below that of some kernels.
constexpr unsigned kMostOfLoop = 3000;

/// The calls of kernels that this module has.
llvm::SmallVector<llvm::CallBase *> findCalls(llvm::Function &loop) {
  llvm::SmallVector<llvm::CallBase *> calls;
  for (llvm::Instruction &instruction : llvm::instructions(loop))
    if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
      if (llvm::Function *kernel = call->getCalledFunction(); kernel && !kernel->isDeclaration())
        calls.push_back(call);
  return calls;
}

/// Sums of vectors (llvm.vector.reduce) keep their flags, which choose the order in which the target adds.
void keepOrder(llvm::Function &loop) {
  for (llvm::Instruction &instruction : llvm::instructions(loop))
    if (llvm::isa<llvm::BinaryOperator>(instruction) && llvm::isa<llvm::FPMathOperator>(instruction))
      instruction.copyFastMathFlags(llvm::FastMathFlags());
}

class OnLoops : public llvm::PassInfoMixin<OnLoops> {
public:
  OnLoops(llvm::ArrayRef<std::string> loops, llvm::FunctionPassManager passes)
      : loops(loops), passes(std::move(passes)) {}

  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses) {
    auto &functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (const std::string &name : loops)
      passes.run(*module.getFunction(name), functions);
    return llvm::PreservedAnalyses::none();
  }

private:
  llvm::ArrayRef<std::string> loops;
  llvm::FunctionPassManager passes;
};

} // namespace

void keepKernelCalls(llvm::Module &module, llvm::ArrayRef<std::string> loops) {
  for (const std::string &name : loops)
    for (llvm::Instruction &instruction : llvm::instructions(*module.getFunction(name)))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        if (call->getCalledFunction() && !call->getCalledFunction()->isIntrinsic())
          call->addFnAttr(llvm::Attribute::NoInline);
        else if (call->isIndirectCall()) // That of `poll`, which does not touch the arrays of the program.
          call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
      }
}

void inlineKernels(LlvmCode &code, llvm::ArrayRef<std::string> loops) {
  for (const std::string &name : loops) {
    llvm::Function &loop = *code.getModule().getFunction(name);
    unsigned left = kMostOfLoop;
    for (llvm::CallBase *call : findCalls(loop)) {
      unsigned size = call->getCalledFunction()->getInstructionCount();
      llvm::InlineFunctionInfo info;
      if (size <= std::min(left, kMostOfKernel) && llvm::InlineFunction(*call, info).isSuccess())
        left -= size;
    }
    keepOrder(loop);
  }
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loopPasses;
  loopPasses.addPass(llvm::LoopRotatePass());
  loopPasses.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loopPasses), /*UseMemorySSA=*/true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(OnLoops(loops, std::move(passes)));
  code.run(std::move(all), {});
}

} // namespace spmdc
