//===- KernelSchedule.cpp - the loops of a kernel -------------------------===//
//
// The builder fixes the row space and the domains first (from the reductions, else from the first output), then walks
// from every reduction and output to the leaves with symbolic indices. The walk is what decides: it fails where a
// reduction of the group would be read in another row than the current one, and it counts what each stage evaluates.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/KernelSchedule.h"

#include "passes/kernel/OpCost.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <map>
#include <set>

using namespace mlir;

namespace spmdc {
namespace {

/// More visits than this mean that something is read at very many different places: no kernel for it.
constexpr size_t kMaxVisits = 4096;
/// Fewer lanes than this are not worth a vector.
constexpr int64_t kMinLanes = 16;
/// Sides of the squares in which transposes go.
constexpr int64_t kMinTile = 8;

ArrayRef<int64_t> shapeOf(Value value) { return cast<ArrayType>(value.getType()).getShape(); }

int64_t productOf(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

SmallVector<int64_t> select(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, bool isIn) {
  SmallVector<int64_t> result;
  for (auto [d, size] : llvm::enumerate(shape))
    if (llvm::is_contained(dims, static_cast<int64_t>(d)) == isIn)
      result.push_back(size);
  return result;
}

/// The loops over an array of one kernel: rows, and what each row walks.
struct Shape {
  SmallVector<int64_t> rows, inner;
};

SmallVector<int64_t> reducedDims(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return SmallVector<int64_t>(reduce.getDims());
  return {static_cast<int64_t>(cast<CumulativeOp>(op).getDim())};
}

/// Joins neighbouring dimensions where `isJoined`.
SmallVector<int64_t> join(ArrayRef<int64_t> shape, ArrayRef<bool> isJoined) {
  SmallVector<int64_t> result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d > 0 && isJoined[d])
      result.back() *= shape[d];
    else
      result.push_back(shape[d]);
  }
  return result;
}

SmallVector<int64_t> withoutOnes(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result;
  for (int64_t size : shape)
    if (size != 1)
      result.push_back(size);
  return result;
}

class Builder {
public:
  Builder(const KernelBody &body) : body(body) {}

  /// What the walks saw.
  struct Counts {
    unsigned divisions = 0;
    double work = 0;
  };

  LogicalResult findRoots();
  /// Chooses rows and domain sizes before any joining.
  LogicalResult chooseShape(std::optional<int64_t> rows);
  /// Makes the stages for these row dimensions, with the primary domain cut as `inner`.
  FailureOr<KernelSchedule> build(ArrayRef<int64_t> rowShape, ArrayRef<int64_t> inner, Counts &counts);
  KernelSchedule::Lanes chooseLanes(bool hasFixedRows) const;

  const Shape &getShape() const { return shape; }
  /// A map kernel over rows alone: it may go in tiles.
  bool isMap() const { return !primary && shape.inner.empty(); }

private:
  struct Visit {
    Value value;
    Index index;
    bool operator<(const Visit &other) const {
      return std::make_tuple(value.getAsOpaquePointer(), ArrayRef<IndexExpr>(index).vec()) <
             std::make_tuple(other.value.getAsOpaquePointer(), ArrayRef<IndexExpr>(other.index).vec());
    }
  };
  /// Everything one root (a reduction's operand or an output) computes.
  struct Walk {
    int level = 0; ///< One more than that of the reductions that it uses.
    std::vector<Visit> visits;
    std::set<Visit> seen;
    std::optional<std::pair<int, unsigned>> stage; ///< Given once stashes are chosen.
    bool failed = false;
  };

  void visit(Walk &walk, Value value, Index index);
  /// Counts what a root computes in its stage.
  void addRoot(const Walk &walk, Visit root, int level, unsigned domain);
  unsigned domainOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> factors);
  /// The index of every element of `op`'s operand, kept dimensions from the row, the others from the domain.
  Index operandIndexOf(Operation *op, unsigned domain);
  std::optional<Index> outputIndex(Value output, unsigned &domain);
  KernelSchedule::Stage &stageOf(int level, unsigned domain);
  void addWork(const Walk &walk, int level, unsigned domain);
  void chooseStashes();
  /// The row dimension in which a strided input is contiguous, or -1.
  int64_t findTiledRow() const;

