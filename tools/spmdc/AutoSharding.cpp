//===- AutoSharding.cpp - shardings for unannotated parameters ------------===//

#include "tools/spmdc/AutoSharding.h"

#include "frontend/syntax/Parser.h"
#include "tools/spmdc/Inspection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace spmdc {
namespace {

/// States that are followed up in each round, and rounds without a better one after which the search ends: two marks
/// may help only together.
constexpr size_t kBeam = 6;
constexpr int kPatience = 2;

/// Marks: for an annotation and one of its dimensions the axes, major to minor.
using Marks = std::map<std::pair<size_t, size_t>, std::vector<std::string>>;

class Search {
public:
  Search(const std::string &fileName, const std::string &text, const CompileOptions &options,
         std::optional<int64_t> memoryLimit, size_t maxTries)
      : fileName(fileName), text(text), options(options), memoryLimit(memoryLimit), maxTries(maxTries),
        source(diagnostics.addSource(fileName, text)), ast(parse(source, diagnostics)),
        annotations(listAnnotations(*ast, options.frontend.function)) {
    this->options.pipeline.dumpDirectory.clear();
    this->options.pipeline.remarks = false;
    this->options.budget.clear();
  }

  std::optional<AutoSharding> run() {
    std::optional<ProgramCost> start = costOf({});
    if (!start)
      return std::nullopt;
    State best{{}, *start};
    std::vector<State> beam = {best};
    for (int patience = kPatience; patience > 0 && !beam.empty();) {
      beam = expand(beam);
      if (!beam.empty() && keyOf(beam.front().cost) < keyOf(best.cost)) {
        best = beam.front();
        patience = kPatience;
      } else {
        --patience;
      }
    }
    dropIdle(best);
    AnnotationEdit edit = editOf(best.marks);
    return AutoSharding{*start, best.cost, edit, applyEdit(text, edit), tries};
  }

private:
  struct State {
    Marks marks;
    ProgramCost cost;
  };

  /// What fits comes first; of times that the model cannot tell apart fewer bytes decide. Times are in classes, each as
  /// wide as that, so that this is an order.
  std::tuple<int64_t, double, double, double> keyOf(const ProgramCost &cost) const {
    int64_t excess = memoryLimit ? std::max<int64_t>(0, cost.memoryBytes - *memoryLimit) : 0;
    double timeClass =
        cost.seconds > 0 ? std::floor(std::log(cost.seconds) / std::log1p(CostModel::kAlike)) : -HUGE_VAL;
    return {excess, timeClass, cost.wireBytes, cost.seconds};
  }

  static bool isUnannotated(const Annotation &annotation) {
    return annotation.isParameter && std::all_of(annotation.dims.begin(), annotation.dims.end(),
                                                 [](const auto &dim) { return dim.axes.empty() && dim.isOpen; });
  }

  bool uses(const Marks &marks, size_t annotation, const std::string &axis) const {
    return std::any_of(marks.begin(), marks.end(), [&](const auto &mark) {
      return mark.first.first == annotation &&
             std::find(mark.second.begin(), mark.second.end(), axis) != mark.second.end();
    });
  }

  /// The cheapest states with one mark more.
  std::vector<State> expand(const std::vector<State> &beam) {
    std::map<Marks, ProgramCost> found;
    for (const State &state : beam)
      for (size_t i = 0; i < annotations.size(); ++i)
        for (const spmd::MeshAxis &axis : mesh.axes)
          for (size_t dim = 0; dim < annotations[i].dims.size(); ++dim) {
            if (!isUnannotated(annotations[i]) || axis.size == 1 || uses(state.marks, i, axis.name))
              continue;
            Marks marks = state.marks;
            marks[{i, dim}].push_back(axis.name);
            if (std::optional<ProgramCost> cost = costOf(marks))
              found.emplace(std::move(marks), *cost);
          }
    std::vector<State> states;
    for (auto &[marks, cost] : found)
      states.push_back({marks, cost});
    std::sort(states.begin(), states.end(), [&](const State &a, const State &b) {
      return std::pair(keyOf(a.cost), a.marks) < std::pair(keyOf(b.cost), b.marks);
    });
    states.resize(std::min(states.size(), kBeam));
    return states;
  }

  /// Takes back marks without which the program costs no more.
  void dropIdle(State &state) {
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (const auto &[where, axes] : state.marks) {
        Marks fewer = state.marks;
        fewer[where].pop_back();
        if (fewer[where].empty())
          fewer.erase(where);
        std::optional<ProgramCost> cost = costOf(fewer, /*isExtra=*/true);
        if (!cost || keyOf(state.cost) < keyOf(*cost))
          continue;
        state = {std::move(fewer), *cost};
        isChanged = true;
        break;
      }
    }
  }

  AnnotationEdit editOf(const Marks &marks) const {
    AnnotationEdit edit;
    for (const auto &[where, axes] : marks)
      edit.push_back(rewriteDim(annotations[where.first], where.second, axes, /*isOpen=*/false));
    return edit;
  }

  std::optional<ProgramCost> costOf(const Marks &marks, bool isExtra = false) {
    if (auto known = costs.find(marks); known != costs.end())
      return known->second;
    if (tries >= maxTries && !isExtra)
      return std::nullopt;
    ++tries;
    Compiler compiler(fileName, applyEdit(text, editOf(marks)), options);
    std::optional<Inspection> inspection = inspectProgram(compiler);
    std::optional<ProgramCost> &cost = costs[marks];
    if (!inspection)
      return std::nullopt;
    mesh = inspection->report.mesh;
    cost.emplace();
    cost->seconds = inspection->computeSeconds();
    cost->memoryBytes = inspection->peakBytesPerDevice;
    for (const FunctionReport &function : inspection->report.functions) {
      cost->seconds += function.communicationSeconds - function.combiningSaves - function.ringSaves;
      cost->wireBytes += function.wireBytesPerDevice;
    }
    return cost;
  }

  const std::string &fileName, &text;
  CompileOptions options;
  std::optional<int64_t> memoryLimit;
  size_t maxTries, tries = 0;
  Diagnostics diagnostics;
  const Source &source;
  std::unique_ptr<Ast> ast;
  std::vector<Annotation> annotations;
  spmd::MeshShape mesh;
  std::map<Marks, std::optional<ProgramCost>> costs;
};

} // namespace

std::optional<AutoSharding> searchShardings(const std::string &fileName, const std::string &text,
                                            const CompileOptions &options, std::optional<int64_t> memoryLimit,
                                            size_t maxTries) {
  return Search(fileName, text, options, memoryLimit, maxTries).run();
}

std::string autoShardingText(const AutoSharding &sharding) {
  auto costText = [](const ProgramCost &cost) {
    return timeText(cost.seconds) + ", " + bytesText(cost.wireBytes) + " sent, " +
           bytesText(static_cast<double>(cost.memoryBytes)) + " of memory";
  };
  std::string text = "as written: " + costText(sharding.before) + " on each device\n";
  if (sharding.edit.empty())
    return text + "no annotation of the parameters about which nothing is written makes it cheaper (" +
           std::to_string(sharding.tried) + " programs tried)\n";
  text += "found:      " + costText(sharding.after) + " (" + std::to_string(sharding.tried) + " programs tried)\n";
  for (const DimEdit &dim : sharding.edit)
    text += "  " + dim.place + ": '" + dim.to + "' in place of '" + dim.from + "'\n";
  return text;
}

} // namespace spmdc
