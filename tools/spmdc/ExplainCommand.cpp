//===- ExplainCommand.cpp - spmdc explain ---------------------------------===//

#include "compiler/explain/Comparison.h"
#include "compiler/explain/Explanation.h"
#include "tools/spmdc/Command.h"
#include "tools/spmdc/CompileFlags.h"

#include <iostream>
#include <memory>

namespace spmdc {
namespace {

struct ExplainCommand {
  CompileFlags flags;
  bool json = false;
  std::vector<std::string> compared;
  std::string otherMesh;
  TryLimits limits;

  int run() { return compared.empty() ? explain() : compare(); }

  int explain() {
    std::optional<CompileOptions> options = flags.toOptions();
    std::optional<std::string> text = options ? flags.readProgram() : std::nullopt;
    if (!text)
      return kFailed;
    PropagationLog log;
    options->pipeline.propagationLog = &log;
    Compiler compiler(flags.file, *text, *options);
    std::optional<Explanation> explanation = explainProgram(compiler, flags.file, *text, *options, log, limits);
    bool isWithinBudget = compiler.checkBudget(); // Adds warnings.
    flags.printExtras(compiler);
    if (explanation)
      std::cout << (json ? explanationJson(*explanation) : explanationText(*explanation));
    return CompileFlags::finish(compiler, explanation && isWithinBudget);
  }

  int compare() {
    std::vector<ComparedProgram> programs;
    bool isWithinBudget = true;
    for (const std::string &file : compared) {
      CompileFlags own = flags;
      own.file = file;
      if (!programs.empty() && !otherMesh.empty()) {
        own.mesh = otherMesh;
        own.meshOption = "--mesh-b";
      }
      std::optional<CompileOptions> options = own.toOptions();
      std::optional<std::string> text = options ? own.readProgram() : std::nullopt;
      if (!text)
        return kFailed;
      Compiler compiler(file, *text, *options);
      std::optional<Inspection> inspection = inspectProgram(compiler);
      isWithinBudget &= compiler.checkBudget();
      own.printExtras(compiler);
      if (int status = CompileFlags::finish(compiler, inspection.has_value()); !inspection)
        return status;
      programs.push_back({Source(file, std::move(*text)), std::move(*inspection)});
    }
    std::cout << (json ? comparisonJson(programs[0], programs[1]) : comparisonText(programs[0], programs[1]));
    return isWithinBudget ? kOk : kFailed;
  }
};

} // namespace

void addExplainCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand(
      "explain", "Explain each collective: the annotations that force it, its cost, and a fix-it that removes it");
  auto state = std::make_shared<ExplainCommand>();
  CLI::Option *file = state->flags.addTo(
      *command, "A program (.spmd), one that JAX exported, or IR of a stage up to propagated (.mlir)");
  command->add_flag("--json", state->json, "Print JSON");
  CLI::Option *tries =
      command->add_option("--tries", state->limits.tries, "The maximal number of edited programs to compile")
          ->type_name("N")
          ->check(CLI::Range(size_t(0), size_t(1000000)))
          ->capture_default_str();
  CLI::Option *seconds =
      command->add_option("--seconds", state->limits.seconds, "The time limit of the search for fix-its")
          ->type_name("N")
          ->check(CLI::Range(0.0, 1e6))
          ->capture_default_str();
  CLI::Option *diff = command->add_option("--diff", state->compared, "Compare two programs instead")
                          ->type_name("A B")
                          ->expected(2)
                          ->excludes(file)
                          ->excludes(tries)
                          ->excludes(seconds);
  command->add_option("--mesh-b", state->otherMesh, "With --diff: the mesh of B; --mesh is that of A")
      ->type_name("AXES")
      ->needs(diff);
  // The command needs either FILE or --diff; FILE comes first in the usage line.
  file->required(false);
  command->callback([state, &status] {
    if (state->compared.empty() && state->flags.file.empty())
      throw CLI::RequiredError("FILE");
    status = state->run();
  });
}

} // namespace spmdc