  const KernelBody &body;
  SmallVector<ReduceOp> reductions; ///< Producers before users.
  SmallVector<CumulativeOp> scans;
  Operation *primary = nullptr;
  Shape shape;
  KernelSchedule::Lanes lanes = KernelSchedule::Lanes::Rows;
  SmallVector<int64_t> innerFactors;
  unsigned visitCount = 0;

  // Of the schedule under construction.
  KernelSchedule schedule;
  IndexExpr row;
  Counts *counts = nullptr;
  std::map<Operation *, int> levels; ///< Looked up only.
  std::map<std::pair<int, unsigned>, KernelSchedule::Stage> stages;
  SmallVector<SmallVector<int64_t>> domainSizes;
  using StageKey = std::pair<int, unsigned>; ///< Level and domain.
  struct Evaluation {
    Visit visit;
    std::vector<StageKey> stages;
    double count = 0;
  };
  struct Root {
    Visit visit;
    StageKey stage;
  };
  std::vector<Root> roots;
  /// Where stashed values are computed; looked up only.
  std::map<Visit, StageKey> stashedIn;
  std::set<Visit> stashesRead;
  /// Computed only where some condition holds: elsewhere the index may lie outside.
  std::set<Visit> guarded;
  std::vector<Evaluation> evaluations;
  std::map<Visit, size_t> evaluationOf;
};

LogicalResult Builder::findRoots() {
  llvm::SetVector<Operation *> order;
  // Post-order walk: producers first. The stack is explicit, chains may be long.
  SmallVector<std::pair<Operation *, unsigned>> stack;
  llvm::DenseSet<Operation *> entered;
  auto enter = [&](Value value) {
    if (body.contains(value) && entered.insert(value.getDefiningOp()).second)
      stack.emplace_back(value.getDefiningOp(), 0);
  };
  for (Value output : body.outputs) {
    enter(output);
    while (!stack.empty()) {
      auto &[op, next] = stack.back();
      if (next < op->getNumOperands()) {
        enter(op->getOperand(next++));
        continue;
      }
      order.insert(op);
      stack.pop_back();
    }
  }
  auto elements = [](Operation *op) { return productOf(shapeOf(op->getOperand(0))); };
  for (Operation *op : order) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      reductions.push_back(reduce);
    else if (auto scan = dyn_cast<CumulativeOp>(op))
      scans.push_back(scan);
    else
      continue;
    if (!primary || elements(op) > elements(primary))
      primary = op;
  }
  // A scan is stored as it goes: it must be an output, and nothing in the group may read it.
  for (CumulativeOp scan : scans) {
    if (!llvm::is_contained(body.outputs, scan.getResult()))
      return failure();
    for (Operation *op : order)
      if (llvm::is_contained(op->getOperands(), scan.getResult()))
        return failure();
  }
  return success();
}

LogicalResult Builder::chooseShape(std::optional<int64_t> rows) {
  if (body.outputs.empty())
    return failure();
  if (primary) {
    ArrayRef<int64_t> operand = shapeOf(primary->getOperand(0));
    SmallVector<int64_t> dims = reducedDims(primary);
    shape.rows = select(operand, dims, false);
    shape.inner = select(operand, dims, true);
    for (ReduceOp reduce : reductions)
      if (productOf(shapeOf(reduce)) != productOf(shape.rows))
        return failure();
    for (CumulativeOp scan : scans)
      if (productOf(select(shapeOf(scan), reducedDims(scan), false)) != productOf(shape.rows))
        return failure();
    lanes = chooseLanes(rows.has_value());
    return success(!rows || *rows == productOf(shape.rows));
  }
  ArrayRef<int64_t> output = shapeOf(body.outputs[0]);
  for (Value value : body.outputs)
    if (productOf(shapeOf(value)) != productOf(output))
      return failure();
  size_t leading = output.size();
  if (rows) {
    // As many leading dimensions as make up the rows.
    for (leading = 0; leading < output.size() && productOf(output.take_front(leading)) != *rows;)
      ++leading;
    if (productOf(output.take_front(leading)) != *rows)
      return failure();
  }
  shape.rows.assign(output.begin(), output.begin() + leading);
  shape.inner.assign(output.begin() + leading, output.end());
  lanes = chooseLanes(rows.has_value());
  return success();
}

