//===- Compiler.cpp - from a program's text to an artifact ----------------===//

#include "compiler/Compiler.h"

#include "compiler/CompileMessages.h"
#include "compiler/Importer.h"
#include "compiler/Target.h"
#include "compiler/cache/CompileCache.h"
#include "compiler/cache/CompileKey.h"
#include "frontend/stablehlo/export/Export.h"
#include "ir/plan/AllowTf32.h"
#include "ir/plan/PlanOps.h"
#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/ReducePrecision.h"
#include "ir/spmd/SpmdTypes.h"
#include "passes/collectives/Passes.h"
#include "passes/cpu/EmitCpu.h"
#include "passes/gpu/EmitGpu.h"
#include "passes/kernel/KernelReads.h"
#include "passes/partition/Passes.h"
#include "passes/pipeline/Registration.h"
#include "passes/plan/ExportPlan.h"
#include "runtime/artifact/MemoryUse.h"
#include "runtime/artifact/PlanPrinter.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <set>

using namespace mlir;

namespace spmdc {
namespace {

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

struct Compiler::State : CompileMessages {
  State(std::string fileName, std::string text, CompileOptions options)
      : CompileMessages(std::move(fileName), std::move(text)), options(std::move(options)),
        importer(importerOf(this->fileName, this->text)), context(registry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) { return take(diagnostic); }) {
    if (std::string cause; !convertToText(this->text, cause))
      general += "error: '" + this->fileName + "' " + cause + "\n";
    if (this->options.cache) // Before the code below changes options: the key covers the options as given.
      cacheKey = compileKey(this->fileName, this->text, this->options);
    this->options.frontend.warnings = &warnings;
    // Messages are in terms of the source program; the text of an IR operation would not help its user.
    context.printOpOnDiagnostic(importer.readsOperations());
    chooseTarget();
  }

  /// Parses the target. On an error no stage can be computed.
  void chooseTarget() {
    std::optional<Target> target = Target::parse(options.target);
    if (!target) {
      general += "error: '" + options.target + "' is not a target; " + kTargets + "\n";
      return;
    }
    options.frontend.platform = target->isCuda ? "cuda" : "cpu";
    if (target->isCuda) {
      FailureOr<GpuTarget> named = GpuTarget::named(target->chip, UnknownLoc::get(&context));
      if (failed(named))
        return;
      gpu = std::move(*named);
      gpu->toolkit = options.cudaToolkit;
      options.pipeline.backend = KernelTarget::Gpu;
      options.pipeline.gpu = gpu->getLimits();
      return;
    }
    if (target->chip.empty())
      cpu = CpuTarget::host();
    else if (FailureOr<CpuTarget> named = CpuTarget::named(target->chip, UnknownLoc::get(&context)); succeeded(named))
      cpu = std::move(*named);
    cpu.optimizationLevel = options.optimizationLevel;
  }

  static DialectRegistry registry() {
    DialectRegistry result;
    registerDialects(result);
    return result;
  }

  /// The module as the front end or the IR parser returns it; null on errors.
  ModuleOp getStart() {
    if (start || hasErrors())
      return start ? *start : ModuleOp();
    auto began = std::chrono::steady_clock::now();
    start = importer.import(text, fileName, options.frontend, context, diagnostics);
    times.push_back({"frontend", millisecondsSince(began)});
    if (start) {
      options.costModel.attachTo(*start);
      if (options.reducePrecision)
        setReducePrecision(*start, *options.reducePrecision);
      if (!gpu) // CPUs have no TF32; IR of a program for a GPU may have the attribute.
        (*start)->removeAttr(kAllowTf32AttrName);
      else if (options.allowTf32)
        (*start)->setAttr(kAllowTf32AttrName, UnitAttr::get(&context));
      warnOfUnknownAxes();
    }
    return *start;
  }

