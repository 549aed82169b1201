//===- Jit.cpp - programs compiled at their first call --------------------===//
//
// spmd::jit of the public interface: the only place where the runtime's functions meet the compiler.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/FunctionImpl.h"
#include "runtime/api/Runtime.h"
#include "runtime/jit/CompileCache.h"
#include "runtime/jit/Compiler.h"

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

class JitFunction final : public FunctionImpl {
public:
  JitFunction(std::shared_ptr<Job> job, std::string source, JitOptions ownOptions, std::source_location where)
      : job(std::move(job)), options(std::move(ownOptions)), where(where),
        compiler(options.file_name, std::move(source), compileOptions(options)) {}

  std::vector<Array> call(const std::vector<Array> &arguments) override { return getProgram().call(arguments); }
  std::vector<ValueDescription> getParameters() const override { return getProgram().getParameters(); }
  std::vector<ValueDescription> getResults() const override { return getProgram().getResults(); }

  std::string getText(const std::string &stage) const override {
    if (stage == "plan")
      return getProgram().getText(stage);
    std::optional<spmdc::Stage> known = spmdc::parseStage(stage);
    if (!known)
      throw Error("there is no stage '" + stage + "'", Error::Kind::Usage);
    std::optional<std::string> text = compiler.textOf(*known);
    if (!text)
      fail();
    return *text;
  }

private:
  /// The compiler's errors, with source lines and carets, without the last line's end.
  [[noreturn]] void fail() const {
    std::string text = compiler.errors();
    text.erase(text.find_last_not_of('\n') + 1);
    throw Error(text);
  }

  /// Once a process, as all its functions use the same folder.
  void warnOfCache() const {
    static std::once_flag isSaid;
    const spmdc::CompileCache *cache = compiler.cache();
    if (cache && !cache->problem().empty())
      std::call_once(isSaid, [&] { std::cerr << "spmd: warning: " << cache->problem() << "\n"; });
  }

  static spmdc::CompileOptions compileOptions(const JitOptions &options) {
    spmdc::CompileOptions result;
    result.frontend.function = options.function;
    result.frontend.sets = options.constants;
    result.frontend.meshOverride = meshOverride(options.mesh);
    result.cache = spmdc::CompileCache::open(std::nullopt, Environment::read(/*isAlone=*/true));
    return result;
  }

  /// Every process compiles for itself, at the same call; the executor compares what they got.
  Program &getProgram() const {
    if (!program) {
      std::optional<Artifact> artifact = compiler.compile();
      warnOfCache();
      if (!artifact)
        fail();
      auto shared = std::make_shared<const Artifact>(std::move(*artifact));
      ProgramOptions programOptions;
      programOptions.checkNans = options.check_nans;
      program = std::make_unique<Program>(job, shared, meshForProgram(shared->plan.mesh, options.mesh, where),
                                          std::move(programOptions));
    }
    return *program;
  }

  std::shared_ptr<Job> job;
  JitOptions options;
  std::source_location where;
  // What is asked of a constant function may make it compile.
  mutable spmdc::Compiler compiler;
  mutable std::unique_ptr<Program> program;
};

} // namespace

Function jit(std::string source, JitOptions options, std::source_location where) {
  return Function(std::make_shared<JitFunction>(currentJob(where), std::move(source), std::move(options), where));
}

} // namespace spmd