unsigned Builder::domainOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> factors) {
  for (auto [number, known] : llvm::enumerate(domainSizes))
    if (ArrayRef<int64_t>(known) == sizes)
      return number;
  domainSizes.emplace_back(sizes);
  KernelSchedule::Domain domain;
  for (int64_t size : withoutOnes(factors)) {
    domain.shape.push_back(size);
    domain.vars.push_back(schedule.indexing->space.createVariable(0, size - 1));
  }
  schedule.domains.push_back(std::move(domain));
  return domainSizes.size() - 1;
}

Index Builder::operandIndexOf(Operation *op, unsigned domain) {
  IndexSpace &space = schedule.indexing->space;
  ArrayRef<int64_t> operand = shapeOf(op->getOperand(0));
  SmallVector<int64_t> dims = reducedDims(op);
  Index kept = space.delinearize(row, select(operand, dims, false));
  const KernelSchedule::Domain &loops = schedule.domains[domain];
  Index inner = space.delinearize(space.linearize(loops.vars, loops.shape), select(operand, dims, true));
  Index index;
  size_t nextKept = 0, nextInner = 0;
  for (size_t d = 0; d < operand.size(); ++d)
    index.push_back(llvm::is_contained(dims, static_cast<int64_t>(d)) ? inner[nextInner++] : kept[nextKept++]);
  return index;
}

void Builder::visit(Walk &walk, Value value, Index index) {
  IndexSpace &space = schedule.indexing->space;
  std::vector<std::pair<Visit, bool>> pending{{{value, std::move(index)}, false}};
  while (!pending.empty() && !walk.failed) {
    auto [next, isGuarded] = std::move(pending.back());
    pending.pop_back();
    if (!walk.seen.insert(next).second)
      continue;
    if (isGuarded)
      guarded.insert(next);
    if (++visitCount > kMaxVisits) {
      walk.failed = true;
      return;
    }
    if (auto stash = stashedIn.find(next); stash != stashedIn.end() && walk.stage && stash->second < *walk.stage) {
      stashesRead.insert(next);
      continue;
    }
    walk.visits.push_back(next);
    if (!body.contains(next.value)) {
      counts->divisions += space.countDivisions(space.linearize(next.index, shapeOf(next.value)));
      continue;
    }
    Operation *op = next.value.getDefiningOp();
    if (isa<CumulativeOp>(op)) {
      walk.failed = true;
    } else if (isa<ReduceOp>(op)) {
      if (!(space.linearize(next.index, shapeOf(next.value)) == row)) {
        walk.failed = true;
        return;
      }
      walk.level = std::max(walk.level, levels.at(op) + 1);
    } else if (isIndexOp(op)) {
      MappedIndex mapped = schedule.indexing->map(op, next.index);
      for (const IndexGuard &guard : mapped.guards)
        counts->divisions += space.countDivisions(guard.expr);
      pending.push_back({{op->getOperand(0), std::move(mapped.index)}, isGuarded || !mapped.guards.empty()});
      if (isa<PadOp>(op))
        pending.push_back({{op->getOperand(1), {}}, isGuarded});
    } else if (auto concatenate = dyn_cast<ConcatenateOp>(op)) {
      int64_t offset = 0, dim = concatenate.getDim();
      for (Value part : concatenate.getOperands()) {
        Index partIndex = next.index;
        partIndex[dim] = space.add(partIndex[dim], -offset);
        offset += shapeOf(part)[dim];
        pending.push_back({{part, std::move(partIndex)}, true});
      }
    } else if (auto iota = dyn_cast<IotaOp>(op)) {
      counts->divisions += space.countDivisions(next.index[iota.getDim()]);
    } else {
      for (Value operand : op->getOperands())
        pending.push_back({{operand, next.index}, isGuarded});
    }
  }
}