  /// Warns about axes of the cost model that the mesh lacks: a typo, or a model of another mesh.
  void warnOfUnknownAxes() {
    auto meshAttr = (*start)->getAttrOfType<MeshAttr>(kMeshAttrName);
    if (!meshAttr)
      return;
    spmd::MeshShape mesh = meshAttr.toValue();
    for (const auto &[name, rates] : options.costModel.axes)
      if (mesh.indexOf(name) < 0)
        warnings.error(placeOf(UnknownLoc::get(&context)),
                       "the cost model has rates for the axis '" + name + "', which the mesh does not have");
  }

  /// The module at a stage up to Plan; null on errors.
  ModuleOp getModule(Stage stage) {
    if (modules[stage])
      return *modules[stage];
    ModuleOp begin = getStart();
    if (!begin)
      return {};
    Stage reached = spmdc::getStage(begin);
    if (stage < reached) {
      general += ("error: '" + Twine(fileName) + "' is past the stage '" + stageName(stage) + "': it is at '" +
                  stageName(reached) + "'\n")
                     .str();
      return {};
    }
    if (stage >= Stage::Partitioned && reached < Stage::Partitioned)
      fitMemory();
    // Continue from the latest stage that was computed.
    ModuleOp from = begin;
    Stage at = reached;
    for (auto &[done, module] : modules)
      if (module && done <= stage && done >= at) {
        from = *module;
        at = done;
      }
    OwningOpRef<ModuleOp> module = from.clone();
    if (failed(runPipeline(*module, at, stage, options.pipeline, &times))) {
      if (!hasErrors())
        general += "error: the compiler failed without a message: this is a bug in spmdc\n";
      return {};
    }
    modules[stage] = std::move(module);
    return *modules[stage];
  }

  /// The number of steps in which the last attempts raise `bytesToFree` to the program's total memory.
  static constexpr int64_t kParts = 8;

  /// If the program exceeds its memory budget, lets the partitioner trade communication for memory (docs/budgets.md).
  /// Only buffer assignment shows how much a trade saves, so this compiles plans until one fits or all trades are made.
  void fitMemory() {
    if (isMemoryFitted)
      return;
    isMemoryFitted = true;
    std::optional<int64_t> limit;
    for (const BudgetLimit &budget : getBudget(getStart(), options.budget))
      if (budget.what == "memory")
        limit = budget.limit;
    if (!limit)
      return;
    PipelineOptions best = options.pipeline;
    std::optional<int64_t> least = planBytes(best), first = least;
    auto attempt = [&](int64_t asked, bool growsCarries, bool startsEarly) {
      PipelineOptions trial = options.pipeline;
      trial.bytesToFree = asked;
      trial.growsCarries = growsCarries;
      trial.startsEarly = startsEarly;
      std::optional<int64_t> bytes = planBytes(trial);
      if (!bytes || *bytes >= *least)
        return false;
      least = bytes;
      best = trial;
      return true;
    };
    // First repeated gathers, then loops without carried partial sums, at last no overlapped transfers.
    for (auto [growsCarries, startsEarly] : {std::pair(true, true), {false, true}, {false, false}}) {
      int64_t asked = growsCarries ? 0 : -1, more = 0;
      while (least && *least > *limit && asked < *first) {
        // Ask for the excess. If that changes nothing, ask for twice as much: a gather may free more than the excess.
        more = std::max(2 * more, *least - *limit);
        asked = asked < 0 ? 0 : asked + more;
        if (attempt(asked, growsCarries, startsEarly))
          more = 0;
      }
    }
    // The error names the least memory found, independent of the limit.
    for (int64_t part = 1; part <= kParts && least && *least > *limit; ++part)
      attempt(*first / kParts * part, /*growsCarries=*/false, /*startsEarly=*/false);
    options.pipeline.bytesToFree = best.bytesToFree;
    options.pipeline.growsCarries = best.growsCarries;
    options.pipeline.startsEarly = best.startsEarly;
  }

