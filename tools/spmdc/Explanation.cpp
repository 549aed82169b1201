//===- Explanation.cpp - why there is each collective ---------------------===//

#include "tools/spmdc/Explanation.h"

#include "frontend/syntax/Parser.h"
#include "tools/spmdc/IrAnnotations.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>

namespace spmdc {
namespace {

/// `mlp.spmd:5`.
std::string lineOf(const std::string &location) { return location.substr(0, location.rfind(':')); }

std::string axisOf(const std::string &axis) { return axis.substr(0, axis.find(':')); }

/// A collective of that kind on that line, over any of the axes that annotations force; null where there is none.
const CollectiveReport *findLike(const CollectiveReport &collective, const std::set<std::string> &axes,
                                 const ProgramReport &report) {
  for (const FunctionReport &function : report.functions)
    for (const CollectiveReport &other : function.collectives)
      if (other.op == collective.op && lineOf(other.location) == lineOf(collective.location) &&
          std::any_of(other.axes.begin(), other.axes.end(),
                      [&](const std::string &axis) { return axes.count(axisOf(axis)); }))
        return &other;
  return nullptr;
}

/// The program, or IR, and where shardings are written in it.
class ProgramSource {
public:
  ProgramSource(const std::string &fileName, const std::string &text, const std::string &entry)
      : isProgram(!fileName.ends_with(".mlir")), source(diagnostics.addSource(fileName, text)) {
    if (isProgram) {
      ast = parse(source, diagnostics);
      annotations = listAnnotations(*ast, entry);
    } else {
      ir = std::make_unique<IrAnnotations>(source, entry);
      annotations = ir->get();
    }
  }

  /// The edit as it is to be written.
  AnnotationEdit spell(const AnnotationEdit &edit) const { return isProgram ? edit : IrAnnotations::spell(edit); }

  std::string apply(const AnnotationEdit &edit) const {
    return isProgram ? applyEdit(source.getText(), edit) : ir->apply(edit);
  }

  CauseText describe(const Cause &cause) const {
    for (const Annotation &annotation : annotations)
      if (annotation.range.str() == cause.mark && cause.dim < annotation.dims.size()) {
        const AnnotatedDim &dim = annotation.dims[cause.dim];
        return {cause, std::string(dim.whole.text()), dim.whole.str()};
      }
    return {cause, "", cause.mark};
  }

  bool isProgram;
  Diagnostics diagnostics;
  const Source &source;
  std::unique_ptr<Ast> ast;          ///< Of a program.
  std::unique_ptr<IrAnnotations> ir; ///< Of IR.
  std::vector<Annotation> annotations;
};

/// Looks for the change of annotations that removes a collective, by compiling what the changes give, each once.
class RemovalSearch {
public:
  RemovalSearch(const ProgramSource &program, const std::string &fileName, CompileOptions options,
                const ProgramReport &report, const TryLimits &limits)
      : program(program), fileName(fileName), options(std::move(options)), report(report), mesh(report.mesh),
        now(totalsOf(report)), limits(limits) {
    this->options.pipeline.dumpDirectory.clear();
    this->options.pipeline.remarks = false;
  }

  /// Fills in what was tried to remove the entry's collective, and what does: the smallest change that makes the
  /// program faster, else the smallest at all.
  void search(CollectiveExplanation &entry, const std::set<std::string> &axes, const std::vector<Cause> &causes) {
    current = &entry;
    if (!causes.empty())
      entry.removal = find(*entry.collective, axes, causes);
  }

  size_t tries = 0;
  bool isCutShort = false, isOutOfTime = false;

private:
  /// One of a single annotation, or the collective's axes taken from everything that brings them.
  std::optional<Removal> find(const CollectiveReport &collective, const std::set<std::string> &axes,
                              const std::vector<Cause> &causes) {
    std::optional<Removal> best;
    std::vector<AnnotationEdit> edits = listEdits(program.annotations, mesh, inOrder(collective, axes), causes);
    if (program.isProgram)
      for (const FunctionReport &function : report.functions)
        llvm::append_range(edits,
                           listResultEdits(*program.ast, function.name, function.results, inOrder(collective, axes)));
    for (const AnnotationEdit &listed : edits) {
      AnnotationEdit edit = program.spell(listed);
      const Outcome *outcome = test(edit);
      if (!outcome || !outcome->report || findLike(collective, axes, *outcome->report))
        continue;
      Removal removal = toRemoval(edit, *outcome->report);
      if (!best || keyOf(removal) < keyOf(*best))
        best = std::move(removal);
    }
    return best ? best : takeAxes(collective, axes, causes);
  }

  /// What the partitioner makes of a changed program, where that has no errors.
  struct Outcome {
    std::optional<ProgramReport> report;
    PropagationLog log;
  };

  /// The axes as the collective names them.
  static std::vector<std::string> inOrder(const CollectiveReport &collective, std::set<std::string> axes) {
    std::vector<std::string> result;
    for (const std::string &axis : collective.axes)
      if (axes.erase(axisOf(axis)))
        result.push_back(axisOf(axis));
    return result;
  }

  double secondsOf(const ProgramTotals &totals) const {
    return totals.communicationSeconds + options.costModel.computeSeconds(totals.flops, 0);
  }

  Removal toRemoval(const AnnotationEdit &edit, const ProgramReport &report) const {
    ProgramTotals totals = totalsOf(report);
    return {edit, totals, secondsOf(totals) < secondsOf(now)};
  }

  std::tuple<bool, size_t, double, double, size_t> keyOf(const Removal &removal) const {
    return {!removal.isFaster, removal.edit.size(), secondsOf(removal.totals), removal.totals.wireBytes,
            removal.totals.collectives};
  }

