//===- EmitGpu.cpp - kernels to PTX ---------------------------------------===//

#include "passes/gpu/EmitGpu.h"

#include "passes/gpu/Libdevice.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/KernelSchedule.h"
#include "passes/kernel/LlvmCode.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;

namespace spmdc {
namespace {

constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";

/// The oldest version of PTX that supports the chip and what kernels need on it (`shfl.sync`; on sm_90
/// `barrier.cluster.arrive.relaxed`), so that drivers from then on accept the code;
/// the KiB of shared memory that a block may have (CUDA Programming Guide, "Technical Specifications per Compute
/// Capability"); and the blocks of a cluster that every device of the chip can run (the same, "Thread Block Clusters").
struct Chip {
  llvm::StringLiteral name, ptx;
  int64_t sharedKiB;
  bool isAmpere = false; ///< It has tanh.approx.f32, cp.async, and mma of bf16: sm_80 and newer.
  int64_t clusterBlocks = 1;
  /// It adds and multiplies bf16: sm_90 and newer.
  bool isHopper() const { return clusterBlocks > 1; }
};
constexpr Chip kChips[] = {
    {"sm_70", "ptx63", 96},        {"sm_72", "ptx63", 96},           {"sm_75", "ptx63", 64},
    {"sm_80", "ptx70", 163, true}, {"sm_86", "ptx71", 99, true},     {"sm_87", "ptx74", 163, true},
    {"sm_89", "ptx78", 99, true},  {"sm_90", "ptx80", 227, true, 8}, {"sm_90a", "ptx80", 227, true, 8}};

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

/// Instructions that all lanes of a warp execute together (`.sync.aligned`) are inline assembly with side effects: LLVM
/// must make no copies of it on branches that some lanes take.
void keepTogether(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
          if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
              assembly && assembly->hasSideEffects())
            call->setConvergent();
}

/// One module with all kernels, from the gpu dialect to optimised LLVM IR.
class Code {
public:
  Code(ModuleOp module, const GpuTarget &target) : module(module), target(target) {}

  LogicalResult build() {
    const Chip *chip = findChip(target.chip);
    if (!chip)
      return GpuTarget::named(target.chip, module.getLoc());
    MLIRContext *mlirContext = module.getContext();
    owner = module.clone();
    PassManager passes(mlirContext);
    passes.addPass(createEmitGpuKernels());
    passes.addNestedPass<gpu::GPUModuleOp>(createNarrowArithmetic({chip->isHopper()}));
    passes.addNestedPass<gpu::GPUModuleOp>(createCallLibdevice({chip->isAmpere}));
    passes.addNestedPass<gpu::GPUModuleOp>(createConvertToNvvm());
    if (failed(passes.run(*owner)))
      return failure();
    auto kernels = *owner->getOps<gpu::GPUModuleOp>().begin();
    llvm::TargetOptions options;
    std::unique_ptr<llvm::TargetMachine> machine(
        getTarget().createTargetMachine(kTriple, chip->name, ("+" + chip->ptx).str(), options, llvm::Reloc::PIC_,
                                        std::nullopt, llvm::CodeGenOptLevel::Aggressive));
    if (failed(code.translate(kernels, std::move(machine))))
      return failure();
    if (failed(linkLibdevice(code.getModule(), target.toolkit, UnknownLoc::get(module.getContext()))))
      return failure();
    keepTogether(code.getModule());
    llvm::PipelineTuningOptions tuning;
    tuning.SLPVectorization = true; // Pairs of 16-bit values.
    code.optimize(/*level=*/3, tuning);
    return success();
  }

  std::string getLlvmText() const { return code.getText(); }

  FailureOr<std::string> getPtx() {
    FailureOr<std::string> text = code.emit(llvm::CodeGenFileType::AssemblyFile, /*reducesStrength=*/true);
    if (failed(text))
      return module.emitError("LLVM cannot write PTX for ") << target.chip << code.getErrors();
    addClusters(*text);
    return text;
  }

private:
  /// Adds the size of the clusters to the directives of each kernel that has them: a launch then needs no attribute of
  /// its own. LLVM 19 has no annotation for it.
  void addClusters(std::string &text) {
    for (const llvm::Function &function : code.getModule()) {
      if (!function.hasFnAttribute(kClusterDimAttrName))
        continue;
      StringRef blocks = function.getFnAttribute(kClusterDimAttrName).getValueAsString();
      size_t body = text.find("\n{", text.find((".entry " + function.getName() + "(").str()));
      text.insert(body, ("\n.explicitcluster\n.reqnctapercluster " + blocks + ", 1, 1").str());
    }
  }

  ModuleOp module;
  const GpuTarget &target;
  OwningOpRef<ModuleOp> owner;
  LlvmCode code;
};

} // namespace

FailureOr<GpuTarget> GpuTarget::named(StringRef chip, Location loc) {
  if (findChip(chip))
    return GpuTarget{chip.str(), ""};
  std::string names;
  for (const Chip &known : kChips)
    names += (names.empty() ? "" : ", ") + known.name.str();
  InFlightDiagnostic error = emitError(loc) << "unknown GPU architecture '" << chip << "'";
  error.attachNote() << "supported: " << names;
  return failure();
}

spmd::TargetInfo GpuTarget::getInfo() const {
  spmd::TargetInfo info;
  info.backend = "cuda";
  info.cpu = chip;
  return info;
}

GpuLimits GpuTarget::getLimits() const {
  const Chip *known = findChip(chip);
  if (!known)
    return GpuLimits();
  // Only code for this architecture alone may have wgmma.
  MatrixUnit unit = !known->isAmpere          ? MatrixUnit::None
                    : known->name == "sm_90a" ? MatrixUnit::Warpgroup
                                              : MatrixUnit::Warp;
  return GpuLimits{known->sharedKiB * 1024, known->clusterBlocks, unit};
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

} // namespace spmdc
