//===- ScheduleWalk.cpp - from a root to the leaves of a kernel -----------===//

#include "passes/kernel/ScheduleBuilder.h"
#include "passes/kernel/Shapes.h"

using namespace mlir;

namespace spmdc {

/// More visits than this mean that a value is read at very many different indices: the group is no kernel.
static constexpr size_t kMaxVisits = 4096;

void ScheduleBuilder::visit(Walk &walk, Value value, const Index *index) {
  IndexSpace &space = schedule.indexing->space;
  std::vector<std::pair<Visit, bool>> pending{{{value, index}, false}};
  while (!pending.empty() && !walk.failed) {
    auto [next, isGuarded] = pending.back();
    pending.pop_back();
    if (!walk.seen.insert(next.key()).second)
      continue;
    if (isGuarded)
      guarded.insert(next.key());
    if (++visitCount > kMaxVisits) {
      walk.failed = true;
      return;
    }
    if (auto stageCache = cachedIn.find(next.key());
        stageCache != cachedIn.end() && walk.stage && stageCache->second < *walk.stage) {
      cachesRead.insert(next.key());
      continue;
    }
    walk.visits.push_back(next);
    if (!body.contains(next.value)) {
      counts->divisions += space.countDivisions(space.linearize(*next.index, shapeOf(next.value)));
      continue;
    }
    Operation *op = next.value.getDefiningOp();
    if (isa<CumulativeOp>(op)) {
      walk.failed = true;
    } else if (isa<ReduceOp>(op)) {
      if (!(space.linearize(*next.index, shapeOf(next.value)) == row)) {
        walk.failed = true;
        return;
      }
      walk.level = std::max(walk.level, levels.at(op) + 1);
    } else if (isIndexOp(op)) {
      MappedIndex mapped = schedule.indexing->map(op, *next.index);
      for (const IndexGuard &guard : mapped.guards)
        counts->divisions += space.countDivisions(guard.expr);
      for (const IndexLookup &lookup : mapped.lookups)
        pending.push_back({{lookup.indices, intern(Index(lookup.place))}, isGuarded});
      // The mapped index of a dynamic_update_slice is that of its update, operand 1.
      Value source = op->getOperand(isa<DynamicUpdateSliceOp>(op) ? 1 : 0);
      pending.push_back({{source, intern(std::move(mapped.index))}, isGuarded || !mapped.guards.empty()});
      if (isa<PadOp>(op))
        pending.push_back({{op->getOperand(1), intern({})}, isGuarded});
      else if (isa<DynamicUpdateSliceOp>(op))
        pending.push_back({{op->getOperand(0), next.index}, isGuarded || !mapped.guards.empty()});
    } else if (auto concatenate = dyn_cast<ConcatenateOp>(op)) {
      int64_t offset = 0, dim = concatenate.getDim();
      if ((*next.index)[dim].isConstant()) {
        auto [part, place] = findPart(concatenate, (*next.index)[dim].constant);
        Index partIndex = *next.index;
        partIndex[dim] = place;
        pending.push_back({{part, intern(std::move(partIndex))}, isGuarded});
        continue;
      }
      counts->divisions += space.countDivisions((*next.index)[dim]); // Its place chooses the operand.
      for (Value part : concatenate.getOperands()) {
        Index partIndex = *next.index;
        partIndex[dim] = space.add(partIndex[dim], -offset);
        offset += shapeOf(part)[dim];
        pending.push_back({{part, intern(std::move(partIndex))}, true});
      }
    } else if (auto iota = dyn_cast<IotaOp>(op)) {
      counts->divisions += space.countDivisions((*next.index)[iota.getDim()]);
    } else {
      for (Value operand : op->getOperands())
        pending.push_back({{operand, next.index}, isGuarded});
    }
  }
}

std::optional<Index> ScheduleBuilder::outputIndex(Value output, unsigned &domain, Walk &walk) {
  IndexSpace &space = schedule.indexing->space;
  ArrayRef<int64_t> sizes = shapeOf(output);
  int64_t count = productOf(sizes), rows = productOf(shape.rows);
  auto tryIndex = [&](unsigned candidate, const Index &index) -> bool {
    unsigned before = counts->divisions;
    walk = {};
    visit(walk, output, intern(index));
    domain = candidate;
    if (walk.failed)
      counts->divisions = before;
    return !walk.failed;
  };
  auto overDomain = [&](ArrayRef<int64_t> operandShape, Operation *op, unsigned candidate) {
    Index position = operandIndexOf(op, candidate);
    return space.delinearize(space.linearize(position, operandShape), sizes);
  };
  // One element for each row.
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
  // The leading dimensions are rows, the others belong to a row.
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

} // namespace spmdc
