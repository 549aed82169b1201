//===- AutoSharding.cpp - search of shardings of parameters ---------------===//

#include "compiler/auto/AutoSharding.h"

#include "compiler/Importer.h"
#include "compiler/auto/TrialCosts.h"
#include "compiler/explain/AnnotatedProgram.h"
#include "compiler/inspection/InspectionText.h"
#include "compiler/inspection/NumberedNames.h"
#include "frontend/MeshOverride.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "ir/spmd/DebugTrace.h"

#include "runtime/support/CountText.h"
#include "llvm/ADT/ScopeExit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace spmdc {
namespace {

/// Width of the beam, and the number of rounds without improvement after which the search ends. One such round does not
/// end it, because two annotations may help only together.
constexpr size_t kBeam = 6;
constexpr int kPatience = 2;

/// The default number of compiles: between kFewestTries and kMostTries, inversely proportional to the size of the
/// program (kernels and parameters). Each further axis of the mesh counts as a program kPerAxis times as large, since
/// the sharding search then takes about four times as long.
constexpr size_t kMostTries = 128, kFewestTries = 24, kSizeOfAll = 12288, kPerAxis = 4;

/// A compile counts as so many programs that are known after propagation: it takes about that much longer.
constexpr size_t kPerCompile = 4;

/// Axes, major to minor, by (index of the annotation, dimension). An empty list makes the dimension replicated.
using AnnotatedAxes = std::map<std::pair<size_t, size_t>, std::vector<std::string>>;
/// Dimensions, as AnnotatedAxes names them.
using DimSet = std::vector<std::pair<size_t, size_t>>;

class Search {
public:
  Search(const std::string &fileName, const std::string &text, const CompileOptions &options,
         std::optional<int64_t> memoryLimit, std::optional<size_t> maxTries,
         const std::function<void(size_t, size_t)> &onProgress)
      : fileName(fileName), text(text), options(withoutOutput(options)), memoryLimit(memoryLimit),
        maxTries(maxTries.value_or(kFewestTries)), isLimited(maxTries.has_value()), onProgress(onProgress),
        program(fileName, text, options.frontend.function), annotations(program.getAnnotations()),
        trialCosts(fileName, this->options) {}

  std::optional<AutoSharding> run() {
    DebugTrace::Pause onTrial;
    auto finish = llvm::make_scope_exit([&] {
      if (onProgress)
        onProgress(tries, tries);
    });
    std::optional<Inspection> start = trialCosts.inspect(program.apply(program.spell({})));
    if (!start)
      return std::nullopt;
    mesh = start->report.mesh;
    State best{{}, totalsOf(*start)};
    costs[{}] = best.cost;
    if (!isLimited)
      maxTries = std::clamp(kSizeOfAll / sizeOf(*start), kFewestTries, kMostTries);
    std::vector<State> beam = propose();
    beam.push_back(best);
    sortByCost(beam);
    best = beam.front();
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
    AnnotationEdit edit = program.spell(editOf(best.dimAxes));
    return AutoSharding{totalsOf(*start), best.cost, edit, program.apply(edit), tries};
  }

private:
  static CompileOptions withoutOutput(CompileOptions options) {
    options.pipeline.dumpDirectory.clear();
    options.pipeline.remarks = false;
    options.budget.clear();
    return options;
  }

  struct State {
    AnnotatedAxes dimAxes;
    ProgramTotals cost;
  };

  /// The order of states: memory beyond the limit, then predicted time, then bytes on the wire. Times within the
  /// accuracy of the model (Price::kAlike) compare equal; rounding to classes keeps the order transitive.
  std::tuple<int64_t, double, double, double> keyOf(const ProgramTotals &cost) const {
    int64_t excess = memoryLimit ? std::max<int64_t>(0, cost.peakBytes - *memoryLimit) : 0;
    double seconds = cost.seconds();
    double timeClass = seconds > 0 ? std::floor(std::log(seconds) / std::log1p(Price::kAlike)) : -HUGE_VAL;
    return {excess, timeClass, cost.wireBytes, seconds};
  }

