//===- FixItSearch.cpp - the search for fix-its ---------------------------===//

#include "compiler/explain/FixItSearch.h"

#include "ir/spmd/DebugTrace.h"
#include "runtime/support/ParallelLoop.h"
#include "runtime/support/Process.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace spmdc {
namespace {

/// The edits of each collective that are tried before all edits of any.
constexpr size_t kFirstEdits = 8;

/// `mlp.spmd:5`.
std::string lineOf(const std::string &location) { return location.substr(0, location.rfind(':')); }

std::string axisOf(const std::string &axis) { return axis.substr(0, axis.find(':')); }

/// The collectives with the same operation on the same line, over any of the forced axes.
std::vector<const CollectiveReport *> findLike(const WantedFixIt &wanted, const ProgramReport &report) {
  std::vector<const CollectiveReport *> alike;
  for (const FunctionReport &function : report.functions)
    for (const CollectiveReport &other : function.collectives)
      if (other.op == wanted.collective->op && lineOf(other.location) == lineOf(wanted.collective->location) &&
          llvm::any_of(other.axes, [&](const std::string &axis) { return wanted.axes.count(axisOf(axis)); }))
        alike.push_back(&other);
  return alike;
}

double bytesOf(const std::vector<const CollectiveReport *> &collectives) {
  double bytes = 0;
  for (const CollectiveReport *collective : collectives)
    bytes += collective->totalWireBytes();
  return bytes;
}

std::vector<std::string> firstCallPathOf(const CollectiveReport &collective) {
  return collective.callPaths.empty() ? std::vector<std::string>() : collective.callPaths.front();
}

/// The operation that needs the collective, which is the first word of its `why`: several operations may share a place.
std::string operationOf(const CollectiveReport &collective) {
  return collective.why.substr(0, collective.why.find(' '));
}

/// The forced axes, in the order of the collective.
std::vector<std::string> axesInOrder(const WantedFixIt &wanted) {
  std::vector<std::string> result;
  for (const std::string &axis : wanted.collective->axes)
    if (wanted.axes.count(axisOf(axis)) && !llvm::is_contained(result, axisOf(axis)))
      result.push_back(axisOf(axis));
  return result;
}

/// The places of the collective, and of the operations between it and the annotations that force it.
std::vector<std::string> placesAround(const WantedFixIt &wanted) {
  std::vector<std::string> places = wanted.collective->places;
  for (const ForcingAnnotation &cause : wanted.causes)
    for (const ProvenanceStep &point : cause.path)
      places.push_back(point.place);
  return places;
}

size_t countRemoved(const RemovedAxes &taken) {
  size_t count = 0;
  for (const auto &[where, axes] : taken)
    count += axes.size();
  return count;
}

} // namespace

FixItSearch::FixItSearch(const AnnotatedProgram &program, CompileOptions options, const Inspection &inspection,
                         const TryLimits &limits, Duration compileTime)
    : program(program), options(std::move(options)), report(inspection.report), now(totalsOf(inspection)),
      limits(limits), slowest(compileTime) {
  this->options.pipeline.dumpDirectory.clear();
  this->options.pipeline.remarks = false;
}

void FixItSearch::run(const std::vector<WantedFixIt *> &wanted) {
  std::vector<WantedFixIt *> left;
  for (WantedFixIt *one : wanted)
    if (!one->causes.empty())
      left.push_back(one);
  // A search that reaches a limit has then tried something for the first ones, instead of everything for one.
  if (left.size() > 1)
    for (WantedFixIt *one : left) {
      std::vector<AnnotationEdit> edits = listLikely(*one);
      edits.resize(std::min(edits.size(), kFirstEdits));
      tryAll(*one, edits);
    }
  for (WantedFixIt *one : left) {
    one->found.clear();
    one->tried = 0;
    tryAll(*one, listLikely(*one));
  }
  for (WantedFixIt *one : left)
    if (llvm::none_of(one->found, [](const FixIt &fixIt) { return fixIt.isFaster && !fixIt.hasExtraCost; }))
      tryAll(*one, listLarger(*one));
  for (WantedFixIt *one : left)
    if (llvm::none_of(one->found, [](const FixIt &fixIt) { return fixIt.isFaster; }))
      removeAxes(*one);
}

