//===- InspectCommand.cpp - spmdc inspect ---------------------------------===//

#include "compiler/Importer.h"
#include "compiler/inspection/ArtifactInspection.h"
#include "compiler/inspection/InspectionHtml.h"
#include "compiler/inspection/InspectionJson.h"
#include "compiler/inspection/InspectionText.h"
#include "runtime/exec/TargetChoice.h"
#include "runtime/io/ShardingDrawing.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "tools/spmdc/Command.h"
#include "tools/spmdc/CompileFlags.h"

#include "llvm/ADT/STLExtras.h"

#include <iostream>
#include <memory>
#include <numeric>

namespace spmdc {
namespace {

struct InspectCommand {
  CompileFlags flags;
  bool json = false;
  std::string visualize, html, measured, text;
  std::vector<PassDump> dumps;

  int run() {
    if (isArtifactFile(flags.file))
      return showArtifact();
    std::optional<CompileOptions> options = flags.toOptions();
    std::optional<std::string> program = options ? flags.readProgram() : std::nullopt;
    if (!program)
      return kFailed;
    text = std::move(*program);
    if (!html.empty())
      options->pipeline.dumps = &dumps;
    Compiler compiler(flags.file, text, *options);
    std::optional<Inspection> inspection = inspectProgram(compiler);
    bool isWithinBudget = compiler.checkBudget(); // Adds warnings.
    flags.printExtras(compiler);
    std::optional<MeasuredTimes> times;
    if (inspection && !measured.empty())
      times = readMeasured(*inspection);
    int status = inspection ? show(*inspection, times) : kFailed;
    return CompileFlags::finish(compiler, status == kOk && isWithinBudget);
  }

  /// Shows the targets of an artifact, and the parameters and results that all of them have.
  int showArtifact() const {
    if (!flags.checkSource())
      return kFailed;
    const char *option = !html.empty()        ? "--html"
                         : !visualize.empty() ? "--visualize"
                         : !measured.empty()  ? "--measured"
                                              : nullptr;
    if (option) {
      std::cerr << "spmdc: error: " << option << " is for a program; '" << flags.file
                << "' is an artifact, compiled already\n";
      return kFailed;
    }
    try {
      spmd::MappedFile bytes(flags.file);
      spmd::ArtifactReader file(bytes.bytes(), flags.file);
      std::vector<spmd::TargetInfo> targets = file.getTargets();
      spmd::TargetWish wish{spmd::Environment::read(/*isAlone=*/true).platform};
      std::optional<size_t> here = findTarget(targets, findMachine(targets, wish));
      std::cout << (json ? artifactJson(file, here) : artifactTable(file, flags.file, here));
      return kOk;
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return kFailed;
    }
  }

  MeasuredTimes readMeasured(const Inspection &inspection) const {
    MeasuredTimes times = MeasuredTimes::read(measured);
    auto isMeasured = [&](const CollectiveReport &collective) { return times.secondsOf(collective) > 0; };
    for (const FunctionReport &function : inspection.report.functions)
      if (!function.collectives.empty() && llvm::none_of(function.collectives, isMeasured))
        std::cerr << "spmdc: warning: '" << measured
                  << "' has none of this program's collectives: it may be the trace of another program\n";
    return times;
  }

  bool writeHtml(const Inspection &inspection) {
    try {
      spmd::writeFileAtomically(html, inspectionHtml(inspection, flags.file, text, dumps));
      return true;
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return false;
    }
  }

  int show(const Inspection &inspection, const std::optional<MeasuredTimes> &times) {
    if (!html.empty() && !writeHtml(inspection))
      return kFailed;
    if (!visualize.empty())
      return draw(inspection);
    if (json || html.empty())
      std::cout << (json ? inspectionJson(inspection, times)
                         : inspectionTable(inspection, times, languageOf(flags.file, text) == Language::Jax));
    return kOk;
  }

  int draw(const Inspection &inspection) {
    std::vector<std::string> known;
    for (const FunctionReport &function : inspection.report.functions)
      for (const auto *list : {&function.values, &function.params, &function.results})
        for (const ValueReport &value : *list) {
          if (!llvm::is_contained(known, value.name)) // A result has the name of the value that it was returned as.
            known.push_back(value.name);
          if (value.name != visualize)
            continue;
          if (value.shape.empty() || value.shape.size() > 2) {
            std::cerr << "spmdc: error: '" << visualize << "' has rank " << value.shape.size()
                      << "; only arrays of rank 1 and 2 can be drawn\n";
            return kFailed;
          }
          std::vector<int64_t> devices(static_cast<size_t>(inspection.report.mesh.deviceCount()));
          std::iota(devices.begin(), devices.end(), 0);
          std::cout << spmd::drawSharding(inspection.report.mesh, devices, value.shape, value.sharding, "CPU")
                    << value.sharding.str() << "\n";
          return kOk;
        }
    std::cerr << "spmdc: error: there is no value '" << visualize << "'; values are " << CLI::detail::join(known, ", ")
              << "\n";
    return kFailed;
  }
};

} // namespace

void addInspectCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("inspect", "Show shardings, collectives and costs of the partitioned program");
  auto state = std::make_shared<InspectCommand>();
  state->flags.addTo(
      *command,
      "A program (.spmd), one that JAX exported, IR of a stage up to propagated (.mlir), or an artifact (.spmdx)");
  CLI::Option *asJson = command->add_flag("--json", state->json, "Print JSON; also together with --html");
  command
      ->add_option("--html", state->html,
                   "Write one page: source beside the IR after each pass, collectives, drawings of shardings")
      ->type_name("OUT.html");
  CLI::Option *measured =
      command
          ->add_option(
              "--measured", state->measured,
              "Print the times of a run beside the predicted ones, from the trace that `spmdc run --profile` wrote")
          ->type_name("TRACE.json");
  command->add_option("--visualize", state->visualize, "Draw which device holds which block of this value")
      ->type_name("VALUE")
      ->excludes(asJson)
      ->excludes(measured);
  command->callback([state, &status] { status = state->run(); });
}

} // namespace spmdc