  /// The size of the program, in which the default number of compiles is inversely proportional.
  static size_t sizeOf(const Inspection &inspection) {
    size_t size = std::max<size_t>(1, inspection.work.size());
    for (const FunctionReport &function : inspection.report.functions)
      size += function.params.size();
    const std::vector<spmd::MeshAxis> &axes = inspection.report.mesh.axes;
    for (size_t axis = 1; axis < axes.size(); ++axis)
      size *= axes[axis].size > 1 ? kPerAxis : 1;
    return size;
  }

  static bool isUnannotated(const Annotation &annotation) {
    return annotation.isParameter && std::all_of(annotation.dims.begin(), annotation.dims.end(),
                                                 [](const auto &dim) { return dim.axes.empty() && dim.isOpen; });
  }

  bool uses(const AnnotatedAxes &dimAxes, size_t annotation, const std::string &axis) const {
    return std::any_of(dimAxes.begin(), dimAxes.end(), [&](const auto &mark) {
      return mark.first.first == annotation &&
             std::find(mark.second.begin(), mark.second.end(), axis) != mark.second.end();
    });
  }

  /// The initial states: the proposals of the exact solver (passes/assign/ShardingProposals.h), each with its unsharded
  /// dimensions open, and with them replicated.
  std::vector<State> propose() {
    std::map<std::string, size_t> byPlace;
    for (size_t i = 0; i < annotations.size(); ++i)
      if (isUnannotated(annotations[i])) {
        byPlace.emplace(annotations[i].place, i);
        order.push_back(i);
      }
    Compiler compiler(fileName, text, options);
    auto proposals = compiler.proposals([&](llvm::StringRef place) { return byPlace.count(place.str()) > 0; },
                                        memoryLimit.has_value());
    if (!proposals || proposals->empty())
      return {};
    // The search extends large parameters first.
    for (const ShardingProposal::Entry &entry : proposals->front().entries)
      bytes[byPlace.at(entry.place)] += entry.bytes;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(-bytes[a], a) < std::pair(-bytes[b], b); });
    // With a memory limit, proposals whose parameters alone exceed it come last.
    std::vector<const ShardingProposal *> inOrder;
    for (bool fits : {true, false})
      for (const ShardingProposal &proposal : *proposals)
        if (fits == (!memoryLimit || parameterBytes(proposal) <= static_cast<double>(*memoryLimit)))
          inOrder.push_back(&proposal);
    std::vector<AnnotatedAxes> wanted;
    for (bool isOpen : {true, false})
      for (const ShardingProposal *proposal : inOrder) {
        AnnotatedAxes &dimAxes = wanted.emplace_back();
        for (const ShardingProposal::Entry &entry : proposal->entries)
          addAxes(dimAxes, byPlace.at(entry.place), entry.sharding, isOpen);
      }
    return tryAll(wanted);
  }

  /// Bytes of the unannotated parameters on one device.
  double parameterBytes(const ShardingProposal &proposal) const {
    double bytes = 0;
    for (const ShardingProposal::Entry &entry : proposal.entries) {
      auto own = static_cast<double>(entry.bytes);
      for (const auto &axes : entry.sharding.dims)
        for (const spmd::AxisRef &axis : axes)
          own /= static_cast<double>(axis.sizeIn(mesh));
      bytes += own;
    }
    return bytes;
  }

  /// Adds the axes of a sharding, without parts of axes, for which the language has no syntax.
  void addAxes(AnnotatedAxes &dimAxes, size_t annotation, const spmd::Sharding &sharding, bool isOpen) const {
    if (sharding.dims.size() != annotations[annotation].dims.size())
      return;
    for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
      std::vector<std::string> axes;
      for (const spmd::AxisRef &axis : sharding.dims[dim])
        if (axis.isFullAxis())
          axes.push_back(axis.name);
      if (!axes.empty() || !isOpen)
        dimAxes[{annotation, dim}] = std::move(axes);
    }
  }

  /// The cheapest states that have one axis more than a state of the beam.
  std::vector<State> expand(const std::vector<State> &beam) {
    std::vector<AnnotatedAxes> wanted;
    for (const State &state : beam)
      for (size_t i : order)
        for (const spmd::MeshAxis &axis : mesh.axes)
          for (size_t dim = 0; dim < annotations[i].dims.size(); ++dim) {
            if (axis.size == 1 || uses(state.dimAxes, i, axis.name))
              continue;
            wanted.push_back(state.dimAxes);
            wanted.back()[{i, dim}].push_back(axis.name);
          }
    std::vector<State> states = tryAll(wanted);
    sortByCost(states);
    return states;
  }

  /// Sorts by cost, then by the number of annotated dimensions, and keeps the first kBeam states.
  void sortByCost(std::vector<State> &states) const {
    auto keyOfState = [&](const State &state) {
      return std::tuple(keyOf(state.cost), state.dimAxes.size(), state.dimAxes);
    };
    std::sort(states.begin(), states.end(),
              [&](const State &a, const State &b) { return keyOfState(a) < keyOfState(b); });
    states.resize(std::min(states.size(), kBeam));
  }

  /// Removes annotations without which the program costs no more: sets of dimensions that are alike, as equal layers
  /// have them, then halves of the sets that matter; at last, the minor axes of the dimensions that are left.
  void dropIdle(State &state) {
    std::map<std::tuple<int64_t, size_t, size_t, std::vector<std::string>>, DimSet> alike;
    for (const auto &[where, axes] : state.dimAxes)
      alike[{bytes[where.first], annotations[where.first].dims.size(), where.second, axes}].push_back(where);
    std::vector<DimSet> sets;
    for (auto &[key, set] : alike)
      sets.push_back(std::move(set));
    while (!sets.empty()) {
      std::vector<AnnotatedAxes> wanted;
      for (const DimSet &set : sets)
        wanted.push_back(without(state.dimAxes, set));
      tryAll(wanted, /*isEnd=*/true);
      DimSet idle;
      std::vector<DimSet> idleSets, others;
      for (size_t i = 0; i < sets.size(); ++i) {
        bool isIdle = isNoDearer(wanted[i], state);
        (isIdle ? idleSets : others).push_back(sets[i]);
        if (isIdle)
          idle.insert(idle.end(), sets[i].begin(), sets[i].end());
      }
      // Annotations that are idle alone may be needed together.
      if (!idle.empty() && !replace(state, without(state.dimAxes, idle)))
        for (const DimSet &set : idleSets)
          if (!replace(state, without(state.dimAxes, set)))
            others.push_back(set);
      sets.clear();
      for (const DimSet &set : others)
        if (auto half = set.begin() + set.size() / 2; half != set.begin()) {
          sets.emplace_back(set.begin(), half);
          sets.emplace_back(half, set.end());
        }
    }
    for (const auto &[where, axes] : AnnotatedAxes(state.dimAxes))
      for (size_t count = axes.size(); count > 1; --count) {
        AnnotatedAxes reduced = state.dimAxes;
        reduced[where].pop_back();
        if (!replace(state, reduced))
          break;
      }
  }

  static AnnotatedAxes without(AnnotatedAxes dimAxes, const DimSet &set) {
    for (const auto &where : set)
      dimAxes.erase(where);
    return dimAxes;
  }

  /// Whether annotations that were tried cost no more than the state.
  bool isNoDearer(const AnnotatedAxes &dimAxes, const State &state) const {
    auto tried = costs.find(dimAxes);
    return tried != costs.end() && tried->second && !(keyOf(state.cost) < keyOf(*tried->second));
  }

  /// Replaces the state by these annotations if they cost no more.
  bool replace(State &state, const AnnotatedAxes &dimAxes) {
    tryAll({dimAxes}, /*isEnd=*/true);
    if (!isNoDearer(dimAxes, state))
      return false;
    state = {dimAxes, *costs.at(dimAxes)};
    return true;
  }

  AnnotationEdit editOf(const AnnotatedAxes &dimAxes) const {
    AnnotationEdit edit;
    for (const auto &[where, axes] : dimAxes)
      edit.push_back(rewriteDim(annotations[where.first], where.second, axes, /*isOpen=*/false));
    return edit;
  }

  /// Compiles the program with each of these annotations, in this order until the limit is reached; half of the
  /// compiles are reserved for dropIdle (`isEnd`). Returns the states without errors.
  std::vector<State> tryAll(const std::vector<AnnotatedAxes> &wanted, bool isEnd = false) {
    std::vector<AnnotatedAxes> fresh;
    std::set<AnnotatedAxes> listed;
    for (const AnnotatedAxes &dimAxes : wanted)
      if (!costs.count(dimAxes) && listed.insert(dimAxes).second)
        fresh.push_back(dimAxes);
    size_t limit = kPerCompile * (isEnd ? maxTries : (maxTries + 1) / 2);
    for (size_t next = 0; next < fresh.size() && work < limit;) {
      size_t count = std::min(fresh.size() - next, std::max<size_t>(1, (limit - work) / kPerCompile));
      std::vector<std::optional<ProgramTotals>> found = trialCosts.costsOf(
          count, [&](size_t i) { return program.apply(program.spell(editOf(fresh[next + i]))); },
          [&](size_t compiled) {
            if (onProgress)
              onProgress(compiled, maxTries);
          });
      for (size_t i = 0; i < count; ++i)
        costs[fresh[next + i]] = found[i];
      size_t compiled = trialCosts.countCompiled() - tries;
      tries += compiled;
      work += kPerCompile * compiled + (count - compiled);
      next += count;
    }
    std::vector<State> states;
    for (const AnnotatedAxes &dimAxes : std::set(wanted.begin(), wanted.end()))
      if (auto tried = costs.find(dimAxes); tried != costs.end() && tried->second)
        states.push_back({dimAxes, *tried->second});
    return states;
  }

  const std::string &fileName, &text;
  CompileOptions options;
  std::optional<int64_t> memoryLimit;
  size_t maxTries, tries = 0, work = 0;
  bool isLimited;
  const std::function<void(size_t, size_t)> &onProgress;
  AnnotatedProgram program;
  const std::vector<Annotation> &annotations;
  TrialCosts trialCosts;
  std::vector<size_t> order;       ///< Indices of the unannotated parameters, the largest first.
  std::map<size_t, int64_t> bytes; ///< Bytes of the unannotated parameters, by index.
  spmd::MeshShape mesh;
  std::map<AnnotatedAxes, std::optional<ProgramTotals>> costs; ///< Of all that was tried; nullopt with errors.
};

} // namespace