std::vector<AnnotationEdit> FixItSearch::listResults(const std::vector<AxisAddition> &additions,
                                                     AxisTargets which) const {
  std::vector<AnnotationEdit> edits;
  if (const Ast *ast = program.getAst())
    for (const FunctionReport &function : report.functions)
      llvm::append_range(edits, listResultEdits(*ast, function.name, function.results, additions, which));
  return edits;
}

std::vector<AnnotationEdit> FixItSearch::listLikely(const WantedFixIt &wanted) const {
  std::vector<std::string> axes = axesInOrder(wanted);
  std::vector<AnnotationEdit> edits = listResults(additionsOfOne(axes), AxisTargets::Together);
  llvm::append_range(edits, listAlignments(program.getAnnotations(), report.mesh, axes, wanted.causes));
  llvm::append_range(edits, listEdits(program.getAnnotations(), report.mesh, axes, wanted.causes));
  llvm::append_range(edits, listResults(additionsOfOne(axes), AxisTargets::Apart));
  return edits;
}

std::vector<AnnotationEdit> FixItSearch::listLarger(const WantedFixIt &wanted) const {
  std::vector<std::string> axes = axesInOrder(wanted);
  std::vector<AnnotationEdit> edits;
  if (const Ast *ast = program.getAst())
    for (const FunctionReport &function : report.functions)
      for (const auto &additions : {additionsOfOne(axes), additionsOfSeveral(axes)})
        llvm::append_range(edits, listLetEdits(*ast, function.values, placesAround(wanted), additions));
  for (AxisTargets which : {AxisTargets::Together, AxisTargets::Apart})
    llvm::append_range(edits, listResults(additionsOfSeveral(axes), which));
  llvm::append_range(edits, listWiderEdits(program.getAnnotations(), report.mesh, axes, wanted.causes));
  return edits;
}

/// Finds the collective in the edited program; null if the edit removes it. A collective of the same kind at another
/// operation of the line counts as the same one, moved there, unless that operation had such a collective before the
/// edit. So the edit must lower both the number of collectives of this kind on the line, and their bytes by at least
/// the bytes of this collective.
const CollectiveReport *FixItSearch::findRemaining(const WantedFixIt &wanted, const AnnotationEdit &edit,
                                                   const ProgramReport &then) const {
  std::vector<const CollectiveReport *> before = findLike(wanted, report), after = findLike(wanted, then);
  auto callPathAfter = [&](const CollectiveReport &collective) {
    std::vector<std::string> callPath;
    for (const std::string &place : firstCallPathOf(collective))
      callPath.push_back(program.moved(place, edit));
    return callPath;
  };
  auto isOfOne = [&](const CollectiveReport &old, const CollectiveReport &now) {
    return old.op == now.op && operationOf(old) == operationOf(now) && callPathAfter(old) == firstCallPathOf(now);
  };
  for (const CollectiveReport *other : after)
    if (isOfOne(*wanted.collective, *other))
      return other;
  for (const FunctionReport &function : report.functions)
    for (const CollectiveReport &old : function.collectives)
      if (!llvm::is_contained(before, &old) &&
          llvm::any_of(after, [&](const CollectiveReport *now) { return isOfOne(old, *now); }))
        before.push_back(&old);
  bool isGone = after.size() < before.size() && bytesOf(after) <= bytesOf(before) - wanted.collective->totalWireBytes();
  return after.empty() || isGone ? nullptr : after.front();
}

/// The edit in the syntax of the text. For several collectives of equal layers, the edit of each layer's annotation,
/// then that of all annotations whose names differ in numbers only.
std::vector<AnnotationEdit> FixItSearch::spell(const WantedFixIt &wanted, const AnnotationEdit &edit) const {
  if (!wanted.forcing)
    return {program.spell(edit)};
  AnnotationEdit ofLayers = program.withAlike(edit, &*wanted.forcing), ofAll = program.withAlike(edit, nullptr);
  std::vector<AnnotationEdit> edits = {program.spell(ofLayers)};
  if (ofAll.size() != ofLayers.size())
    edits.push_back(program.spell(ofAll));
  return edits;
}

