//===- Jit.cpp - programs compiled at their first call --------------------===//
//
// spmd::jit of a program's text.
//
//===----------------------------------------------------------------------===//

#include "runtime/jit/JitFunction.h"
#include "runtime/jit/LocalGpu.h"

#include "compiler/Compiler.h"
#include "compiler/Target.h"
#include "compiler/cache/CompileCache.h"
#include "compiler/inspection/Inspection.h"
#include "compiler/inspection/ProgramTotals.h"
#include "runtime/api/Runtime.h"
#include "runtime/jit/EndingThread.h"
#include "runtime/jit/LanguageText.h"
#include "runtime/jit/TracedPlaces.h"

#include <atomic>
#include <iostream>
#include <mutex>

namespace spmd {
namespace {

std::string meshOverride(const std::optional<Mesh> &mesh) {
  std::string text;
  if (mesh)
    for (size_t i = 0; i < mesh->axis_names().size(); ++i)
      text += (i ? "," : "") + mesh->axis_names()[i] + "=" + std::to_string(mesh->axis_sizes()[i]);
  return text;
}

/// A function of a program's text. The program is compiled once; threads that call it meanwhile wait.
class JitFunction final : public FunctionImpl {
public:
  JitFunction(std::shared_ptr<Job> job, std::string source, JitOptions ownOptions, std::source_location where,
              std::vector<std::source_location> places, std::vector<std::string> argumentNames = {})
      : job(std::move(job)), source(std::move(source)), options(std::move(ownOptions)), where(where),
        places{options.file_name, std::move(places)}, argumentNames(std::move(argumentNames)),
        compiler(makeCompiler()) {}

  std::vector<Array> call(const std::vector<Array> &arguments) override { return getProgram().call(arguments); }
  std::vector<ValueDescription> getParameters() const override { return getProgram().getParameters(); }
  std::vector<ValueDescription> getResults() const override { return getProgram().getResults(); }
  void compile() const override { getProgram(); }
  MemoryUse getMemory() const override {
    std::unique_lock lock = lockCompiler();
    return memoryUseOf(getPlan());
  }

  void lower(const std::vector<Array> *arguments) const override {
    std::unique_lock lock = lockCompiler();
    const Plan &plan = getPlan().plan;
    if (!arguments)
      return;
    Mesh mesh = meshForProgram(plan.mesh, options.mesh, where);
    checkArguments(job, plan, mesh, describeValues(plan.params, mesh), *arguments);
  }

  std::string getText(const std::string &stage) const override {
    if (stage == spmdc::kStablehlo) {
      std::unique_lock lock = lockCompiler();
      std::optional<std::string> text = compiler.stablehlo();
      if (!text)
        fail();
      return places.inText(*text);
    }
    std::optional<spmdc::Stage> known = spmdc::parseStage(stage);
    if (!known)
      throw Error("there is no stage '" + stage + "'; there are " + stageList(), Error::Kind::Usage);
    // The compiler's own messages name command-line options, which callers of the API do not have.
    bool isCuda = spmdc::Target::parse(options.target).value_or(spmdc::Target()).isCuda;
    if (*known == (isCuda ? spmdc::Stage::Asm : spmdc::Stage::Ptx))
      throw Error("code for the target '" + options.target + "' has no stage '" + stage + "'; " +
                      (isCuda ? "its code is 'ptx'" : "jit with the target \"cuda:sm_90\" has it"),
                  Error::Kind::Usage);
    std::unique_lock lock = lockCompiler();
    std::optional<std::string> text = compiler.textOf(*known);
    if (!text)
      fail();
    return places.inText(*text);
  }

  /// The compiled program; compiles it at the first call.
  std::shared_ptr<FunctionImpl> getCompiled() const {
    getProgram();
    return program;
  }

  CostAnalysis getCosts() const override {
    std::unique_lock lock = lockCompiler();
    std::optional<spmdc::Inspection> inspection = spmdc::inspectProgram(compiler);
    if (!inspection)
      fail();
    spmdc::ProgramTotals totals = totalsOf(*inspection);
    CostAnalysis::Figures figures;
    figures.flops = totals.flops;
    figures.bytes_accessed = totals.memoryBytes;
    figures.wire_bytes = totals.wireBytes;
    figures.collectives = static_cast<int64_t>(totals.collectives);
    figures.optimal_seconds = totals.seconds();
    return CostAnalysis(figures);
  }

private:
  /// Locks the compiler; each use of it begins with this. Throws at the end of the thread, when it can't be used.
  std::unique_lock<std::mutex> lockCompiler() const {
    checkMayCompile(where);
    return std::unique_lock(mutex);
  }

