//===- EmitCpu.cpp - kernels to machine code for a CPU --------------------===//

#include "passes/cpu/EmitCpu.h"

#include "passes/cpu/AssemblyText.h"
#include "passes/cpu/DistinctLoops.h"
#include "passes/cpu/LightKernels.h"
#include "passes/cpu/LinkObject.h"
#include "passes/cpu/MathExpansion.h"
#include "passes/kernel/LlvmCode.h"
#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Error.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <atomic>
#include <limits>
#include <mutex>
#include <thread>

using namespace mlir;

namespace spmdc {
namespace {

constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

/// LLVM's names of extensions that generated code may use and that some x86-64 machines lack.
constexpr llvm::StringLiteral kExtensions[] = {"sse3",       "ssse3",        "sse4.1",
                                               "sse4.2",     "popcnt",       "avx",
                                               "avx2",       "fma",          "f16c",
                                               "bmi",        "bmi2",         "lzcnt",
                                               "movbe",      "avx512f",      "avx512bw",
                                               "avx512cd",   "avx512dq",     "avx512vl",
                                               "avx512ifma", "avx512vbmi",   "avx512vbmi2",
                                               "avx512vnni", "avx512bitalg", "avx512vpopcntdq",
                                               "avx512bf16", "avx512fp16",   "avx512vp2intersect",
                                               "avxvnni",    "gfni",         "vaes",
                                               "vpclmulqdq"};

const llvm::Target &getTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  return *llvm::TargetRegistry::lookupTarget(kTriple.str(), error);
}

std::string joinFeatures(const CpuTarget &target) {
  std::string text;
  for (const std::string &feature : target.features)
    text += (text.empty() ? "" : ",") + feature;
  return text;
}

std::unique_ptr<llvm::MCSubtargetInfo> getSubtarget(const CpuTarget &target) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      getTarget().createMCSubtargetInfo(kTriple, target.cpu, joinFeatures(target)));
}

std::unique_ptr<llvm::TargetMachine> createMachine(const CpuTarget &target, unsigned optimizationLevel) {
  llvm::TargetOptions options;
  options.FunctionSections = true;
  auto level = static_cast<llvm::CodeGenOptLevel>(std::min(optimizationLevel, 3u));
  return std::unique_ptr<llvm::TargetMachine>(getTarget().createTargetMachine(
      kTriple, target.cpu, joinFeatures(target), options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
}

int64_t getVectorBytes(const CpuTarget &target) {
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget = getSubtarget(target);
  return subtarget->checkFeatures("+avx512f") ? 64 : subtarget->checkFeatures("+avx") ? 32 : 16;
}

/// Converts arith and math to the llvm dialect; loops and memory accesses are in it already.
LogicalResult convertToLlvmDialect(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect>();
  target.addLegalOp<ModuleOp>();
  target.addIllegalDialect<arith::ArithDialect, math::MathDialect>();
  return applyPartialConversion(module, target, std::move(patterns));
}

/// One LLVM module with some kernels, for the target.
class Code {
public:
  Code(const CpuTarget &target, bool isLight) : target(target), isLight(isLight) {}

  /// Translates these functions, which stay in the module.
  LogicalResult translate(MLIRContext *mlirContext, MutableArrayRef<KernelLoops> chosen) {
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(mlirContext), "kernels");
    for (KernelLoops &loops : chosen)
      for (LLVM::LLVMFuncOp function : {loops.entry, loops.body})
        function->moveBefore(kernels->getBody(), kernels->getBody()->end());
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget = getSubtarget(target);
    MathOptions math;
    math.hasFma = subtarget->checkFeatures("+fma");
    expandMath(*kernels, math);
    if (failed(convertToLlvmDialect(*kernels)))
      return failure();
    if (failed(code.translate(*kernels, createMachine(target, isLight ? 0 : target.optimizationLevel))))
      return failure();
    for (KernelLoops &loops : chosen)
      for (StringAttr name : loops.otherNames)
        llvm::GlobalAlias::create(name.getValue(), code.getModule().getFunction(loops.entry.getName()));
    isWide = subtarget->checkFeatures("+avx512f");
    for (llvm::Function &function : code.getModule()) {
      if (function.isDeclaration())
        continue;
      function.addFnAttr("target-cpu", target.cpu);
      if (!target.features.empty())
        function.addFnAttr("target-features", joinFeatures(target));
      if (isWide)
        function.addFnAttr("prefer-vector-width", "512");
    }
    return success();
  }

  // The next steps use nothing that modules share, so they may run in parallel.

  void optimize() {
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = target.optimizationLevel >= 2;
    if (isLight && target.optimizationLevel > 0)
      code.optimizeLightly(tuning, isWide ? 16 : 8);
    else
      code.optimize(target.optimizationLevel, tuning);
  }

  LogicalResult link(const Code &other) { return code.link(other.code); }
  std::string getText() const { return code.getText(); }

  /// x86 adds a base, a scaled index and an offset in each access: strength reduction takes a fifth of LLVM's time and
  /// leaves loops no faster (`benchmarks/RESULTS.md`).
  FailureOr<std::string> emit(llvm::CodeGenFileType type) { return code.emit(type, /*reducesStrength=*/false); }
  const std::string &getErrors() const { return code.getErrors(); }

private:
  const CpuTarget &target;
  bool isLight, isWide = false;
  LlvmCode code;
};

/// The number of loops in one object file. It does not depend on the machine, so that every machine produces the same
/// bytes.
constexpr size_t kLoopsPerObject = 6;

/// Calls `work` with 0 to count - 1, on one thread for each core, or fewer if the system refuses more.
void forEachInParallel(size_t count, llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<spmd::BackgroundThread> others;
  size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  try {
    while (others.size() + 1 < threads)
      others.emplace_back("spmd-compile", run);
  } catch (const spmd::Error &) {
    // No thread was created: the others do its work.
  }
  run();
}

/// Translates all kernels into parts of at most `most` loops; the parts that are fully optimised come first.
FailureOr<std::vector<std::unique_ptr<Code>>> translateKernels(ModuleOp module, const CpuTarget &target, size_t most) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect>();
  KernelGroups groups = groupKernels(module);
  int64_t vectorBytes = getVectorBytes(target);
  std::vector<std::unique_ptr<Code>> parts;
  for (bool isLight : {false, true}) {
    OwningOpRef<ModuleOp> functions = ModuleOp::create(UnknownLoc::get(context));
    FailureOr<std::vector<KernelLoops>> loops =
        emitDistinctLoops(isLight ? groups.light : groups.full, *functions, vectorBytes);
    if (failed(loops))
      return failure();
    for (MutableArrayRef<KernelLoops> rest = *loops; !rest.empty() || parts.empty();) {
      size_t count = std::min(rest.size(), most);
      parts.push_back(std::make_unique<Code>(target, isLight));
      if (failed(parts.back()->translate(context, rest.take_front(count))))
        return failure();
      rest = rest.drop_front(count);
    }
  }
  return parts;
}