  /// The memory of one device with these options; nullopt on errors, which the final compile reports.
  std::optional<int64_t> planBytes(PipelineOptions trial) {
    ModuleOp propagated = getModule(Stage::Propagated);
    if (!propagated)
      return std::nullopt;
    ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) { return success(); });
    // Only the final compile is dumped and explained.
    trial.dumpDirectory.clear();
    trial.dumps = nullptr;
    trial.remarks = false;
    trial.propagationLog = nullptr;
    DebugTrace::Pause onTrial;
    OwningOpRef<ModuleOp> module = propagated.clone();
    if (failed(runPipeline(*module, Stage::Propagated, Stage::Plan, trial)))
      return std::nullopt;
    FailureOr<spmd::Artifact> exported = exportPlan(*module);
    return succeeded(exported) ? std::optional(spmd::memoryUseOf(*exported).peakBytes()) : std::nullopt;
  }

  /// The plan without code; null on errors.
  spmd::Artifact *getPlan() {
    if (plan)
      return &*plan;
    ModuleOp module = getModule(Stage::Plan);
    if (!module)
      return nullptr;
    FailureOr<spmd::Artifact> exported = exportPlan(module);
    if (failed(exported))
      return nullptr;
    if (gpu)
      exported->plan.target = gpu->getInfo();
    plan = std::move(*exported);
    plan->compilerVersion = SPMDC_VERSION;
    addSourceLines();
    return &*plan;
  }

  /// Adds the source lines of the plan's steps to the artifact, each once, in the order of the steps.
  void addSourceLines() {
    std::set<std::string> known;
    for (const spmd::Step &step : plan->plan.steps) {
      const spmd::SourceLocation &place = step.location;
      if (place.line == 0 || place.file != fileName || !known.insert(place.str()).second)
        continue;
      Range range = placeOf(FileLineColLoc::get(&context, place.file, place.line, place.column));
      plan->sourceLines.emplace_back(place.str(), std::string(range.source->lineAt(range.begin)));
    }
  }

  /// Comments that list the steps without PTX, because a library computes them.
  static std::string describeLibrarySteps(ModuleOp module) {
    std::string text;
    module.walk([&](Operation *op) {
      if (!isa<plan::MatmulOp, plan::LibraryOp>(op))
        return;
      std::string place;
      if (std::optional<SourcePosition> at = getSourcePosition(op->getLoc()))
        place = " at " + at->file + ":" + std::to_string(at->line) + ":" + std::to_string(at->column);
      text += "//   " + op->getName().stripDialect().str() + place + "\n";
    });
    return text.empty()
               ? ""
               : "\n// Steps of the plan that a library computes; they have no PTX (--emit=plan shows them):\n" + text;
  }

  /// The text of a stage past the plan. With an artifact: its code, and sets its target. Returns nullopt on errors.
  std::optional<std::string> emit(Stage stage, spmd::Artifact *artifact) {
    ModuleOp module = getModule(Stage::Plan);
    if (!module)
      return std::nullopt;
    auto began = std::chrono::steady_clock::now();
    FailureOr<std::string> result = emitFor(module, stage, artifact);
    times.push_back({"generate code", millisecondsSince(began)});
    if (succeeded(result))
      return std::move(*result);
    if (!hasErrors())
      general += "error: code generation failed without a message: this is a bug in spmdc\n";
    return std::nullopt;
  }

  FailureOr<std::string> emitFor(ModuleOp module, Stage stage, spmd::Artifact *artifact) {
    if (gpu) {
      if (stage == Stage::Asm && !artifact)
        return fail("--emit=asm is for CPUs; --emit=ptx prints the code of a GPU");
      if (stage == Stage::Llvm)
        return emitGpuLlvmText(module, *gpu);
      FailureOr<std::string> ptx = emitPtx(module, *gpu);
      if (succeeded(ptx) && !artifact)
        *ptx += describeLibrarySteps(module);
      return ptx;
    }
    if (stage == Stage::Ptx)
      return fail("--emit=ptx is for GPUs; give a target such as --target=cuda:sm_90");
    if (artifact) {
      artifact->plan.target = cpu.getInfo();
      return emitSharedObject(module, artifact->plan, cpu);
    }
    const spmd::Artifact *planned = getPlan();
    if (!planned)
      return failure();
    return stage == Stage::Llvm ? emitLlvmText(module, planned->plan, cpu) : emitAsmText(module, planned->plan, cpu);
  }

  CompileOptions options;
  const Importer &importer;
  std::optional<std::string> cacheKey;       ///< Nullopt if the compile does not use the cache.
  std::optional<std::string> cachedWarnings; ///< The warnings of a program from the cache.
  std::vector<PassTime> times;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> start;
  std::map<Stage, OwningOpRef<ModuleOp>> modules;
  bool isMemoryFitted = false;
  std::optional<spmd::Artifact> plan;
  std::optional<GpuTarget> gpu;
  CpuTarget cpu; ///< Used if `gpu` is nullopt.
};