std::optional<Index> Builder::outputIndex(Value output, unsigned &domain) {
  IndexSpace &space = schedule.indexing->space;
  ArrayRef<int64_t> sizes = shapeOf(output);
  int64_t count = productOf(sizes), rows = productOf(shape.rows);
  auto tryIndex = [&](unsigned candidate, const Index &index) -> bool {
    Walk walk;
    visit(walk, output, index);
    domain = candidate;
    return !walk.failed;
  };
  auto overDomain = [&](ArrayRef<int64_t> operandShape, Operation *op, unsigned candidate) {
    Index position = operandIndexOf(op, candidate);
    return space.delinearize(space.linearize(position, operandShape), sizes);
  };
  // One element a row.
  if (count == rows) {
    Index index = space.delinearize(row, sizes);
    if (tryIndex(domainOf({}, {}), index))
      return index;
  }
  // The elements of a reduction's operand, in the same order.
  if (primary) {
    SmallVector<Operation *> candidates{primary};
    for (ReduceOp reduce : reductions)
      candidates.push_back(reduce);
    for (Operation *op : candidates) {
      ArrayRef<int64_t> operand = shapeOf(op->getOperand(0));
      if (productOf(operand) != count)
        continue;
      SmallVector<int64_t> inner = select(operand, reducedDims(op), true);
      unsigned candidate = domainOf(inner, op == primary ? ArrayRef<int64_t>(innerFactors) : ArrayRef<int64_t>(inner));
      Index index = overDomain(operand, op, candidate);
      if (tryIndex(candidate, index))
        return index;
    }
  }
  // Rows first, then whatever a row has.
  for (size_t leading = 0; leading <= sizes.size(); ++leading) {
    if (productOf(sizes.take_front(leading)) != rows)
      continue;
    ArrayRef<int64_t> inner = sizes.drop_front(leading);
    bool isPrimary = !primary && inner == ArrayRef<int64_t>(shape.inner);
    unsigned candidate = domainOf(inner, isPrimary ? ArrayRef<int64_t>(innerFactors) : inner);
    const KernelSchedule::Domain &loops = schedule.domains[candidate];
    Index index = space.delinearize(row, sizes.take_front(leading));
    llvm::append_range(index, space.delinearize(space.linearize(loops.vars, loops.shape), inner));
    if (tryIndex(candidate, index))
      return index;
  }
  return std::nullopt;
}

KernelSchedule::Stage &Builder::stageOf(int level, unsigned domain) {
  KernelSchedule::Stage &stage = stages[{level, domain}];
  stage.domain = domain;
  return stage;
}

