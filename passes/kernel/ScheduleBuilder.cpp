//===- ScheduleBuilder.cpp - finds the loops of a kernel ------------------===//

#include "passes/kernel/ScheduleBuilder.h"

#include "passes/kernel/OpCost.h"
#include "passes/kernel/Shapes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

/// Side of the square tiles of a transpose.
static constexpr int64_t kMinTile = 8;

LogicalResult ScheduleBuilder::findRoots() {
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
  // A scan is stored while it runs: it must be an output, and no member of the group may read it.
  for (CumulativeOp scan : scans) {
    if (!llvm::is_contained(body.outputs, scan.getResult()))
      return failure();
    // The threads of a block share a row in another way for continued scans.
    if (scan.getContinued() != scans[0].getContinued())
      return failure();
    for (Operation *op : order)
      if (llvm::is_contained(op->getOperands(), scan.getResult()))
        return failure();
  }
  return success();
}

LogicalResult ScheduleBuilder::chooseShape(std::optional<int64_t> rows) {
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
  if (!rows && (parts = findParts()) > 1)
    return success();
  ArrayRef<int64_t> output = shapeOf(body.outputs[0]);
  for (Value value : body.outputs)
    if (productOf(shapeOf(value)) != productOf(output))
      return failure();
  size_t leading = output.size();
  if (rows) {
    // Takes as many leading dimensions as multiply to the number of rows.
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

int64_t ScheduleBuilder::findParts() {
  // More parts would take more registers than there are. A GPU's threads store elements of any stride.
  constexpr int64_t kMaxParts = 4;
  for (Value output : body.outputs) {
    auto joined = body.contains(output) ? output.getDefiningOp<ConcatenateOp>() : ConcatenateOp();
    if (!joined || !traits.avoidsGathers)
      continue;
    ArrayRef<int64_t> sizes = shapeOf(output);
    int64_t count = sizes.back(), elements = productOf(sizes);
    bool isByElement = static_cast<size_t>(joined.getDim()) + 1 == sizes.size() && count <= kMaxParts &&
                       static_cast<int64_t>(joined.getNumOperands()) == count && elements > 0;
    if (count < 2 || !isByElement)
      continue;
    bool fits = llvm::all_of(body.outputs, [&](Value other) {
      int64_t size = productOf(shapeOf(other));
      return size == elements || size == elements / count;
    });
    if (!fits)
      continue;
    shape.rows.assign(sizes.begin(), sizes.end() - 1);
    return count;
  }
  return 1;
}

LogicalResult ScheduleBuilder::addParts(unsigned number) {
  Value output = body.outputs[number];
  IndexSpace &space = schedule.indexing->space;
  unsigned domain = domainOf({}, {});
  for (int64_t part = 0; part < parts; ++part) {
    Index index = space.delinearize(space.add(space.scale(row, parts), part), shapeOf(output));
    Walk walk;
    visit(walk, output, intern(index));
    if (walk.failed)
      return failure();
    stageOf(walk.level, domain).stores.push_back({number, index});
    addRoot(walk, {output, intern(index)}, walk.level, domain);
    counts->divisions += space.countDivisions(space.linearize(index, shapeOf(output)));
  }
  counts->work += static_cast<double>(productOf(shapeOf(output))) * getStoreCost(output);
  return success();
}

unsigned ScheduleBuilder::domainOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> factors) {
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

Index ScheduleBuilder::operandIndexOf(Operation *op, unsigned domain) {
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

KernelSchedule::Stage &ScheduleBuilder::stageOf(int level, unsigned domain) {
  KernelSchedule::Stage &stage = stages[{level, domain}];
  stage.domain = domain;
  return stage;
}

FailureOr<KernelSchedule> ScheduleBuilder::build(ArrayRef<int64_t> rowShape, ArrayRef<int64_t> inner, Counts &result) {
  schedule = KernelSchedule();
  schedule.indexing = std::make_shared<KernelIndexing>();
  schedule.lanes = lanes;
  levels.clear();
  stages.clear();
  domainSizes.clear();
  evaluations.clear();
  evaluationOf.clear();
  roots.clear();
  cachedIn.clear();
  cachesRead.clear();
  guarded.clear();
  indices.clear();
  visitCount = 0;
  counts = &result;
  innerFactors.assign(inner.begin(), inner.end());
  IndexSpace &space = schedule.indexing->space;
  schedule.rowShape = withoutOnes(rowShape);
  for (int64_t size : schedule.rowShape)
    schedule.rowVars.push_back(space.createVariable(0, size - 1));
  row = schedule.getRow();

  // Enters what `op` reduces or scans into the loop of a stage.
  using Note = llvm::function_ref<void(KernelSchedule::Stage & stage, const Index &index, int level)>;
  auto addReduction = [&](Operation *op, Note note) -> LogicalResult {
    Value operand = op->getOperand(0);
    SmallVector<int64_t> sizes = select(shapeOf(operand), reducedDims(op), true);
    unsigned domain = domainOf(sizes, op == primary ? ArrayRef<int64_t>(innerFactors) : ArrayRef<int64_t>(sizes));
    Index index = operandIndexOf(op, domain);
    Walk walk;
    visit(walk, operand, intern(index));
    if (walk.failed)
      return failure();
    note(stageOf(walk.level, domain), index, walk.level);
    addRoot(walk, {operand, intern(index)}, walk.level, domain);
    return success();
  };
  for (ReduceOp reduce : reductions)
    if (failed(addReduction(reduce, [&](KernelSchedule::Stage &stage, const Index &index, int level) {
          levels[reduce] = level;
          stage.reductions.push_back({reduce, index});
        })))
      return failure();
  for (CumulativeOp scan : scans)
    if (failed(addReduction(scan, [&](KernelSchedule::Stage &stage, const Index &index, int) {
          auto output = static_cast<unsigned>(llvm::find(body.outputs, scan.getResult()) - body.outputs.begin());
          // A scan runs in sequence: it gets a stage of its own among those of its level.
          stage.scans.push_back({scan, index, output});
        })))
      return failure();
  for (auto [number, output] : llvm::enumerate(body.outputs)) {
    if (output.getDefiningOp<CumulativeOp>() && body.contains(output))
      continue;
    if (productOf(shapeOf(output)) == 0)
      continue;
    if (parts > 1 && productOf(shapeOf(output)) != productOf(shape.rows)) {
      if (failed(addParts(static_cast<unsigned>(number))))
        return failure();
      continue;
    }
    unsigned domain = 0;
    Walk walk;
    std::optional<Index> index = outputIndex(output, domain, walk);
    if (!index)
      return failure();
    stageOf(walk.level, domain).stores.push_back({static_cast<unsigned>(number), *index});
    addRoot(walk, {output, intern(*index)}, walk.level, domain);
    result.divisions += space.countDivisions(space.linearize(*index, shapeOf(output)));
    result.work += static_cast<double>(productOf(shapeOf(output))) * getStoreCost(output);
  }
  unsigned divisions = result.divisions;
  chooseStageCaches();
  result.divisions = divisions;
  for (const Evaluation &evaluation : evaluations)
    result.work += evaluation.count * costOf(evaluation.visit.value) * static_cast<double>(evaluation.stages.size());
  std::map<std::pair<int, unsigned>, unsigned> numbers;
  for (auto &[key, stage] : stages) {
    numbers[key] = schedule.stages.size();
    schedule.stages.push_back(std::move(stage));
  }
  for (const Evaluation &evaluation : evaluations)
    if (!body.contains(evaluation.visit.value))
      for (const auto &key : evaluation.stages)
        schedule.loads.push_back({evaluation.visit.value, *evaluation.visit.index, numbers.at(key),
                                  guarded.contains(evaluation.visit.key())});
  if (lanes == KernelSchedule::Lanes::Rows && isMap()) {
    schedule.tiledRow = findTiledRow();
    if (schedule.tiledRow >= 0)
      schedule.lanes = KernelSchedule::Lanes::Tiles;
  }
  result.work = stretch(result.work);
  schedule.work = result.work;
  double perIteration = result.work / std::max<double>(1, static_cast<double>(schedule.getExtent()));
  schedule.grain = std::max<int64_t>(1, static_cast<int64_t>(kGrainWork / std::max(perIteration, 1.0)));
  return schedule;
}

KernelSchedule::Lanes ScheduleBuilder::chooseLanes(bool hasFixedRows) const {
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
  // Rows of a few elements are close enough in memory to be computed in one vector.
  bool isShort = isa<ReduceOp>(primary) && productOf(shape.inner) < kMinLanes;
  return isShort && productOf(shape.rows) >= 4 * kMinLanes ? Lanes::Rows : Lanes::Inner;
}

bool ScheduleBuilder::gathersAll() const {
  IndexSpace &space = schedule.indexing->space;
  return guarded.empty() && llvm::all_of(evaluations, [&](const Evaluation &evaluation) {
           Value value = evaluation.visit.value;
           return body.contains(value) ||
                  space.countDivisions(space.linearize(*evaluation.visit.index, shapeOf(value))) > 0;
         });
}

int64_t ScheduleBuilder::findTiledRow() const {
  const IndexSpace &space = schedule.indexing->space;
  size_t rank = schedule.rowShape.size();
  if (rank < 2 || schedule.rowShape.back() < kMinTile || schedule.rowVars.back().isConstant())
    return -1;
  unsigned lane = schedule.rowVars.back().terms[0].first;
  for (const Evaluation &evaluation : evaluations) {
    if (body.contains(evaluation.visit.value))
      continue;
    // Tiles help only if the position is linear in the variables.
    IndexExpr position = schedule.indexing->space.linearize(*evaluation.visit.index, shapeOf(evaluation.visit.value));
    if (space.countDivisions(position) || std::abs(position.coefficientOf(lane)) <= 1)
      continue;
    for (size_t d = 0; d + 1 < rank; ++d)
      if (!schedule.rowVars[d].isConstant() && schedule.rowShape[d] >= kMinTile &&
          std::abs(position.coefficientOf(schedule.rowVars[d].terms[0].first)) == 1)
        return static_cast<int64_t>(d);
  }
  return -1;
}

} // namespace spmdc
