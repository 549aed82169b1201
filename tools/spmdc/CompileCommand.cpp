//===- CompileCommand.cpp - spmdc compile ---------------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/support/Error.h"
#include "tools/spmdc/Command.h"
#include "tools/spmdc/CompileFlags.h"

#include <filesystem>
#include <iostream>
#include <memory>

namespace spmdc {
namespace {

struct CompileCommand {
  CompileFlags flags;
  std::string output, emit;

  int run() {
    std::optional<Compiler> compiler = flags.makeCompiler();
    if (!compiler)
      return kFailed;
    bool done = emit.empty() ? writeArtifact(*compiler) : printStage(*compiler);
    flags.printExtras(*compiler);
    std::cerr << compiler->errors();
    return done && compiler->errors().empty() ? kOk : kFailed;
  }

  bool printStage(Compiler &compiler) {
    std::optional<std::string> text = compiler.textOf(*parseStage(emit));
    if (text)
      std::cout << *text << std::flush;
    if (text && !std::cout) {
      std::cerr << "spmdc: error: cannot write to standard output\n";
      return false;
    }
    // What was asked for is there to be looked at; the tree of the program costs nothing.
    return text && (emit == "ast" || compiler.checkBudget());
  }

  bool writeArtifact(Compiler &compiler) {
    std::optional<spmd::Artifact> artifact = compiler.compile();
    if (!artifact)
      return false;
    std::string path = output;
    if (path.empty())
      path = std::filesystem::path(flags.file).filename().replace_extension(".spmdx").string();
    try {
      spmd::writeArtifact(*artifact, path);
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return false;
    }
    return true;
  }
};

} // namespace

void addCompileCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("compile", "Compile a program to an artifact, or print one stage of the way");
  auto state = std::make_shared<CompileCommand>();
  state->flags.addTo(*command, "A program (.spmd), or IR of any station (.mlir)");
  command->add_option("-o", state->output, "The artifact to write (default: FILE's name with .spmdx)");
  std::vector<std::string> names(kStageNames.begin(), kStageNames.end());
  command->add_option("--emit", state->emit, "Print one stage as text instead: " + CLI::detail::join(names, ", "))
      ->check(CLI::IsMember(names));
  command->callback([state, &status] { status = state->run(); });
}

} // namespace spmdc