  /// Null where it would be one try too many.
  const Outcome *test(const AnnotationEdit &edit) {
    std::string edited = program.apply(edit);
    if (auto known = outcomes.find(edited); known != outcomes.end()) {
      ++current->triedEdits;
      return &known->second;
    }
    isOutOfTime |= std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(limits.seconds);
    if (tries == limits.tries || isOutOfTime) {
      isCutShort = current->isCutShort = true;
      return nullptr;
    }
    ++tries;
    ++current->triedEdits;
    Outcome &outcome = outcomes[edited];
    options.pipeline.propagationLog = &outcome.log;
    outcome.report = Compiler(fileName, edited, options).report();
    return &outcome;
  }

  /// Takes the axes from the marks that bring them, and from those that then bring them, until the collective is gone.
  std::optional<Removal> takeAxes(const CollectiveReport &collective, const std::set<std::string> &axes,
                                  std::vector<Cause> causes) {
    constexpr size_t maxDims = 8;
    TakenAxes taken;
    std::unique_ptr<ProgramSource> changed;
    while (true) {
      const std::vector<Annotation> &annotations = (changed ? *changed : program).annotations;
      size_t before = countTaken(taken);
      for (const Cause &cause : causes)
        for (size_t i = 0; i < annotations.size() && !cause.isWhole; ++i)
          if (annotations[i].range.str() == cause.mark && cause.dim < annotations[i].dims.size())
            taken[{i, cause.dim}].insert(cause.axis);
      if (countTaken(taken) == before || taken.size() > maxDims)
        return std::nullopt;
      AnnotationEdit edit = program.spell(editWithout(program.annotations, taken));
      const Outcome *outcome = test(edit);
      if (!outcome || !outcome->report)
        return std::nullopt;
      const CollectiveReport *left = findLike(collective, axes, *outcome->report);
      if (!left)
        return toRemoval(edit, *outcome->report);
      // The annotations of the changed program are the same ones, at other places; those of IR have kept theirs.
      if (program.isProgram)
        changed = std::make_unique<ProgramSource>(fileName, program.apply(edit), options.frontend.function);
      causes = findCauses(outcome->log, *left);
    }
  }

  static size_t countTaken(const TakenAxes &taken) {
    size_t count = 0;
    for (const auto &[where, axes] : taken)
      count += axes.size();
    return count;
  }

  const ProgramSource &program;
  const std::string &fileName;
  CompileOptions options;
  const ProgramReport &report; ///< Of the program as it is.
  spmd::MeshShape mesh;
  ProgramTotals now;
  const TryLimits limits;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  CollectiveExplanation *current = nullptr; ///< Whose removal is looked for.
  std::map<std::string, Outcome> outcomes;
};

} // namespace

ProgramTotals totalsOf(const ProgramReport &report) {
  ProgramTotals totals;
  for (const FunctionReport &function : report.functions) {
    totals.collectives += function.collectives.size();
    totals.wireBytes += function.wireBytesPerDevice;
    totals.communicationSeconds += function.communicationSeconds;
    totals.flops += function.flopsPerDevice;
    totals.argumentBytes += function.argumentBytesPerDevice;
  }
  return totals;
}

std::optional<Explanation> explainProgram(Compiler &compiler, const std::string &fileName, const std::string &text,
                                          const CompileOptions &options, const PropagationLog &log,
                                          const TryLimits &limits) {
  std::optional<Inspection> inspection = inspectProgram(compiler);
  if (!inspection)
    return std::nullopt;
  std::optional<Explanation> explanation(std::in_place);
  explanation->inspection = std::move(*inspection);
  const ProgramReport &report = explanation->inspection.report;
  explanation->totals = totalsOf(report);
  ProgramSource program(fileName, text, options.frontend.function);
  RemovalSearch removals(program, fileName, options, report, limits);

  // The most expensive ones have the first choice of what is tried.
  std::vector<size_t> byCost;
  std::vector<std::vector<Cause>> causes;
  for (const FunctionReport &function : report.functions)
    for (const CollectiveReport &collective : function.collectives) {
      CollectiveExplanation &entry = explanation->collectives.emplace_back();
      entry.collective = &collective;
      entry.sourceLine = program.source.lineOf(collective.location);
      std::set<std::string> shown = {lineOf(collective.location)};
      for (const std::string &place : collective.places)
        if (shown.insert(lineOf(place)).second)
          entry.otherLines.emplace_back(place, program.source.lineOf(place));
      causes.push_back(findCauses(log, collective));
      std::set<std::tuple<std::string, unsigned, std::string, bool>> described; // By whatever ways they come.
      for (const Cause &cause : causes.back())
        if (described.emplace(cause.mark, cause.dim, cause.axis, cause.isWhole).second)
          entry.causes.push_back(program.describe(cause));
      byCost.push_back(byCost.size());
    }
  std::sort(byCost.begin(), byCost.end(), [&](size_t a, size_t b) {
    double left = explanation->collectives[a].collective->countedSeconds();
    double right = explanation->collectives[b].collective->countedSeconds();
    return left != right ? left > right : a < b;
  });
  for (size_t index : byCost) {
    CollectiveExplanation &entry = explanation->collectives[index];
    removals.search(entry, findForcedAxes(log, *entry.collective), causes[index]);
  }
  explanation->triedEdits = removals.tries;
  explanation->isCutShort = removals.isCutShort;
  explanation->isOutOfTime = removals.isOutOfTime;
  return explanation;
}

} // namespace spmdc
