//===- AutoSharding.cpp - search of shardings of parameters ---------------===//

#include "compiler/auto/AutoSharding.h"

#include "compiler/Importer.h"
#include "compiler/explain/AnnotatedProgram.h"
#include "compiler/inspection/InspectionText.h"
#include "frontend/MeshOverride.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "ir/spmd/DebugTrace.h"

#include "runtime/support/CountText.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/xxhash.h"

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

/// Axes, major to minor, by (index of the annotation, dimension). An empty list makes the dimension replicated.
using AnnotatedAxes = std::map<std::pair<size_t, size_t>, std::vector<std::string>>;

class Search {
public:
  Search(const std::string &fileName, const std::string &text, const CompileOptions &options,
         std::optional<int64_t> memoryLimit, std::optional<size_t> maxTries,
         const std::function<void(size_t, size_t)> &onProgress)
      : fileName(fileName), text(text), options(options), memoryLimit(memoryLimit),
        maxTries(maxTries.value_or(kFewestTries)), isLimited(maxTries.has_value()), onProgress(onProgress),
        program(fileName, text, options.frontend.function), annotations(program.getAnnotations()) {
    this->options.pipeline.dumpDirectory.clear();
    this->options.pipeline.remarks = false;
    this->options.budget.clear();
  }

  std::optional<AutoSharding> run() {
    DebugTrace::Pause onTrial;
    auto finish = llvm::make_scope_exit([&] {
      if (onProgress)
        onProgress(tries, tries);
    });
    std::optional<ProgramTotals> start = costOf({});
    if (!start)
      return std::nullopt;
    tries = 0; // The unedited program does not count.
    if (!isLimited)
      maxTries = std::clamp(kSizeOfAll / size, kFewestTries, kMostTries);
    State best{{}, *start};
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
    return AutoSharding{*start, best.cost, edit, program.apply(edit), tries};
  }

private:
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
        byPlace.emplace(annotations[i].range.str(), i);
        order.push_back(i);
      }
    Compiler compiler(fileName, text, options);
    auto proposals = compiler.proposals([&](llvm::StringRef place) { return byPlace.count(place.str()) > 0; },
                                        memoryLimit.has_value());
    std::vector<State> states;
    if (!proposals || proposals->empty())
      return states;
    // The search extends large parameters first.
    std::map<size_t, int64_t> bytes;
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
    for (bool isOpen : {true, false})
      for (const ShardingProposal *proposal : inOrder) {
        AnnotatedAxes dimAxes;
        for (const ShardingProposal::Entry &entry : proposal->entries)
          addAxes(dimAxes, byPlace.at(entry.place), entry.sharding, isOpen);
        if (std::optional<ProgramTotals> cost = costOf(dimAxes))
          states.push_back({std::move(dimAxes), *cost});
      }
    return states;
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
    std::map<AnnotatedAxes, ProgramTotals> found;
    for (const State &state : beam)
      for (size_t i : order)
        for (const spmd::MeshAxis &axis : mesh.axes)
          for (size_t dim = 0; dim < annotations[i].dims.size(); ++dim) {
            if (axis.size == 1 || uses(state.dimAxes, i, axis.name))
              continue;
            AnnotatedAxes dimAxes = state.dimAxes;
            dimAxes[{i, dim}].push_back(axis.name);
            if (std::optional<ProgramTotals> cost = costOf(dimAxes))
              found.emplace(std::move(dimAxes), *cost);
          }
    std::vector<State> states;
    for (auto &[dimAxes, cost] : found)
      states.push_back({dimAxes, cost});
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

  /// Removes axes without which the program costs no more, until there are none.
  void dropIdle(State &state) {
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (const auto &[where, axes] : AnnotatedAxes(state.dimAxes)) {
        AnnotatedAxes reduced = state.dimAxes;
        if (axes.size() > 1)
          reduced[where].pop_back();
        else
          reduced.erase(where);
        std::optional<ProgramTotals> cost = costOf(reduced, /*isEnd=*/true);
        if (!cost || keyOf(state.cost) < keyOf(*cost))
          continue;
        state = {std::move(reduced), *cost};
        isChanged = true;
      }
    }
  }

  AnnotationEdit editOf(const AnnotatedAxes &dimAxes) const {
    AnnotationEdit edit;
    for (const auto &[where, axes] : dimAxes)
      edit.push_back(rewriteDim(annotations[where.first], where.second, axes, /*isOpen=*/false));
    return edit;
  }

  /// Compiles the program with these annotations. Returns nullopt on errors, or if the limit is reached; half of the
  /// compiles are reserved for dropIdle (`isEnd`).
  std::optional<ProgramTotals> costOf(const AnnotatedAxes &dimAxes, bool isEnd = false) {
    if (auto known = costs.find(dimAxes); known != costs.end())
      return known->second;
    if (tries >= (isEnd ? maxTries : (maxTries + 1) / 2))
      return std::nullopt;
    ++tries;
    if (onProgress)
      onProgress(tries, maxTries);
    Compiler compiler(fileName, program.apply(program.spell(editOf(dimAxes))), options);
    std::optional<ProgramTotals> &cost = costs[dimAxes];
    mlir::ModuleOp propagated = compiler.module(Stage::Propagated);
    if (!propagated)
      return std::nullopt;
    // Annotations of what propagation does anyway change nothing behind it.
    auto [same, isNew] = costsByProgram.try_emplace(hashOf(propagated));
    if (!isNew)
      return cost = same->second;
    std::optional<Inspection> inspection = inspectProgram(compiler);
    if (!inspection)
      return std::nullopt;
    mesh = inspection->report.mesh;
    size = std::max<size_t>(1, inspection->work.size());
    cost = totalsOf(*inspection);
    for (const FunctionReport &function : inspection->report.functions)
      size += function.params.size();
    for (size_t axis = 1; axis < mesh.axes.size(); ++axis)
      size *= mesh.axes[axis].size > 1 ? kPerAxis : 1;
    return same->second = cost;
  }

  /// A hash of the program, without locations and without the elements of constants: one program for all annotations.
  static std::pair<uint64_t, uint64_t> hashOf(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs().useLocalScope());
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
    return {hash.high64, hash.low64};
  }

  const std::string &fileName, &text;
  CompileOptions options;
  std::optional<int64_t> memoryLimit;
  size_t maxTries, tries = 0, size = 0;
  bool isLimited;
  const std::function<void(size_t, size_t)> &onProgress;
  AnnotatedProgram program;
  const std::vector<Annotation> &annotations;
  std::vector<size_t> order; ///< Indices of the unannotated parameters, the largest first.
  spmd::MeshShape mesh;
  std::map<AnnotatedAxes, std::optional<ProgramTotals>> costs;
  std::map<std::pair<uint64_t, uint64_t>, std::optional<ProgramTotals>> costsByProgram; ///< By hash after propagation.
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
  std::set<std::string> said; // A P(...) of which two dimensions change is one change.
  for (const DimEdit &dim : sharding.edit)
    if (std::string one = dim.label.empty() ? dim.place + ": '" + dim.to + "' instead of '" + dim.from + "'\n"
                                            : dim.label + ": " + dim.to + "\n";
        said.insert(one).second)
      text += "  " + one;
  return text;
}

} // namespace spmdc
