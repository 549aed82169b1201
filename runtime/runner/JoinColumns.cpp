//===- JoinColumns.cpp - what all processes must share --------------------===//

#include "runtime/runner/JoinColumns.h"

#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/Sha256.h"
#include "runtime/runner/Inputs.h"

#include <charconv>
#include <map>

namespace spmd {
namespace {

/// Returns a text with the known lines at their line numbers, and empty lines between. A location is
/// `FILE:LINE:COLUMN`.
std::string textOf(const std::vector<std::pair<std::string, std::string>> &sourceLines) {
  std::map<size_t, std::string_view> lines;
  for (const auto &[location, line] : sourceLines) {
    size_t last = location.rfind(':'), before = last == std::string::npos ? last : location.rfind(':', last - 1);
    size_t number = 0;
    if (before != std::string::npos)
      std::from_chars(location.data() + before + 1, location.data() + last, number);
    constexpr size_t mostLines = 1'000'000;
    if (number > 0 && number <= mostLines)
      lines.emplace(number, line);
  }
  std::string text;
  size_t number = 1;
  for (const auto &[place, line] : lines) {
    text.append(place - number, '\n').append(line);
    number = place;
  }
  return text;
}

} // namespace

std::vector<JoinColumn> columnsOf(const RunOptions &options, const Plan &plan, bool isProfiled) {
  std::string carried, results;
  for (const std::string &name : options.carries)
    carried += (carried.empty() ? "" : ",") + name;
  results += options.print ? "--print\n" : "";
  results += options.printShards ? "--print-shards\n" : "";
  for (const std::string &output : options.outputs)
    results += "--output " + output.substr(0, output.find('=')) + "\n";
  return {{"mesh", meshText(plan.mesh)},
          {"entry function", plan.name},
          {"target", plan.target.str()},
          {"--repeat", std::to_string(options.repeat)},
          {"--steps", std::to_string(options.steps)},
          {"--carry", carried},
          {"--checkpoint-dir", options.checkpointDirectory},
          {"--checkpoint-every", std::to_string(options.checkpointEvery)},
          {"--resume", !options.resume       ? "no"
                       : *options.resume < 0 ? "the newest"
                                             : std::to_string(*options.resume)},
          {"--resume-partial", options.resumePartial ? "yes" : "no"},
          {"results asked for", results},
          {"--input (by parameter)", inputsText(plan, options.inputs)},
          {"--shuffle", options.shuffle ? std::to_string(*options.shuffle) : "no"},
          {"--last-batch", options.lastBatch == LastBatch::wrap ? "wrap" : "drop"},
          {"--check-nans", options.checkNans ? "yes" : "no"},
          {"--profile", isProfiled ? "yes" : "no"}};
}

std::vector<JoinColumn> detailsOf(const Artifact &artifact) {
  return {{"the compiled program's source", textOf(artifact.sourceLines)},
          {"the plan", printPlanWithoutLocations(artifact.plan)},
          {"the code of the kernels (compiled with another -O?)",
           std::to_string(artifact.code.size()) + " bytes, sha256 " + toHex(sha256({artifact.code}))}};
}

} // namespace spmd