/// Returns the optimised code of all kernels: one part for each way of optimising.
FailureOr<std::vector<std::unique_ptr<Code>>> optimizeKernels(ModuleOp module, const CpuTarget &target) {
  FailureOr<std::vector<std::unique_ptr<Code>>> parts =
      translateKernels(module, target, std::numeric_limits<size_t>::max());
  if (succeeded(parts))
    for (std::unique_ptr<Code> &code : *parts)
      code->optimize();
  return parts;
}

LogicalResult reportNoCode(ModuleOp module, const CpuTarget &target, const Code &code) {
  return module.emitError("LLVM cannot write code for ") << target.cpu << code.getErrors();
}

} // namespace

CpuTarget CpuTarget::host() {
  CpuTarget target;
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  for (llvm::StringRef name : kExtensions)
    if (auto entry = features.find(name); entry != features.end())
      target.features.push_back((entry->second ? "+" : "-") + name.str());
  return target;
}

FailureOr<CpuTarget> CpuTarget::named(llvm::StringRef cpu, Location loc) {
  CpuTarget target;
  target.cpu = cpu.str();
  std::unique_ptr<llvm::MCSubtargetInfo> generic(getTarget().createMCSubtargetInfo(kTriple, "x86-64", ""));
  if (generic->isCPUStringValid(cpu))
    return target;
  InFlightDiagnostic error = emitError(loc) << "unknown CPU '" << cpu << "'";
  std::string names;
  for (const llvm::SubtargetSubTypeKV &known : generic->getAllProcessorDescriptions())
    names += (names.empty() ? "" : ", ") + std::string(known.Key);
  error.attachNote() << "LLVM knows " << names;
  return failure();
}

spmd::TargetInfo CpuTarget::getInfo() const {
  spmd::TargetInfo info;
  info.backend = "cpu";
  info.cpu = cpu;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget = getSubtarget(*this);
  for (llvm::StringRef name : kExtensions)
    if (subtarget->checkFeatures(("+" + name).str()))
      info.features.push_back(name.str());
  return info;
}

FailureOr<std::string> emitSharedObject(ModuleOp module, const CpuTarget &target) {
  FailureOr<std::vector<std::unique_ptr<Code>>> translated = translateKernels(module, target, kLoopsPerObject);
  if (failed(translated))
    return failure();
  std::vector<std::unique_ptr<Code>> &parts = *translated;
  std::vector<FailureOr<std::string>> written(parts.size(), failure());
  forEachInParallel(parts.size(), [&](size_t i) {
    parts[i]->optimize();
    written[i] = parts[i]->emit(llvm::CodeGenFileType::ObjectFile);
  });
  std::vector<std::string> objects;
  for (auto [object, part] : llvm::zip_equal(written, parts)) {
    if (failed(object))
      return reportNoCode(module, target, *part);
    objects.push_back(std::move(*object));
  }
  return linkSharedObject(objects, module.getLoc());
}

FailureOr<std::string> emitLlvmText(ModuleOp module, const CpuTarget &target) {
  FailureOr<std::vector<std::unique_ptr<Code>>> parts = optimizeKernels(module, target);
  if (failed(parts))
    return failure();
  for (std::unique_ptr<Code> &code : MutableArrayRef(*parts).drop_front())
    if (failed(parts->front()->link(*code)))
      return module.emitError("LLVM cannot link what it has written itself");
  return parts->front()->getText();
}

FailureOr<std::string> emitAsmText(ModuleOp module, const CpuTarget &target) {
  FailureOr<std::vector<std::unique_ptr<Code>>> parts = optimizeKernels(module, target);
  if (failed(parts))
    return failure();
  std::string all;
  for (auto [number, code] : llvm::enumerate(*parts)) {
    FailureOr<std::string> text = code->emit(llvm::CodeGenFileType::AssemblyFile);
    if (failed(text))
      return reportNoCode(module, target, *code);
    all += number == 0 ? *text : renameLocalLabels(*text, ".L" + std::to_string(number) + ".");
  }
  return all;
}

} // namespace spmdc