Compiler::Compiler(std::string fileName, std::string text, CompileOptions options)
    : state(std::make_unique<State>(std::move(fileName), std::move(text), std::move(options))) {}

Compiler::~Compiler() = default;
Compiler::Compiler(Compiler &&) noexcept = default;
Compiler &Compiler::operator=(Compiler &&) noexcept = default;

std::optional<std::string> Compiler::textOf(Stage stage) {
  if (state->hasErrors())
    return std::nullopt;
  if (stage == Stage::Ast) {
    std::optional<std::string> tree = state->importer.dumpTree(state->text, state->fileName, state->diagnostics);
    if (!tree)
      state->general += "error: '" + state->fileName + "' has no syntax tree: --emit=ast is for programs\n";
    return state->hasErrors() ? std::nullopt : tree;
  }
  if (stage == Stage::Plan) {
    spmd::Artifact *artifact = state->getPlan();
    return artifact ? std::optional(spmd::printPlan(artifact->plan)) : std::nullopt;
  }
  if (stage > Stage::Plan)
    return state->emit(stage, nullptr);
  ModuleOp module = state->getModule(stage);
  if (!module)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

std::optional<std::string> Compiler::stablehlo() {
  ModuleOp array = module(Stage::Array);
  if (!array)
    return std::nullopt;
  OwningOpRef<ModuleOp> differentiated = array.clone();
  PassManager passes(differentiated->getContext());
  addDifferentiation(passes);
  if (failed(passes.run(*differentiated)))
    return std::nullopt;
  FailureOr<std::string> text = exportStablehlo(*differentiated);
  return failed(text) ? std::nullopt : std::optional(std::move(*text));
}

std::optional<ProgramReport> Compiler::report() {
  ModuleOp propagated = state->getModule(Stage::Propagated);
  if (!propagated)
    return std::nullopt;
  ModuleOp partitioned = state->getModule(Stage::Partitioned);
  if (!partitioned)
    return std::nullopt;
  auto after = [](ModuleOp module, std::unique_ptr<Pass> pass) {
    OwningOpRef<ModuleOp> changed = module.clone();
    PassManager passes(changed->getContext());
    passes.addPass(std::move(pass));
    return failed(passes.run(*changed)) ? OwningOpRef<ModuleOp>() : std::move(changed);
  };
  OwningOpRef<ModuleOp> ringed = after(partitioned, createCollectiveMatmuls());
  OwningOpRef<ModuleOp> combined = ringed ? after(*ringed, createCombineCollectives()) : OwningOpRef<ModuleOp>();
  if (!combined)
    return std::nullopt;
  return reportProgram(propagated, partitioned, *ringed, *combined, state->options.costModel);
}

std::optional<std::vector<WorkReport>> Compiler::work() {
  spmd::Artifact *artifact = state->getPlan();
  if (!artifact)
    return std::nullopt;
  std::vector<KernelWork> kernels; // The plan has the kernels in the module's order.
  for (auto kernel : state->getModule(Stage::Plan).getOps<plan::KernelOp>())
    kernels.push_back({countReadBytes(kernel), countProductFlops(kernel)});
  return reportWork(artifact->plan, kernels, state->options.costModel);
}

std::optional<std::vector<ShardingProposal>> Compiler::proposals(llvm::function_ref<bool(llvm::StringRef)> isFree,
                                                                 bool limitsMemory) {
  ModuleOp propagated = state->getModule(Stage::Propagated);
  if (!propagated)
    return std::nullopt;
  OwningOpRef<ModuleOp> module = propagated.clone();
  PassManager passes(module->getContext());
  addRestructuring(passes);
  if (failed(passes.run(*module)))
    return std::nullopt;
  std::vector<ShardingProposal> found;
  for (auto func : module->getOps<func::FuncOp>())
    if (!func.isExternal())
      llvm::append_range(found, proposeShardings(func, isFree, limitsMemory));
  return found;
}

bool Compiler::checkBudget() {
  ModuleOp start = state->getStart();
  std::vector<BudgetLimit> limits = start ? getBudget(start, state->options.budget) : std::vector<BudgetLimit>();
  // Without a budget, do not compute the report.
  if (!start || limits.empty())
    return !state->hasErrors();
  std::optional<ProgramReport> program = report();
  std::optional<int64_t> bytes = program ? bytesPerDevice() : std::nullopt;
  if (!bytes)
    return false;
  for (const BudgetExcess &excess : spmdc::checkBudget(limits, *program, state->plan->plan, *bytes)) {
    Diagnostics &list = excess.isWarning ? state->warnings : state->diagnostics;
    spmdc::Diagnostic &error = list.error(state->placeOf(excess.lines.front().place), excess.lines.front().message);
    for (const BudgetExcess::Line &line : llvm::drop_begin(excess.lines))
      error.note(state->placeOf(line.place), line.message);
  }
  return !state->hasErrors();
}

std::optional<spmd::Artifact> Compiler::compile() {
  if (state->hasErrors())
    return std::nullopt;
  if (state->cacheKey)
    if (std::optional<CachedProgram> kept = state->options.cache->find(*state->cacheKey)) {
      state->cachedWarnings = std::move(kept->warnings);
      return std::move(kept->artifact);
    }
  spmd::Artifact *planned = state->getPlan();
  if (!planned || !checkBudget())
    return std::nullopt;
  spmd::Artifact artifact = *planned;
  std::optional<std::string> code = state->emit(Stage::Asm, &artifact);
  if (!code)
    return std::nullopt;
  artifact.code = std::move(*code);
  if (state->cacheKey)
    state->options.cache->keep(*state->cacheKey, artifact, warnings());
  return artifact;
}

const spmd::Artifact *Compiler::plan() { return state->getPlan(); }

std::optional<int64_t> Compiler::bytesPerDevice() {
  const spmd::Artifact *artifact = plan();
  return artifact ? std::optional(spmd::memoryUseOf(*artifact).peakBytes()) : std::nullopt;
}

ModuleOp Compiler::module(Stage stage) { return state->hasErrors() ? ModuleOp() : state->getModule(stage); }

const Diagnostics &Compiler::errorList() const { return state->diagnostics; }
const Diagnostics &Compiler::warningList() const { return state->warnings; }
const std::string &Compiler::generalErrors() const { return state->general; }

std::string Compiler::errors() const {
  return (state->diagnostics.hasErrors() ? state->diagnostics.str() : "") + state->general;
}

bool Compiler::hasOptionErrors() const {
  return state->diagnostics.hasErrors() && state->diagnostics.areInOptions() && state->general.empty();
}

std::string Compiler::warnings() const {
  if (state->cachedWarnings)
    return *state->cachedWarnings;
  return state->warnings.getErrors().empty() ? "" : state->warnings.str();
}

const CompileCache *Compiler::cache() const { return state->options.cache.get(); }

const std::string &Compiler::remarks() const { return state->remarks; }

const std::vector<PassTime> &Compiler::times() const { return state->times; }

} // namespace spmdc
