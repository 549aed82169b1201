//===- EmitGpu.cpp - kernels to PTX ---------------------------------------===//

#include "passes/gpu/EmitGpu.h"

#include "passes/gpu/ConvertToNvvm.h"
#include "passes/gpu/KernelEmitter.h"
#include "passes/gpu/LibdeviceCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;

namespace spmdc {
namespace {

constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";

/// The oldest version of PTX that knows the chip (and `shfl.sync`): drivers from then on take the code.
struct Chip {
  llvm::StringLiteral name, ptx;
};
constexpr Chip kChips[] = {{"sm_70", "ptx63"}, {"sm_72", "ptx63"}, {"sm_75", "ptx63"},
                           {"sm_80", "ptx70"}, {"sm_86", "ptx71"}, {"sm_87", "ptx74"},
                           {"sm_89", "ptx78"}, {"sm_90", "ptx78"}, {"sm_90a", "ptx80"}};

const Chip *findChip(StringRef name) {
  const Chip *chip = llvm::find_if(kChips, [&](const Chip &known) { return known.name == name; });
  return chip == std::end(kChips) ? nullptr : chip;
}

const llvm::Target &getTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  return *llvm::TargetRegistry::lookupTarget(kTriple.str(), error);
}

/// One module with all kernels, from the gpu dialect to optimised LLVM IR.
class Code {
public:
  Code(ModuleOp module, const GpuTarget &target) : module(module), target(target) {}

  LogicalResult emitGpuDialect() {
    MLIRContext *context = module.getContext();
    context
        ->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, gpu::GPUDialect, arith::ArithDialect, math::MathDialect>();
    owner = ModuleOp::create(UnknownLoc::get(context));
    OpBuilder b = OpBuilder::atBlockEnd(owner->getBody());
    kernels = b.create<gpu::GPUModuleOp>(owner->getLoc(), "kernels");
    for (plan::KernelOp kernel : module.getOps<plan::KernelOp>())
      if (failed(emitGpuKernel(kernel, kernels)))
        return failure();
    return success();
  }

  LogicalResult build() {
    const Chip *chip = findChip(target.chip);
    if (!chip)
      return GpuTarget::named(target.chip, module.getLoc());
    if (failed(emitGpuDialect()))
      return failure();
    callLibdevice(kernels);
    if (failed(convertToNvvm(kernels)))
      return failure();
    MLIRContext *mlirContext = module.getContext();
    // Without positions: code does not depend on where its source lies.
    kernels->walk([&](Operation *op) { op->setLoc(UnknownLoc::get(mlirContext)); });
    DialectRegistry registry;
    registerBuiltinDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
    mlirContext->appendDialectRegistry(registry);
    llvmModule = translateModuleToLLVMIR(kernels, context, "kernels");
    if (!llvmModule)
      return module.emitError("cannot translate the kernels to LLVM IR");
    llvm::TargetOptions options;
    machine.reset(getTarget().createTargetMachine(kTriple, chip->name, ("+" + chip->ptx).str(), options,
                                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
    llvmModule->setTargetTriple(kTriple);
    llvmModule->setDataLayout(machine->createDataLayout());
    if (failed(linkLibdevice(*llvmModule, target.toolkit, module.getLoc())))
      return failure();
    optimize();
    return success();
  }

  std::string getGpuDialectText() {
    std::string text;
    llvm::raw_string_ostream os(text);
    owner->print(os);
    os << "\n";
    return text;
  }

  std::string getLlvmText() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvmModule->print(os, nullptr);
    return text;
  }

  FailureOr<std::string> getPtx() {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream os(bytes);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
      return module.emitError("LLVM cannot write PTX for ") << target.chip;
    passes.run(*llvmModule);
    return std::string(bytes.data(), bytes.size());
  }

private:
  void optimize() {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graph;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(machine.get());
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(*llvmModule, modules);
  }

  ModuleOp module;
  const GpuTarget &target;
  OwningOpRef<ModuleOp> owner;
  gpu::GPUModuleOp kernels;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace

FailureOr<GpuTarget> GpuTarget::named(StringRef chip, Location loc) {
  if (findChip(chip))
    return GpuTarget{chip.str(), ""};
  std::string names;
  for (const Chip &known : kChips)
    names += (names.empty() ? "" : ", ") + known.name.str();
  InFlightDiagnostic error = emitError(loc) << "no GPU architecture '" << chip << "'";
  error.attachNote() << "there are " << names;
  return failure();
}

spmd::TargetInfo GpuTarget::getInfo() const {
  spmd::TargetInfo info;
  info.backend = "cuda";
  info.cpu = chip;
  return info;
}

FailureOr<std::string> emitPtx(ModuleOp module, const GpuTarget &target) {
  Code code(module, target);
  if (failed(code.build()))
    return failure();
  return code.getPtx();
}

FailureOr<std::string> emitGpuLlvmText(ModuleOp module, const GpuTarget &target) {
  Code code(module, target);
  if (failed(code.build()))
    return failure();
  return code.getLlvmText();
}

FailureOr<std::string> emitGpuDialectText(ModuleOp module, const GpuTarget &target) {
  Code code(module, target);
  if (failed(code.emitGpuDialect()))
    return failure();
  return code.getGpuDialectText();
}

static void setExtents(std::vector<spmd::Step> &steps, ArrayRef<int64_t> blocks) {
  for (spmd::Step &step : steps) {
    if (auto *launch = std::get_if<spmd::LaunchStep>(&step.op)) {
      launch->extent = blocks[launch->kernel];
      launch->grain = 1;
    } else if (auto *branch = std::get_if<spmd::IfStep>(&step.op)) {
      setExtents(branch->thenSteps, blocks);
      setExtents(branch->elseSteps, blocks);
    } else if (auto *loop = std::get_if<spmd::WhileStep>(&step.op)) {
      setExtents(loop->condition, blocks);
      setExtents(loop->body, blocks);
    }
  }
}

LogicalResult describeGpuLaunches(ModuleOp module, const GpuTarget &target, spmd::Plan &plan) {
  SmallVector<int64_t> blocks(plan.kernels.size());
  for (auto [number, info] : llvm::enumerate(plan.kernels)) {
    auto kernel = module.lookupSymbol<plan::KernelOp>(info.symbol);
    if (!kernel)
      return module.emitError() << "the plan's kernel '" << info.symbol << "' is not in the module";
    FailureOr<GpuMapping> mapping = getGpuMapping(kernel);
    if (failed(mapping))
      return failure();
    info.blockThreads = static_cast<int32_t>(mapping->blockThreads);
    info.gridBlocks = blocks[number] = mapping->gridBlocks;
    // What kernels share is declared in the PTX.
    info.sharedBytes = 0;
  }
  setExtents(plan.steps, blocks);
  plan.target = target.getInfo();
  return success();
}

} // namespace spmdc
