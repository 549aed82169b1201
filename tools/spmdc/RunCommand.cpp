//===- RunCommand.cpp - spmdc run -----------------------------------------===//

#include "compiler/cache/CompileCache.h"
#include "runtime/runner/ArtifactChoice.h"
#include "runtime/runner/RunProgram.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "tools/common/RunCommandLine.h"
#include "tools/spmdc/Command.h"
#include "tools/spmdc/CompileFlags.h"
#include "tools/spmdc/RunLines.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

namespace spmdc {
namespace {

struct RunCommand {
  CompileFlags flags;
  spmd::RunOptions options;
  std::string source;   ///< The text of the program; empty for an artifact.
  std::string problems; ///< The errors of reading the program's text, or in its run lines.
  bool hasOptionErrors = false;

  /// `command` has parsed the options.
  int run(const CLI::App &command) {
    std::string addedOptions = readRunLines(command);
    spmd::RunRequest request{.command = "spmdc",
                             .load = [this](std::ostream &messages) { return load(messages); },
                             .columns = columns(),
                             .programDetails = [this] { return programDetails(); },
                             .childCommand =
                                 [](const spmd::RunOptions &options, const std::string &artifact) {
                                   std::vector<std::string> command = {ownExecutable(), "run", artifact};
                                   for (std::string &argument : runArguments(options))
                                     command.push_back(std::move(argument));
                                   return command;
                                 },
                             .note = std::move(addedOptions),
                             .out = std::cout,
                             .err = std::cerr};
    int status = spmd::runProgram(options, request);
    return status == kFailed && hasOptionErrors ? kUsage : status;
  }

  /// Reads the program's text, and adds the options of its run lines; returns a line about them. `load` reports the
  /// problems, which the other processes of a job are told, too.
  std::string readRunLines(const CLI::App &command) {
    std::ostringstream messages;
    if (flags.file.ends_with(".mlir") || isArtifactFile(flags.file))
      return "";
    // Reading from a pipe may wait for ever. `load` reads it, while the process tells the others if it is asked to end.
    if (std::error_code unknown; !std::filesystem::is_regular_file(flags.file, unknown))
      return "";
    std::optional<std::string> text = flags.readProgram(messages);
    problems = messages.str();
    if (!text)
      return "";
    source = std::move(*text);
    if (flags.function != CompileFlags().function) // The lines are about the parameters of `main`.
      return "";
    RunLines lines(flags.file, source);
    problems = lines.errors();
    return problems.empty() ? lines.addTo(command, options) : "";
  }

  /// The options that change the run. Processes compare them when they join.
  std::vector<spmd::JoinColumn> columns() const {
    std::vector<spmd::JoinColumn> result;
    result.push_back({"--mesh", flags.mesh});
    result.push_back({"--fn", flags.function});
    std::string sets;
    for (const std::string &text : flags.sets)
      sets += (sets.empty() ? "" : " ") + text;
    result.push_back({"--set", sets});
    result.push_back({"--cost-model", flags.costModelFile.empty() ? "" : costModelText()});
    result.push_back({"--minimize", flags.minimize});
    result.push_back({"--reduce-precision", flags.reducePrecision});
    result.push_back({"--allow-tf32", flags.allowTf32 ? "yes" : ""});
    return result;
  }

  /// The inputs of the compile, for an error about programs that differ; empty for an artifact.
  std::vector<spmd::JoinColumn> programDetails() const {
    if (source.empty())
      return {};
    return {{"-O", std::to_string(flags.optimizationLevel)}, {"the program", source}};
  }

  /// The text of the cost model, because each machine may have another file of this name. Empty if it cannot be read;
  /// loading it reports the error.
  std::string costModelText() const {
    try {
      return spmd::readWhole(flags.costModelFile, CostModel::kMaxBytes);
    } catch (const spmd::Error &) {
      return "";
    }
  }

  std::shared_ptr<const spmd::Artifact> load(std::ostream &messages) {
    if (!flags.checkSource(messages))
      return nullptr;
    if (isArtifactFile(flags.file))
      return spmd::loadArtifact(flags.file, options, "spmdc");
    messages << problems;
    if (!problems.empty())
      return nullptr;
    std::optional<Compiler> compiler =
        source.empty() ? flags.makeCompiler(messages, &source) : flags.makeCompilerOf(source, messages);
    if (!compiler)
      return nullptr;
    std::optional<spmd::Artifact> artifact = compiler->compile();
    flags.printExtras(*compiler, messages);
    messages << compiler->errors();
    hasOptionErrors = compiler->hasOptionErrors();
    if (const CompileCache *cache = compiler->cache(); options.verbose && cache && !cache->foundFile().empty())
      spmd::RunLog(std::cerr, "spmdc", options.logFormat)
          .write(spmd::RunLog::Level::Info, "the program is from the compile cache: " + cache->foundFile());
    return artifact ? std::make_shared<const spmd::Artifact>(std::move(*artifact)) : nullptr;
  }
};

} // namespace

void addRunCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("run", "Run a program or an artifact here, or as one process of a cluster");
  auto state = std::make_shared<RunCommand>();
  state->flags.addTo(*command, "A program (.spmd, .mlir) or an artifact (.spmdx)");
  addRunOptions(*command, state->options);
  command->callback([state, command, &status] { status = state->run(*command); });
}

} // namespace spmdc
