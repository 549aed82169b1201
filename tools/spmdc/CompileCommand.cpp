//===- CompileCommand.cpp - spmdc compile ---------------------------------===//

#include "compiler/auto/AutoSharding.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/support/ByteText.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/ProgressLine.h"
#include "tools/spmdc/Command.h"
#include "tools/spmdc/CompileFlags.h"

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <unistd.h>

namespace spmdc {
namespace {

/// The name of stdout in `-o`, as `-` is that of stdin for a program.
const std::string kStandardOutput = "-";

struct CompileCommand {
  CompileFlags flags;
  std::string output, emit;
  bool isAuto = false;
  std::optional<int64_t> memoryLimit;
  std::optional<size_t> maxTries;

  int run() {
    if (flags.hasSeveralTargets())
      return writeSeveral();
    std::optional<Compiler> compiler = isAuto ? annotated() : flags.makeCompiler();
    if (!compiler)
      return kFailed;
    bool done = emit.empty() ? writeArtifact(*compiler) : printStage(*compiler);
    flags.printExtras(*compiler);
    return CompileFlags::finish(*compiler, done);
  }

  /// Searches annotations, prints them, and returns the compiler of the annotated program; for a program with errors,
  /// that of the unedited program, which reports them.
  std::optional<Compiler> annotated() {
    std::optional<CompileOptions> options = flags.toOptions();
    std::optional<std::string> text = options && flags.checkSource() ? flags.readProgram() : std::nullopt;
    if (!text)
      return std::nullopt;
    if (!isWritable(outputPath()))
      return std::nullopt;
    spmd::ProgressLine progress(std::cerr, "spmdc: --auto", "program");
    auto show = [&](size_t tried, size_t most) {
      progress.show(static_cast<int64_t>(tried), static_cast<int64_t>(most));
    };
    std::optional<AutoSharding> found =
        searchShardings(flags.file, *text, *options, memoryLimit, maxTries,
                        isatty(STDERR_FILENO) ? std::function<void(size_t, size_t)>(show) : nullptr);
    if (!found)
      return Compiler(flags.file, std::move(*text), std::move(*options));
    options->cache = flags.openCache();
    (output == kStandardOutput ? std::cerr : std::cout) << autoShardingText(*found) << std::flush;
    if (memoryLimit && found->after.peakBytes > *memoryLimit) {
      auto [most, needed] =
          spmd::comparedBytesTexts(static_cast<double>(*memoryLimit), static_cast<double>(found->after.peakBytes));
      std::cerr << "spmdc: error: no sharding was found that needs at most " << most
                << " of memory on each device; the best needs " << needed << "\n";
      return std::nullopt;
    }
    return Compiler(flags.file, std::move(found->text), std::move(*options));
  }

  std::string outputPath() const {
    return output.empty() ? std::filesystem::path(flags.file).filename().replace_extension(".spmdx").string() : output;
  }

  /// Whether the artifact can be written. Checked before the search, which takes a while.
  static bool isWritable(const std::string &path) {
    if (path == kStandardOutput)
      return true;
    try {
      spmd::AtomicFile file(path);
      return true;
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return false;
    }
  }

  bool printStage(Compiler &compiler) {
    std::optional<std::string> text = emit == kStablehlo ? compiler.stablehlo() : compiler.textOf(*parseStage(emit));
    // The text is printed even beyond the budget. --emit=ast does not compile the program and so checks no budget.
    return text && write(output.empty() ? kStandardOutput : output, [&] { return *text; }) &&
           (emit == "ast" || compiler.checkBudget());
  }

  /// Compiles the program for each target, and writes one artifact. Prints a warning that several have once.
  int writeSeveral() {
    if (const char *option = !emit.empty() ? "--emit" : isAuto ? "--auto" : nullptr; option || flags.showsPasses()) {
      std::cerr << "spmdc: error: "
                << (option ? option : "an option that shows the passes (--dump-ir, --time, --remarks, --debug-only)")
                << " is for one target; name one of --target=" << flags.target << "\n";
      return kUsage;
    }
    std::optional<std::vector<std::string>> targets = flags.getTargets();
    std::optional<std::string> text = targets && flags.checkSource() ? flags.readProgram() : std::nullopt;
    if (!text)
      return kFailed;
    std::vector<spmd::Artifact> artifacts;
    std::set<std::string> printed;
    for (const std::string &target : *targets) {
      std::optional<CompileOptions> options = flags.toOptionsFor(target);
      if (!options)
        return kFailed;
      options->cache = flags.openCache();
      Compiler compiler(flags.file, *text, std::move(*options));
      std::optional<spmd::Artifact> artifact = compiler.compile();
      std::ostringstream extras;
      flags.printExtras(compiler, extras);
      if (printed.insert(extras.str()).second)
        std::cerr << extras.str();
      if (!artifact)
        return CompileFlags::finish(compiler, /*isDone=*/false);
      artifacts.push_back(std::move(*artifact));
    }
    return write(outputPath(), [&] { return spmd::encodeArtifacts(artifacts); }) ? kOk : kFailed;
  }

  bool writeArtifact(Compiler &compiler) {
    std::optional<spmd::Artifact> artifact = compiler.compile();
    return artifact && write(outputPath(), [&] { return spmd::encodeArtifact(*artifact); });
  }

  /// Writes the artifact's bytes, or a text. Prints an error and returns false on failure.
  static bool write(const std::string &path, const std::function<std::string()> &encode) {
    try {
      if (path == kStandardOutput) {
        if (!(std::cout << encode() << std::flush))
          throw spmd::Error("cannot write to standard output");
      } else {
        spmd::writeFileAtomically(path, encode());
      }
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return false;
    }
    return true;
  }
};

} // namespace

void addCompileCommand(CLI::App &app, int &status) {
  CLI::App *command =
      app.add_subcommand("compile", "Compile a program to an artifact, or print one stage of the pipeline");
  auto state = std::make_shared<CompileCommand>();
  state->flags.addTo(*command, "A program (.spmd), or IR of any stage (.mlir)", CompileFlags::Targets::Several);
  command
      ->add_option("-o", state->output,
                   "The artifact to write (default: FILE's name with .spmdx), '-' for stdout; with --emit, the text")
      ->type_name("OUT");
  CLI::Option *automatic =
      command->add_flag("--auto", state->isAuto,
                        "Search shardings of unannotated parameters, print them, and compile the program with them");
  command
      ->add_option_function<std::string>(
          "--memory-limit",
          [state](const std::string &text) {
            state->memoryLimit = spmd::parseBytes(text);
            if (!state->memoryLimit)
              throw CLI::ValidationError("--memory-limit", "'" + text + "' " + spmd::bytesMistake(text));
          },
          "With --auto: the memory limit of each device, such as 8GiB")
      ->type_name("BYTES")
      ->needs(automatic);
  command
      ->add_option("--tries", state->maxTries,
                   "With --auto: the maximal number of programs to compile (default: 24 to 128, by the program's size)")
      ->type_name("N")
      ->check(CLI::Range(size_t(1), size_t(1000000)))
      ->needs(automatic);
  std::vector<std::string> names(kStageNames.begin(), kStageNames.end());
  names.insert(names.begin() + 2, kStablehlo.str()); // The array stage, for JAX.
  command
      ->add_option("--emit", state->emit,
                   "Print one stage as text instead (with -o, write it): " + CLI::detail::join(names, ", ") +
                       "; stablehlo is the array stage, for JAX")
      ->type_name("STAGE")
      ->check(CLI::IsMember(names))
      ->excludes(automatic);
  command->callback([state, &status] { status = state->run(); });
}

} // namespace spmdc
