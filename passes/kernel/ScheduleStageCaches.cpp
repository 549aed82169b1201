//===- ScheduleStageCaches.cpp - values that stages keep ------------------===//

#include "passes/kernel/OpCost.h"
#include "passes/kernel/ScheduleBuilder.h"
#include "passes/kernel/Shapes.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {

double ScheduleBuilder::stretch(double work) const {
  // On a GPU a row along its last dimension runs on a block, or on a cluster if it keeps a long row; another row on one
  // thread, or on up to 32 threads.
  constexpr double kBlockThreads = 256, kMaxStrips = 32, kStripElements = 4;
  double longest = 1;
  for (const KernelSchedule::Domain &domain : schedule.domains)
    longest = std::max(longest, static_cast<double>(domain.getExtent()));
  auto blocks = static_cast<double>(productOf(schedule.rowShape));
  bool isKept = llvm::any_of(schedule.stages, [](const auto &stage) { return !stage.stageCaches.empty(); });
  if (lanes != KernelSchedule::Lanes::Inner)
    blocks *= std::clamp(longest / kStripElements, 1.0, kMaxStrips) / kBlockThreads;
  else if (isKept && longest > static_cast<double>(traits.computedExtent))
    blocks *= static_cast<double>(traits.sharingBlocks);
  blocks = std::max(1.0, blocks);
  double inTime = traits.workOfOneBlock * blocks, slowdown = std::max(1.0, traits.slowdownAlone / blocks);
  return work <= inTime ? work : inTime + (work - inTime) * slowdown;
}

double ScheduleBuilder::costOf(Value value) const {
  bool isLoad = !body.contains(value);
  return getOpCost(value, isLoad) * (isLoad ? 1 : traits.computeCost);
}

void ScheduleBuilder::addWork(const Walk &walk, int level, unsigned domain) {
  const IndexSpace &space = schedule.indexing->space;
  const KernelSchedule::Domain &loops = schedule.domains[domain];
  llvm::DenseMap<const Index *, double> counts;
  auto countOf = [&](const Index &index) {
    // A value is computed once for the loops that its index names; values that depend on rows alone are hoisted out of
    // the domain.
    auto depends = [&](const IndexExpr &var) {
      return !var.isConstant() &&
             llvm::any_of(index, [&](const IndexExpr &expr) { return space.dependsOn(expr, var.terms[0].first); });
    };
    double count = 1;
    bool isInner = false;
    auto enclose = [&](const IndexExpr &var, int64_t size) {
      isInner = isInner || depends(var);
      if (isInner)
        count *= static_cast<double>(size);
    };
    // From the innermost loop outwards.
    size_t outerRows = schedule.rowShape.size();
    if (lanes != KernelSchedule::Lanes::Inner && outerRows > 0) {
      --outerRows;
      enclose(schedule.rowVars[outerRows], schedule.rowShape[outerRows]);
    }
    for (size_t d = loops.shape.size(); d-- > 0;)
      enclose(loops.vars[d], loops.shape[d]);
    for (size_t d = outerRows; d-- > 0;)
      enclose(schedule.rowVars[d], schedule.rowShape[d]);
    return count;
  };
  for (const Visit &visit : walk.visits) {
    auto [known, isFirst] = counts.try_emplace(visit.index, 0);
    if (isFirst)
      known->second = countOf(*visit.index);
    double count = known->second;
    auto [entry, isNew] = evaluationOf.try_emplace(visit.key(), evaluations.size());
    if (isNew)
      evaluations.push_back({visit, {}, count});
    auto &where = evaluations[entry->second].stages;
    if (!llvm::is_contained(where, std::make_pair(level, domain)))
      where.emplace_back(level, domain);
    evaluations[entry->second].count = std::max(evaluations[entry->second].count, count);
  }
}

void ScheduleBuilder::addRoot(const Walk &walk, Visit root, int level, unsigned domain) {
  roots.push_back({std::move(root), {level, domain}});
  addWork(walk, level, domain);
}

bool ScheduleBuilder::isWorthKeeping(const Evaluation &evaluation) const {
  const IndexSpace &space = schedule.indexing->space;
  Value value = evaluation.visit.value;
  if (evaluation.stages.size() < 2 || guarded.contains(evaluation.visit.key()))
    return false;
  bool isLoad = !body.contains(value);
  bool isInner = schedule.lanes == KernelSchedule::Lanes::Inner;
  if (isLoad ? !traits.loadedBytes || !isInner
             : getOpCost(value, false) < kCacheCost || isa<ReduceOp>(value.getDefiningOp()))
    return false;
  StageKey first = *std::min_element(evaluation.stages.begin(), evaluation.stages.end());
  const KernelSchedule::Domain &loops = schedule.domains[first.second];
  bool isSameDomain = llvm::all_of(evaluation.stages, [&](StageKey stage) { return stage.second == first.second; });
  auto dependsOn = [&](const IndexExpr &var) {
    return llvm::any_of(*evaluation.visit.index,
                        [&](const IndexExpr &expr) { return space.dependsOn(expr, var.terms[0].first); });
  };
  auto isFixedOrNamed = [&](const IndexExpr &var) { return var.isConstant() || dependsOn(var); };
  if (!isSameDomain || loops.vars.empty() || !llvm::all_of(loops.vars, isFixedOrNamed))
    return false;
  if (!isLoad)
    return loops.getExtent() * (isInner ? 1 : kRowBlock) <= traits.computedExtent;
  // Values that all rows read come from a cache each time.
  auto isRow = [&](const IndexExpr &var) { return !var.isConstant() && dependsOn(var); };
  return schedule.rowVars.empty() || llvm::any_of(schedule.rowVars, isRow);
}

void ScheduleBuilder::chooseStageCaches() {
  // Computed values first, since a value in memory is cheaper to read again.
  bool hasScans = llvm::any_of(body.ops, [](Operation *op) { return isa<CumulativeOp>(op); });
  int64_t bytes = 0, blocks = hasScans ? 1 : traits.sharingBlocks;
  int64_t unit = traits.loadedUnit * blocks, mostBytes = traits.loadedBytes * blocks;
  for (bool isLoad : {false, true})
    for (const Evaluation &evaluation : evaluations) {
      if (isLoad == body.contains(evaluation.visit.value) || !isWorthKeeping(evaluation))
        continue;
      StageKey first = *std::min_element(evaluation.stages.begin(), evaluation.stages.end());
      int64_t size = schedule.domains[first.second].getExtent() *
                     spmd::byteSize(cast<ArrayType>(evaluation.visit.value.getType()).getDType());
      size = (size + unit - 1) / unit * unit;
      if (isLoad && bytes + size > mostBytes)
        continue;
      bytes += size;
      cachedIn[evaluation.visit.key()] = first;
    }
  if (cachedIn.empty())
    return;
  // Counts again: a value in a stage-local cache is not computed again, nor are the values that only it needs.
  std::vector<Evaluation> candidates = std::move(evaluations);
  evaluations.clear();
  evaluationOf.clear();
  for (const Root &root : roots) {
    Walk walk;
    walk.stage = root.stage;
    visit(walk, root.visit.value, root.visit.index);
    addWork(walk, root.stage.first, root.stage.second);
  }
  for (const Evaluation &candidate : candidates)
    if (cachesRead.contains(candidate.visit.key())) {
      stages[cachedIn.at(candidate.visit.key())].stageCaches.push_back({candidate.visit.value, *candidate.visit.index});
      counts->work +=
          candidate.count * kCacheTraffic * traits.computeCost * static_cast<double>(candidate.stages.size());
    }
}

} // namespace spmdc