  // The caller must hold the lock, as for every use of the compiler.

  /// The compiler's errors, with source lines and carets, without a final newline. Replaces the compiler by a new one,
  /// because the error may concern only the request (a stage before that of the IR), not the program.
  [[noreturn]] void fail() const {
    std::string text = places.inText(compiler.errors());
    text.erase(text.find_last_not_of('\n') + 1);
    compiler = makeCompiler();
    throw Error(text);
  }

  static std::string stageList() {
    std::string list;
    for (llvm::StringRef name : spmdc::kStageNames)
      list += name.str() + ", ";
    list += spmdc::kStablehlo;
    return list;
  }

  /// The plan without code. It comes from this process's compiler and is not compared with other processes.
  const Artifact &getPlan() const {
    const Artifact *plan = compiler.plan();
    if (!plan)
      fail();
    return *plan;
  }

  /// Prints a problem of the cache once in a process, because all functions use the same folder.
  void warnOfCache() const {
    static std::once_flag isSaid;
    const spmdc::CompileCache *cache = compiler.cache();
    if (cache && !cache->problem().empty())
      std::call_once(isSaid, [&] { std::cerr << "spmd: warning: " << cache->problem() << "\n"; });
  }

  spmdc::Compiler makeCompiler() const {
    checkMayCompile(where);
    spmdc::CompileOptions result;
    result.frontend.function = options.function;
    result.frontend.sets = options.constants;
    result.frontend.meshOverride = meshOverride(options.mesh);
    result.frontend.meshOption = "JitOptions::mesh";
    result.frontend.functionOption = "JitOptions::function";
    result.frontend.setOption = "JitOptions::constants";
    result.target = spmdc::nameLocalGpu(options.target);
    result.allowTf32 = options.allow_tf32;
    if (options.target.starts_with("cuda"))
      result.costModel = spmdc::CostModel::ofGpu();
    result.cache = spmdc::CompileCache::open(std::nullopt, Environment::read(/*isAlone=*/true));
    return {options.file_name, source, std::move(result)};
  }

  /// Compiles and loads the program. Every process does that at the same call; the executor compares the results.
  Program &getProgram() const {
    if (Program *made = ready.load(std::memory_order_acquire))
      return *made;
    std::unique_lock lock = lockCompiler();
    if (!program) {
      std::optional<Artifact> artifact = compiler.compile();
      warnOfCache();
      if (!artifact)
        fail();
      places.inArtifact(*artifact);
      auto shared = std::make_shared<const Artifact>(std::move(*artifact));
      ProgramOptions programOptions;
      programOptions.checkNans = options.check_nans;
      programOptions.donated = options.donate_argnums;
      programOptions.argumentNames = argumentNames;
      programOptions.donatedTo = "'" + shared->plan.name + "', which was jitted at " + placeText(where);
      program = std::make_shared<Program>(job, shared, meshForProgram(shared->plan.mesh, options.mesh, where),
                                          std::move(programOptions));
      ready.store(program.get(), std::memory_order_release);
    }
    return *program;
  }

  std::shared_ptr<Job> job;
  std::string source;
  JitOptions options;
  std::source_location where;
  TracedPlaces places;
  std::vector<std::string> argumentNames;
  // Mutable, because queries of a const function may compile it.
  mutable std::mutex mutex; ///< Protects the compiler and the creation of the program.
  mutable spmdc::Compiler compiler;
  mutable std::shared_ptr<Program> program;      ///< Set once.
  mutable std::atomic<Program *> ready{nullptr}; ///< The same program; calls read it without the lock.
};

} // namespace

std::shared_ptr<FunctionImpl> makeJitFunction(std::shared_ptr<Job> job, std::string source, JitOptions options,
                                              std::source_location where, std::vector<std::source_location> places,
                                              std::vector<std::string> argumentNames) {
  return std::make_shared<JitFunction>(std::move(job), std::move(source), std::move(options), where, std::move(places),
                                       std::move(argumentNames));
}

std::shared_ptr<FunctionImpl> compileProgram(std::shared_ptr<Job> job, std::string source, JitOptions options,
                                             std::source_location where, std::vector<std::source_location> places) {
  return JitFunction(std::move(job), std::move(source), std::move(options), where, std::move(places)).getCompiled();
}

Function jit(std::string source, JitOptions options, std::source_location where) {
  return Function(makeJitFunction(currentJob(where), std::move(source), std::move(options), where));
}

} // namespace spmd