void FixItSearch::tryAll(WantedFixIt &wanted, const std::vector<AnnotationEdit> &edits) {
  // Groups of one new program for each core: a limit of time ends the search between groups.
  auto cores = static_cast<size_t>(spmd::availableCores());
  std::set<std::string> listed;
  for (size_t next = 0; next < edits.size();) {
    std::vector<KeyedEdit> group, fresh;
    for (std::set<std::string> newKeys; next < edits.size() && newKeys.size() < cores; ++next)
      for (AnnotationEdit &edit : spell(wanted, edits[next])) {
        std::string key = program.keyOf(edit);
        if (key.empty() || !listed.insert(key).second)
          continue; // An edit that JAX cannot express; or edits of equal layers, made alike, are one.
        group.emplace_back(key, std::move(edit));
        if (!outcomes.count(key) && newKeys.insert(key).second)
          fresh.push_back(group.back());
      }
    compileAll(fresh);
    for (const auto &[key, edit] : group) {
      const Outcome *outcome = outcomeFor(wanted, key);
      if (outcome && outcome->inspection && !findRemaining(wanted, edit, outcome->inspection->report))
        wanted.found.emplace_back(edit, totalsOf(*outcome->inspection), now);
    }
  }
}

/// Compiles edited programs that are new, on all cores; none at a limit.
void FixItSearch::compileAll(const std::vector<KeyedEdit> &fresh) {
  if (fresh.empty())
    return;
  wasTooLong |= std::chrono::steady_clock::now() - begin + slowest > std::chrono::duration<double>(limits.seconds);
  size_t count = wasTooLong ? 0 : std::min(fresh.size(), limits.tries - tries);
  tries += count;
  std::vector<Outcome *> compiled;
  for (size_t i = 0; i < count; ++i)
    compiled.push_back(&outcomes[fresh[i].first]);
  std::vector<Duration> times(count);
  spmd::forEachInParallel(count, [&](size_t i) {
    auto start = std::chrono::steady_clock::now();
    CompileOptions own = options;
    own.pipeline.propagationLog = &compiled[i]->log;
    DebugTrace::Pause onTrial;
    Compiler compiler(program.getFileName(), program.apply(fresh[i].second), own);
    compiled[i]->inspection = inspectProgram(compiler);
    times[i] = std::chrono::steady_clock::now() - start;
  });
  for (Duration time : times)
    slowest = std::max(slowest, time);
}

/// The outcome of an edit for a collective; null if a limit left it out.
const FixItSearch::Outcome *FixItSearch::outcomeFor(WantedFixIt &wanted, const std::string &key) const {
  auto known = outcomes.find(key);
  if (known == outcomes.end()) {
    wanted.isIncomplete = true;
    return nullptr;
  }
  ++wanted.tried;
  return &known->second;
}

/// Removes the axes from the annotations that force the collective, compiles, and repeats with the annotations that
/// force it then, until the collective is removed, no annotation is left, or too many dimensions are edited.
void FixItSearch::removeAxes(WantedFixIt &wanted) {
  constexpr size_t maxDims = 8;
  std::vector<ForcingAnnotation> causes = wanted.causes;
  RemovedAxes taken;
  std::unique_ptr<AnnotatedProgram> changed;
  while (true) {
    const std::vector<Annotation> &annotations = (changed ? *changed : program).getAnnotations();
    size_t before = countRemoved(taken);
    for (const ForcingAnnotation &cause : causes)
      for (size_t i = 0; i < annotations.size() && !cause.isReplicated; ++i)
        if (annotations[i].place == cause.annotationPlace && cause.dim < annotations[i].dims.size())
          taken[{i, cause.dim}].insert(cause.axis);
    if (countRemoved(taken) == before || taken.size() > maxDims)
      return;
    AnnotationEdit edit = spell(wanted, editWithout(program.getAnnotations(), taken)).front();
    std::string key = program.keyOf(edit);
    if (!outcomes.count(key))
      compileAll({{key, edit}});
    const Outcome *outcome = outcomeFor(wanted, key);
    if (!outcome || !outcome->inspection)
      return;
    const CollectiveReport *left = findRemaining(wanted, edit, outcome->inspection->report);
    if (!left) {
      wanted.found.emplace_back(edit, totalsOf(*outcome->inspection), now);
      return;
    }
    if (program.isEditedInPlace())
      changed =
          std::make_unique<AnnotatedProgram>(program.getFileName(), program.apply(edit), options.frontend.function);
    causes = findProvenance(outcome->log, *left);
  }
}

} // namespace spmdc