void Builder::addWork(const Walk &walk, int level, unsigned domain) {
  const IndexSpace &space = schedule.indexing->space;
  const KernelSchedule::Domain &loops = schedule.domains[domain];
  for (const Visit &visit : walk.visits) {
    // Computed once for the loops that its index names; what hangs on rows alone is hoisted out of the domain.
    auto depends = [&](const IndexExpr &var) {
      return !var.isConstant() && llvm::any_of(visit.index, [&](const IndexExpr &expr) {
        return space.dependsOn(expr, var.terms[0].first);
      });
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
    auto [entry, isNew] = evaluationOf.try_emplace(visit, evaluations.size());
    if (isNew)
      evaluations.push_back({visit, {}, count});
    auto &where = evaluations[entry->second].stages;
    if (!llvm::is_contained(where, std::make_pair(level, domain)))
      where.emplace_back(level, domain);
    evaluations[entry->second].count = std::max(evaluations[entry->second].count, count);
  }
}

void Builder::addRoot(const Walk &walk, Visit root, int level, unsigned domain) {
  roots.push_back({std::move(root), {level, domain}});
  addWork(walk, level, domain);
}

void Builder::chooseStashes() {
  const IndexSpace &space = schedule.indexing->space;
  int64_t lanes = schedule.lanes == KernelSchedule::Lanes::Inner ? 1 : kRowBlock;
  for (Evaluation &evaluation : evaluations) {
    Value value = evaluation.visit.value;
    if (evaluation.stages.size() < 2 || !body.contains(value) || getOpCost(value, false) < kStashCost ||
        isa<ReduceOp>(value.getDefiningOp()) || guarded.contains(evaluation.visit))
      continue;
    StageKey first = *std::min_element(evaluation.stages.begin(), evaluation.stages.end());
    const KernelSchedule::Domain &loops = schedule.domains[first.second];
    bool isSameDomain = llvm::all_of(evaluation.stages, [&](StageKey stage) { return stage.second == first.second; });
    bool isWholeDomain = !loops.vars.empty() && llvm::all_of(loops.vars, [&](const IndexExpr &var) {
      return var.isConstant() || llvm::any_of(evaluation.visit.index, [&](const IndexExpr &expr) {
               return space.dependsOn(expr, var.terms[0].first);
             });
    });
    if (isSameDomain && isWholeDomain && loops.getExtent() * lanes <= kMaxStashExtent)
      stashedIn[evaluation.visit] = first;
  }
  if (stashedIn.empty())
    return;
  // Count again: what a stash holds is not computed again, nor what only it needs.
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
    if (stashesRead.contains(candidate.visit)) {
      stages[stashedIn.at(candidate.visit)].stashes.push_back({candidate.visit.value, candidate.visit.index});
      counts->work += candidate.count * kStashTraffic * static_cast<double>(candidate.stages.size());
    }
}

FailureOr<KernelSchedule> Builder::build(ArrayRef<int64_t> rowShape, ArrayRef<int64_t> inner, Counts &result) {
  schedule = KernelSchedule();
  schedule.indexing = std::make_shared<KernelIndexing>();
  schedule.lanes = lanes;
  levels.clear();
  stages.clear();
  domainSizes.clear();
  evaluations.clear();
  evaluationOf.clear();
  roots.clear();
  stashedIn.clear();
  stashesRead.clear();
  guarded.clear();
  visitCount = 0;
  counts = &result;
  innerFactors.assign(inner.begin(), inner.end());
  IndexSpace &space = schedule.indexing->space;
  schedule.rowShape = withoutOnes(rowShape);
  for (int64_t size : schedule.rowShape)
    schedule.rowVars.push_back(space.createVariable(0, size - 1));
  row = schedule.getRow();

  auto addReduction = [&](Operation *op, Walk &walk, unsigned &domain) -> std::optional<Index> {
    SmallVector<int64_t> sizes = select(shapeOf(op->getOperand(0)), reducedDims(op), true);
    domain = domainOf(sizes, op == primary ? ArrayRef<int64_t>(innerFactors) : ArrayRef<int64_t>(sizes));
    Index index = operandIndexOf(op, domain);
    visit(walk, op->getOperand(0), index);
    if (walk.failed)
      return std::nullopt;
    return index;
  };
  for (ReduceOp reduce : reductions) {
    Walk walk;
    unsigned domain = 0;
    std::optional<Index> index = addReduction(reduce, walk, domain);
    if (!index)
      return failure();
    levels[reduce] = walk.level;
    stageOf(walk.level, domain).reductions.push_back({reduce, *index});
    addRoot(walk, {reduce.getOperand(), *index}, walk.level, domain);
  }
  for (CumulativeOp scan : scans) {
    Walk walk;
    unsigned domain = 0;
    std::optional<Index> index = addReduction(scan, walk, domain);
    if (!index)
      return failure();
    auto output = static_cast<unsigned>(llvm::find(body.outputs, scan.getResult()) - body.outputs.begin());
    // Walked in sequence: a stage of its own among those of its level.
    stageOf(walk.level, domain).scans.push_back({scan, *index, output});
    addRoot(walk, {scan.getOperand(), *index}, walk.level, domain);
  }
  for (auto [number, output] : llvm::enumerate(body.outputs)) {
    if (output.getDefiningOp<CumulativeOp>() && body.contains(output))
      continue;
    if (productOf(shapeOf(output)) == 0)
      continue;
    unsigned domain = 0, before = result.divisions;
    std::optional<Index> index = outputIndex(output, domain);
    if (!index)
      return failure();
    result.divisions = before;
    Walk walk;
    visit(walk, output, *index);
    if (walk.failed)
      return failure();
    stageOf(walk.level, domain).stores.push_back({static_cast<unsigned>(number), *index});
    addRoot(walk, {output, *index}, walk.level, domain);
    result.divisions += space.countDivisions(space.linearize(*index, shapeOf(output)));
    result.work += static_cast<double>(productOf(shapeOf(output))) * getStoreCost(output);
  }
  unsigned divisions = result.divisions;
  chooseStashes();
  result.divisions = divisions;
  for (const Evaluation &evaluation : evaluations)
    result.work += evaluation.count * getOpCost(evaluation.visit.value, !body.contains(evaluation.visit.value)) *
                   static_cast<double>(evaluation.stages.size());
  std::map<std::pair<int, unsigned>, unsigned> numbers;
  for (auto &[key, stage] : stages) {
    numbers[key] = schedule.stages.size();
    schedule.stages.push_back(std::move(stage));
  }
  for (const Evaluation &evaluation : evaluations)
    if (!body.contains(evaluation.visit.value))
      for (const auto &key : evaluation.stages)
        schedule.loads.push_back({evaluation.visit.value, evaluation.visit.index, numbers.at(key)});
  if (lanes == KernelSchedule::Lanes::Rows && isMap()) {
    schedule.tiledRow = findTiledRow();
    if (schedule.tiledRow >= 0)
      schedule.lanes = KernelSchedule::Lanes::Tiles;
  }
  schedule.work = result.work;
  double perIteration = result.work / std::max<double>(1, static_cast<double>(schedule.getExtent()));
  schedule.grain = std::max<int64_t>(1, static_cast<int64_t>(kGrainWork / std::max(perIteration, 1.0)));
  return schedule;
}

KernelSchedule::Lanes Builder::chooseLanes(bool hasFixedRows) const {
  using Lanes = KernelSchedule::Lanes;
  if (!primary)
    return hasFixedRows && productOf(shape.inner) > 1 ? Lanes::Inner : Lanes::Rows;
  ArrayRef<int64_t> operand = shapeOf(primary->getOperand(0));
  SmallVector<int64_t> dims = reducedDims(primary);
  int64_t last = static_cast<int64_t>(operand.size()) - 1;
  while (last >= 0 && operand[last] == 1)
    --last;
  if (hasFixedRows || last < 0)
    return Lanes::Inner;
  if (!llvm::is_contained(dims, last))
    return Lanes::Rows;
  // Rows of a few elements lie close enough together to be computed side by side.
  bool isShort = isa<ReduceOp>(primary) && productOf(shape.inner) < kMinLanes;
  return isShort && productOf(shape.rows) >= 4 * kMinLanes ? Lanes::Rows : Lanes::Inner;
}

int64_t Builder::findTiledRow() const {
  const IndexSpace &space = schedule.indexing->space;
  size_t rank = schedule.rowShape.size();
  if (rank < 2 || schedule.rowShape.back() < kMinTile || schedule.rowVars.back().isConstant())
    return -1;
  unsigned lane = schedule.rowVars.back().terms[0].first;
  for (const Evaluation &evaluation : evaluations) {
    if (body.contains(evaluation.visit.value))
      continue;
    // Linear in the variables, or there is nothing to gain.
    IndexExpr position = schedule.indexing->space.linearize(evaluation.visit.index, shapeOf(evaluation.visit.value));
    if (space.countDivisions(position) || std::abs(position.coefficientOf(lane)) <= 1)
      continue;
    for (size_t d = 0; d + 1 < rank; ++d)
      if (!schedule.rowVars[d].isConstant() && schedule.rowShape[d] >= kMinTile &&
          std::abs(position.coefficientOf(schedule.rowVars[d].terms[0].first)) == 1)
        return static_cast<int64_t>(d);
  }
  return -1;
}

} // namespace

