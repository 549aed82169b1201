//===- LlvmCode.cpp - kernels as LLVM IR ----------------------------------===//

#include "passes/kernel/LlvmCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/IR/LegacyPassManager.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {

LogicalResult LlvmCode::translate(Operation *kernels, std::unique_ptr<llvm::TargetMachine> target) {
  MLIRContext *mlirContext = kernels->getContext();
  kernels->walk([&](Operation *op) { op->setLoc(UnknownLoc::get(mlirContext)); });
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  mlirContext->appendDialectRegistry(registry);
  module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return emitError(UnknownLoc::get(mlirContext), "cannot translate the kernels to LLVM IR");
  machine = std::move(target);
  module->setTargetTriple(machine->getTargetTriple().str());
  module->setDataLayout(machine->createDataLayout());
  return success();
}

void LlvmCode::optimize(unsigned level, const llvm::PipelineTuningOptions &tuning) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(chosen) : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(*module, modules);
}

std::string LlvmCode::getText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, nullptr);
  return text;
}

FailureOr<std::string> LlvmCode::emit(llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr, type))
    return failure();
  passes.run(*module);
  return std::string(bytes.data(), bytes.size());
}

} // namespace spmdc