std::optional<AutoSharding> searchShardings(const std::string &fileName, const std::string &text,
                                            const CompileOptions &options, std::optional<int64_t> memoryLimit,
                                            std::optional<size_t> maxTries,
                                            const std::function<void(size_t, size_t)> &onProgress) {
  // An export says nothing about arguments that a user left open: each gets an annotation to edit.
  if (languageOf(fileName, text) == Language::Jax) {
    Diagnostics diagnostics;
    std::vector<spmd::MeshAxis> axes;
    if (!options.frontend.meshOverride.empty())
      overrideMesh(options.frontend, axes, Range(), diagnostics);
    const Source &source = diagnostics.addSource(fileName, text);
    std::string open = stablehlo::withOpenShardings(source, options.frontend.function, axes);
    return Search(fileName, open, options, memoryLimit, maxTries, onProgress).run();
  }
  return Search(fileName, text, options, memoryLimit, maxTries, onProgress).run();
}

static std::string triedText(size_t tried) {
  return spmd::countText(static_cast<int64_t>(tried), "program") + " tried";
}

std::string autoShardingText(const AutoSharding &sharding) {
  auto costText = [](const ProgramTotals &cost) {
    return timeText(cost.seconds()) + ", " + bytesText(cost.wireBytes) + " sent, " +
           bytesText(static_cast<double>(cost.peakBytes)) + " of memory";
  };
  std::string text = "as written: " + costText(sharding.before) + " on each device\n";
  if (sharding.edit.empty())
    return text + "no annotation of the unannotated parameters makes it cheaper (" + triedText(sharding.tried) + ")\n";
  text += "found:      " + costText(sharding.after) + " (" + triedText(sharding.tried) + ")\n";
  std::set<std::pair<std::string, std::string>> said; // A P(...) of which two dimensions change is one change.
  std::vector<std::pair<std::string, std::string>> labelled;
  for (const DimEdit &dim : sharding.edit)
    if (dim.label.empty())
      text += "  " + dim.place + ": '" + dim.to + "' instead of '" + dim.from + "'\n";
    else if (said.emplace(dim.label, dim.to).second)
      labelled.emplace_back(dim.label, dim.to);
  for (const auto &[label, first] : joinNumbered(labelled))
    text += "  " + label + ": " + labelled[first].second + "\n";
  return text;
}

} // namespace spmdc