//===----------------------------------------------------------------------===//
// KernelSchedule
//===----------------------------------------------------------------------===//

KernelBody KernelBody::of(plan::KernelOp kernel) {
  KernelBody body;
  for (Operation &op : kernel.getBlock().without_terminator())
    body.ops.insert(&op);
  llvm::append_range(body.outputs, kernel.getBlock().getTerminator()->getOperands());
  return body;
}

int64_t KernelSchedule::Domain::getExtent() const { return productOf(shape); }

int64_t KernelSchedule::getExtent() const {
  if (lanes != Lanes::Tiles)
    return productOf(rowShape);
  int64_t extent = 1;
  for (size_t d = 0; d + 1 < rowShape.size(); ++d)
    extent *= static_cast<int64_t>(d) == tiledRow ? (rowShape[d] + kTileRows - 1) / kTileRows : rowShape[d];
  return extent;
}

IndexExpr KernelSchedule::getRow() const { return indexing->space.linearize(rowVars, rowShape); }

int64_t KernelSchedule::getStashExtent() const {
  int64_t extent = 0;
  for (const Stage &stage : stages)
    if (!stage.stashes.empty())
      extent = std::max(extent, domains[stage.domain].getExtent());
  return extent;
}

bool KernelSchedule::canOverwrite(Value input, unsigned output, Value outputValue) const {
  auto inputType = cast<ArrayType>(input.getType()), outputType = cast<ArrayType>(outputValue.getType());
  if (spmd::byteSize(inputType.getDType()) != spmd::byteSize(outputType.getDType()) ||
      inputType.getNumElements() != outputType.getNumElements())
    return false;
  IndexSpace &space = indexing->space;
  for (auto [number, stage] : llvm::enumerate(stages)) {
    std::optional<IndexExpr> written;
    for (const Store &store : stage.stores)
      if (store.output == output)
        written = space.linearize(store.index, outputType.getShape());
    for (const Scan &scan : stage.scans)
      if (scan.output == output)
        written = space.linearize(scan.operandIndex, outputType.getShape());
    if (!written)
      continue;
    return llvm::all_of(loads, [&](const Load &load) {
      return load.value != input ||
             (load.stage <= number && space.linearize(load.index, inputType.getShape()) == *written);
    });
  }
  return false;
}

