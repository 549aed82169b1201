//===- Explanation.cpp - the causes of each collective --------------------===//

#include "compiler/explain/Explanation.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace spmdc {
namespace {

/// `mlp.spmd:5`.
std::string lineOf(const std::string &location) { return location.substr(0, location.rfind(':')); }

} // namespace

std::optional<Explanation> explainProgram(Compiler &compiler, const std::string &fileName, const std::string &text,
                                          const CompileOptions &options, const PropagationLog &log,
                                          const TryLimits &limits) {
  auto begin = std::chrono::steady_clock::now();
  std::optional<Inspection> inspection = inspectProgram(compiler);
  auto compileTime = std::chrono::steady_clock::now() - begin;
  if (!inspection)
    return std::nullopt;
  std::optional<Explanation> explanation(std::in_place);
  explanation->inspection = std::move(*inspection);
  const ProgramReport &report = explanation->inspection.report;
  explanation->totals = totalsOf(explanation->inspection);
  AnnotatedProgram program(fileName, text, options.frontend.function);

  std::vector<WantedFixIt> wanted;
  for (const FunctionReport &function : report.functions)
    for (const CollectiveReport &collective : function.collectives) {
      CollectiveExplanation &entry = explanation->collectives.emplace_back();
      entry.collective = &collective;
      entry.sourceLine = program.lineOf(collective.location);
      std::set<std::string> shown = {lineOf(collective.location)};
      for (const std::string &place : collective.places)
        if (shown.insert(lineOf(place)).second)
          entry.otherLines.emplace_back(place, program.lineOf(place));
      wanted.push_back({&collective, findForcedAxes(log, collective), findProvenance(log, collective), {}});
      // A cause is listed once, even if several paths lead from it to the collective.
      std::set<std::tuple<std::string, unsigned, std::string, bool>> described;
      for (const ForcingAnnotation &cause : wanted.back().causes)
        if (described.emplace(cause.annotationPlace, cause.dim, cause.axis, cause.isReplicated).second)
          entry.causes.push_back(program.describe(cause));
    }

  // The search handles the most expensive collectives first, because its number of compiles is limited.
  std::vector<WantedFixIt *> byCost;
  for (WantedFixIt &one : wanted)
    byCost.push_back(&one);
  std::sort(byCost.begin(), byCost.end(), [](const WantedFixIt *a, const WantedFixIt *b) {
    double left = a->collective->countedSeconds(), right = b->collective->countedSeconds();
    return left != right ? left > right : a < b; // Both point into one array: program order.
  });
  FixItSearch search(program, options, explanation->inspection, limits, compileTime);
  search.run(byCost);
  for (size_t i = 0; i < wanted.size(); ++i) {
    CollectiveExplanation &entry = explanation->collectives[i];
    entry.proposal = chooseFixIt(wanted[i].found);
    entry.triedEdits = wanted[i].tried;
    entry.isIncomplete = wanted[i].isIncomplete;
    explanation->isIncomplete |= wanted[i].isIncomplete;
  }
  explanation->triedEdits = search.getTries();
  explanation->isOutOfTime = search.isOutOfTime();
  return explanation;
}

} // namespace spmdc
