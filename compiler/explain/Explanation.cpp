//===- Explanation.cpp - the causes of each collective --------------------===//

#include "compiler/explain/Explanation.h"

#include "compiler/inspection/JsonParts.h"
#include "compiler/inspection/NumberedNames.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace spmdc {
namespace {

/// `mlp.spmd:5`.
std::string lineOf(const std::string &location) { return location.substr(0, location.rfind(':')); }

/// All that alike collectives have in common, as text.
std::string groupKeyOf(const CollectiveExplanation &entry, const WantedFixIt &wanted) {
  Json key = collectiveJson(*entry.collective);
  key["calls"] = entry.collective->callPaths;
  key["axes forced"] = wanted.axes;
  for (const ForcingAnnotationText &cause : entry.causes)
    key["causes"].push_back({withoutNumbers(cause.cause.name), cause.written, cause.cause.dim, cause.cause.axis,
                             cause.cause.isReplicated, cause.cause.name.empty() ? cause.place : ""});
  return key.dump();
}

std::vector<std::vector<size_t>> groupAlike(const std::vector<CollectiveExplanation> &entries,
                                            const std::vector<WantedFixIt> &wanted) {
  std::vector<std::vector<size_t>> groups;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < entries.size(); ++i) {
    auto [place, isNew] = places.emplace(groupKeyOf(entries[i], wanted[i]), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[place->second].push_back(i);
  }
  auto secondsOf = [&](const std::vector<size_t> &group) { // All of a group take the same time.
    return entries[group.front()].collective->countedSeconds() * static_cast<double>(group.size());
  };
  std::sort(groups.begin(), groups.end(), [&](const auto &a, const auto &b) {
    return std::pair(-secondsOf(a), a.front()) < std::pair(-secondsOf(b), b.front());
  });
  return groups;
}

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
      wanted.emplace_back();
      wanted.back().collective = &collective;
      wanted.back().axes = findForcedAxes(log, collective);
      wanted.back().causes = findProvenance(log, collective);
      // A cause is listed once, even if several paths lead from it to the collective.
      std::set<std::tuple<std::string, unsigned, std::string, bool>> described;
      for (const ForcingAnnotation &cause : wanted.back().causes)
        if (described.emplace(cause.annotationPlace, cause.dim, cause.axis, cause.isReplicated).second)
          entry.causes.push_back(program.describe(cause));
    }

  // The search handles the most expensive groups first, because its number of compiles is limited.
  explanation->groups = groupAlike(explanation->collectives, wanted);
  std::vector<WantedFixIt *> byCost;
  for (const std::vector<size_t> &group : explanation->groups) {
    byCost.push_back(&wanted[group.front()]);
    if (group.size() > 1)
      byCost.back()->forcing.emplace();
    for (size_t i : group)
      for (const ForcingAnnotation &cause : wanted[i].causes)
        if (byCost.back()->forcing)
          byCost.back()->forcing->insert(cause.annotationPlace);
  }
  FixItSearch search(program, options, explanation->inspection, limits, compileTime);
  search.run(byCost);
  for (const std::vector<size_t> &group : explanation->groups) {
    const WantedFixIt &searched = wanted[group.front()];
    ChosenFixIts proposal = chooseFixIt(searched.found);
    for (size_t i : group) {
      CollectiveExplanation &entry = explanation->collectives[i];
      entry.proposal = proposal;
      entry.triedEdits = searched.tried;
      entry.isIncomplete = searched.isIncomplete;
    }
    explanation->isIncomplete |= searched.isIncomplete;
  }
  explanation->triedEdits = search.getTries();
  explanation->isOutOfTime = search.isOutOfTime();
  return explanation;
}

} // namespace spmdc
