//===- EmitCpu.cpp - kernels to machine code for a CPU --------------------===//

#include "passes/cpu/EmitCpu.h"

#include "passes/cpu/AssemblyText.h"
#include "passes/cpu/CodeUnits.h"
#include "passes/cpu/DistinctLoops.h"
#include "passes/cpu/InlineKernels.h"
#include "passes/cpu/LightKernels.h"
#include "passes/cpu/LinkObject.h"
#include "passes/cpu/LoopFunction.h"
#include "passes/cpu/MathExpansion.h"
#include "passes/cpu/Maxima.h"
#include "passes/cpu/OptimizeKernels.h"
#include "passes/cpu/VectorCalls.h"
#include "passes/kernel/LlvmCode.h"
#include "runtime/support/MatrixUnit.h"
#include "runtime/support/ParallelLoop.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <limits>
#include <mutex>

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
                                               "vpclmulqdq", "amx-tile",     "amx-bf16"};

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

/// Returns which of `kExtensions` the target has, in their order.
std::vector<std::string> listExtensions(const CpuTarget &target) {
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget = getSubtarget(target);
  // Asked for one name at a time, LLVM collects the features that each name implies.
  llvm::StringSet<> all;
  for (const llvm::SubtargetFeatureKV &feature : subtarget->getAllProcessorFeatures())
    if (subtarget->getFeatureBits().test(feature.Value))
      all.insert(feature.Key);
  std::vector<std::string> extensions;
  for (llvm::StringRef name : kExtensions)
    if (all.contains(name))
      extensions.push_back(name.str());
  return extensions;
}

/// The properties of a target on which the code of kernels depends before LLVM has it.
struct TargetTraits {
  bool hasFma = false, isWide = false, hasScale = false, hasRange = false;
  CpuUnits units;

  explicit TargetTraits(const CpuTarget &target) {
    std::vector<std::string> extensions = listExtensions(target);
    hasFma = llvm::is_contained(extensions, "fma");
    isWide = llvm::is_contained(extensions, "avx512f");
    hasScale = isWide && llvm::is_contained(extensions, "avx512vl");
    hasRange = hasScale && llvm::is_contained(extensions, "avx512dq");
    units.vectorBytes = isWide ? 64 : llvm::is_contained(extensions, "avx") ? 32 : 16;
    units.hasMasks = hasScale && llvm::is_contained(extensions, "avx512bw");
    units.hasMatrixUnit =
        isWide && llvm::all_of(llvm::ArrayRef<llvm::StringLiteral>{"amx-tile", "amx-bf16", "avx512bf16"},
                               [&](llvm::StringRef name) { return llvm::is_contained(extensions, name); });
  }
};

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
  Code(const CpuTarget &target, const TargetTraits &traits, bool isLight)
      : target(target), traits(traits), isLight(isLight) {}

  /// Translates the functions of these units, which it takes from their module.
  LogicalResult translate(MLIRContext *mlirContext, const spmd::Plan &plan, ArrayRef<CodeUnit> units,
                          const FunctionNames &names) {
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(mlirContext), "kernels");
    for (const CodeUnit &unit : units)
      for (const KernelLoops *one : unit.kernels)
        for (LLVM::LLVMFuncOp function : {one->entry, one->body})
          function->moveBefore(kernels->getBody(), kernels->getBody()->end());
    for (const CodeUnit &unit : units)
      for (const spmd::CompiledLoop &loop : unit.loops)
        loops.push_back(emitLoopFunction(plan, loop, names, *kernels));
    MathOptions math;
    math.hasFma = traits.hasFma;
    math.hasScale = traits.hasScale;
    expandMath(*kernels, math);
    if (failed(convertToLlvmDialect(*kernels)))
      return failure();
    if (failed(code.translate(*kernels, createMachine(target, isLight ? 0 : target.optimizationLevel))))
      return failure();
    for (const CodeUnit &unit : units)
      for (const KernelLoops *one : unit.kernels)
        for (StringAttr name : one->otherNames)
          llvm::GlobalAlias::create(name.getValue(), code.getModule().getFunction(names.lookup(name.getValue())));
    nameVectorCalls(code.getModule());
    keepKernelCalls(code.getModule(), loops);
    for (llvm::Function &function : code.getModule()) {
      if (function.isDeclaration())
        continue;
      function.addFnAttr("target-cpu", target.cpu);
      if (!target.features.empty())
        function.addFnAttr("target-features", joinFeatures(target));
      if (traits.isWide)
        function.addFnAttr("prefer-vector-width", "512");
    }
    return success();
  }

  // The next steps use nothing that modules share, so they may run in parallel.

  void optimize() {
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = target.optimizationLevel >= 2;
    if (isLight && target.optimizationLevel > 0)
      optimizeKernelsLightly(code, tuning, traits.isWide ? 16 : 8);
    else if (target.optimizationLevel >= 2)
      optimizeKernels(code, tuning);
    else
      code.optimize(target.optimizationLevel, tuning);
    lowerVectorCalls(code.getModule());
    if (traits.hasRange && target.optimizationLevel > 0)
      lowerMaxima(code.getModule());
    if (target.optimizationLevel >= 2)
      inlineKernels(code, loops);
  }

  LogicalResult link(const Code &other) { return code.link(other.code); }
  std::string getText() const { return code.getText(); }

  /// x86 adds a base, a scaled index and an offset in each access: strength reduction takes a fifth of LLVM's time and
  /// leaves loops no faster (`benchmarks/RESULTS.md`).
  FailureOr<std::string> emit(llvm::CodeGenFileType type) { return code.emit(type, /*reducesStrength=*/false); }
  const std::string &getErrors() const { return code.getErrors(); }