FailureOr<KernelSchedule> KernelSchedule::compute(const KernelBody &body, std::optional<int64_t> rows, bool isTrial) {
  // Nothing to write: no iteration.
  auto isEmpty = [](Value output) { return productOf(shapeOf(output)) == 0; };
  if (!body.outputs.empty() && llvm::all_of(body.outputs, isEmpty)) {
    KernelSchedule schedule;
    schedule.indexing = std::make_shared<KernelIndexing>();
    schedule.rowShape = {0};
    schedule.rowVars = {schedule.indexing->space.createVariable(0, 1)};
    return schedule;
  }
  Builder builder(body);
  if (failed(builder.findRoots()) || failed(builder.chooseShape(rows)))
    return failure();
  SmallVector<int64_t> rowShape = withoutOnes(builder.getShape().rows);
  SmallVector<int64_t> inner = withoutOnes(builder.getShape().inner);
  Builder::Counts plain;
  FailureOr<KernelSchedule> schedule = builder.build(rowShape, inner, plain);
  if (failed(schedule) || isTrial)
    return schedule;
  // Dimensions that lie one after the other everywhere become one: each boundary is tried alone.
  SmallVector<bool> joinsRow(rowShape.size()), joinsInner(inner.size());
  auto isFree = [&](ArrayRef<int64_t> rowsTried, ArrayRef<int64_t> innerTried) {
    Builder::Counts counts;
    return succeeded(builder.build(rowsTried, innerTried, counts)) && counts.divisions <= plain.divisions;
  };
  for (size_t d = 1; d < rowShape.size(); ++d) {
    SmallVector<bool> flags(rowShape.size());
    flags[d] = true;
    joinsRow[d] = isFree(join(rowShape, flags), inner);
  }
  for (size_t d = 1; d < inner.size(); ++d) {
    SmallVector<bool> flags(inner.size());
    flags[d] = true;
    joinsInner[d] = isFree(rowShape, join(inner, flags));
  }
  rowShape = join(rowShape, joinsRow);
  inner = join(inner, joinsInner);
  // A last dimension of a few elements is no vector: better divide.
  if (schedule->lanes != Lanes::Inner)
    while (rowShape.size() > 1 && rowShape.back() < kMinLanes) {
      int64_t last = rowShape.pop_back_val();
      rowShape.back() *= last;
    }
  Builder::Counts counts;
  return builder.build(rowShape, inner, counts);
}

FailureOr<KernelSchedule> KernelSchedule::compute(plan::KernelOp kernel) {
  std::optional<int64_t> rows;
  if (auto attr = kernel->getAttrOfType<IntegerAttr>(kRowsAttrName))
    rows = attr.getInt();
  return compute(KernelBody::of(kernel), rows);
}

std::string KernelSchedule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](ArrayRef<int64_t> shape) {
    os << "[";
    llvm::interleaveComma(shape, os);
    os << "]";
  };
  os << "rows ";
  list(rowShape);
  os << " lanes " << (lanes == Lanes::Inner ? "inner" : lanes == Lanes::Rows ? "rows" : "tiles");
  if (lanes == Lanes::Tiles)
    os << " over row " << tiledRow;
  for (const Stage &stage : stages) {
    os << "; domain ";
    list(domains[stage.domain].shape);
    for (const Reduction &reduction : stage.reductions) {
      ReduceOp op = reduction.op;
      os << " reduce " << stringifyReductionKind(op.getKind());
    }
    for (const Scan &scan : stage.scans) {
      CumulativeOp op = scan.op;
      os << " scan " << stringifyReductionKind(op.getKind());
    }
    for (const Stash &stash : stage.stashes)
      os << " keep " << stash.value.getDefiningOp()->getName().stripDialect();
    for (const Store &store : stage.stores)
      os << " store " << store.output;
  }
  return text;
}

} // namespace spmdc
