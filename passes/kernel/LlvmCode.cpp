//===- LlvmCode.cpp - kernels as LLVM IR ----------------------------------===//

#include "passes/kernel/LlvmCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Linker/Linker.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {
namespace {

/// A block with this many additions of integers holds the rounds of a hash.
constexpr int kLongChain = 32;

/// Loop strength reduction looks for common parts in all orders of a sum. The words of threefry are sums of the counter
/// and twenty unknowns: the search takes half a second for a kernel, and finds nothing.
bool hasLongChains(const llvm::Module &module) {
  auto isAddition = [](const llvm::Instruction &instruction) {
    return instruction.getOpcode() == llvm::Instruction::Add && instruction.getType()->isIntegerTy() &&
           !instruction.getType()->isIntegerTy(64); // Positions.
  };
  return llvm::any_of(module, [&](const llvm::Function &function) {
    return llvm::any_of(function,
                        [&](const llvm::BasicBlock &block) { return llvm::count_if(block, isAddition) >= kLongChain; });
  });
}

class PassesWithoutStrengthReduction : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override {
    llvm::StringRef name = pass->getPassName();
    // The second pass prepares the code for the first.
    if (name == "Loop Strength Reduction" || name == "Canonicalize Freeze Instructions in Loops")
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }
};

/// Drops LLVM's remarks about generated code, such as loops that were not vectorised: they do not help users, and
/// LLVM's own handler would print them. Errors are kept for the caller's message.
class QuietDiagnostics : public llvm::DiagnosticHandler {
public:
  explicit QuietDiagnostics(std::string &errors) : errors(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream os(errors);
      os << ": ";
      llvm::DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
    }
    return true;
  }

private:
  std::string &errors;
};

} // namespace

LlvmCode::LlvmCode() { context.setDiagnosticHandler(std::make_unique<QuietDiagnostics>(errors)); }

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

void LlvmCode::run(llvm::ModulePassManager passes, const llvm::PipelineTuningOptions &tuning) {
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
  passes.run(*module, modules);
}

void LlvmCode::optimize(unsigned level, const llvm::PipelineTuningOptions &tuning) {
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::PassBuilder builder(machine.get(), tuning);
  run(level == 0 ? builder.buildO0DefaultPipeline(chosen) : builder.buildPerModuleDefaultPipeline(chosen), tuning);
}

LogicalResult LlvmCode::link(const LlvmCode &other) {
  // Types and constants belong to a context; each object has its own, so the code is copied as bitcode.
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream os(bitcode);
  llvm::WriteBitcodeToFile(*other.module, os);
  llvm::Expected<std::unique_ptr<llvm::Module>> copy = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(llvm::StringRef(bitcode.data(), bitcode.size()), "kernels"), context);
  if (!copy) {
    llvm::consumeError(copy.takeError());
    return failure();
  }
  return failure(llvm::Linker::linkModules(*module, std::move(*copy)));
}

std::string LlvmCode::getText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, nullptr);
  return text;
}

FailureOr<std::string> LlvmCode::emit(llvm::CodeGenFileType type, bool reducesStrength) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  std::unique_ptr<llvm::legacy::PassManager> passes = !reducesStrength || hasLongChains(*module)
                                                          ? std::make_unique<PassesWithoutStrengthReduction>()
                                                          : std::make_unique<llvm::legacy::PassManager>();
  if (machine->addPassesToEmitFile(*passes, os, nullptr, type))
    return failure();
  passes->run(*module);
  if (!errors.empty())
    return failure();
  return std::string(bytes.data(), bytes.size());
}

} // namespace spmdc