private:
  const CpuTarget &target;
  TargetTraits traits;
  bool isLight;
  std::vector<std::string> loops; ///< The functions of loops.
  LlvmCode code;
};

/// The operations of the kernels in one object file: an object takes about as long as 50 operations before it has any.
/// It does not depend on the machine, so that every machine produces the same bytes.
constexpr size_t kOperationsPerObject = 150;

/// Translates all functions into parts of at most this many operations, if it is more than one unit; the parts that are
/// fully optimised come first.
FailureOr<std::vector<std::unique_ptr<Code>>> translateKernels(ModuleOp module, const spmd::Plan &plan,
                                                               const CpuTarget &target, size_t mostOperations) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect>();
  KernelGroups groups = groupKernels(module);
  TargetTraits traits(target);
  std::vector<std::unique_ptr<Code>> parts;
  for (bool isLight : {false, true}) {
    OwningOpRef<ModuleOp> functions = ModuleOp::create(UnknownLoc::get(context));
    FailureOr<std::vector<KernelLoops>> loops =
        emitDistinctLoops(isLight ? groups.light : groups.full, *functions, traits.units);
    if (failed(loops))
      return failure();
    FunctionNames names = nameFunctions(*loops);
    std::vector<spmd::CompiledLoop> compiledLoops;
    if (!isLight) // Kernels in loops are not light.
      compiledLoops = spmd::listCompiledLoops(plan);
    std::vector<CodeUnit> units = formUnits(*loops, names, plan, compiledLoops);
    for (ArrayRef<CodeUnit> rest = units; !rest.empty() || parts.empty();) {
      ArrayRef<CodeUnit> chosen = takeForObject(rest, mostOperations);
      parts.push_back(std::make_unique<Code>(target, traits, isLight));
      if (failed(parts.back()->translate(context, plan, chosen, names)))
        return failure();
      rest = rest.drop_front(chosen.size());
    }
  }
  return parts;
}

/// Returns the optimised code of all kernels: one part for each way of optimising.
FailureOr<std::vector<std::unique_ptr<Code>>> optimizeKernels(ModuleOp module, const spmd::Plan &plan,
                                                              const CpuTarget &target) {
  FailureOr<std::vector<std::unique_ptr<Code>>> parts =
      translateKernels(module, plan, target, std::numeric_limits<size_t>::max());
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
    if (auto entry = features.find(name); entry != features.end()) {
      bool isUsable = entry->second && (!name.starts_with("amx") || spmd::canUseMatrixUnit());
      target.features.push_back((isUsable ? "+" : "-") + name.str());
    }
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
  info.features = listExtensions(*this);
  return info;
}

FailureOr<std::string> emitSharedObject(ModuleOp module, const spmd::Plan &plan, const CpuTarget &target) {
  if (plan.kernels.empty())
    return std::string();
  FailureOr<std::vector<std::unique_ptr<Code>>> translated =
      translateKernels(module, plan, target, kOperationsPerObject);
  if (failed(translated))
    return failure();
  std::vector<std::unique_ptr<Code>> &parts = *translated;
  std::vector<FailureOr<std::string>> written(parts.size(), failure());
  spmd::forEachInParallel(parts.size(), [&](size_t i) {
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

FailureOr<std::string> emitLlvmText(ModuleOp module, const spmd::Plan &plan, const CpuTarget &target) {
  FailureOr<std::vector<std::unique_ptr<Code>>> parts = optimizeKernels(module, plan, target);
  if (failed(parts))
    return failure();
  for (std::unique_ptr<Code> &code : MutableArrayRef(*parts).drop_front())
    if (failed(parts->front()->link(*code)))
      return module.emitError("LLVM cannot link what it has written itself");
  return parts->front()->getText();
}

FailureOr<std::string> emitAsmText(ModuleOp module, const spmd::Plan &plan, const CpuTarget &target) {
  FailureOr<std::vector<std::unique_ptr<Code>>> parts = optimizeKernels(module, plan, target);
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
