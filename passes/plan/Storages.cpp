//===- Storages.cpp - values that share memory ----------------------------===//

#include "passes/plan/Storages.h"

#include "passes/plan/InPlace.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isLoop(Operation *op) { return isa<plan::ForOp, plan::WhileOp>(op); }

/// The carries among the arguments of a loop's region: all but the counter of a `for`.
Block::BlockArgListType getCarries(Region &region) {
  return region.getArguments().drop_front(isa<plan::ForOp>(region.getParentOp()) ? 1 : 0);
}

} // namespace

Storages::Storages(func::FuncOp func, const Liveness &liveness) : liveness(liveness) {
  addValues(func);
  SmallVector<Operation *> control;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isLoop(op) || isa<plan::IfOp>(op))
      control.push_back(op);
    stepAt[liveness.getStep(op)] = op;
  });
  for (Operation *op : control)
    addHomes(op);
  // Inner loops first: the outer loop may then work in place on what an inner one updates in place.
  for (Operation *op : llvm::reverse(control))
    mergeCarries(op);
  mergeDyingInputs(func);
  // Later merges may have changed the storage of a home.
  for (PendingCopy &move : moves)
    move.target = storageOf.at(move.home);
  llvm::sort(moves, [&](const PendingCopy &x, const PendingCopy &y) {
    return liveness.getStep(x.step) != liveness.getStep(y.step) ? liveness.getStep(x.step) < liveness.getStep(y.step)
                                                                : x.operand < y.operand;
  });
}

void Storages::addValues(func::FuncOp func) {
  DenseMap<Value, int64_t> results;
  for (OpOperand &operand : func.getBody().front().getTerminator()->getOpOperands())
    results[Liveness::getRoot(operand.get())] = operand.getOperandNumber();
  for (auto &[value, ranges] : liveness.getRanges()) {
    if (value.getDefiningOp<plan::ConstantOp>())
      continue;
    storageOf[value] = storages.size();
    Storage &storage = storages.emplace_back();
    storage.bytes = cast<ArrayType>(value.getType()).getBytes();
    storage.ranges = ranges;
    storage.members = {value};
    if (auto result = results.find(value); result != results.end())
      storage.result = result->second;
  }
}

std::optional<size_t> Storages::find(Value value) const {
  auto known = storageOf.find(Liveness::getRoot(value));
  return known == storageOf.end() ? std::nullopt : std::optional(known->second);
}

std::vector<size_t> Storages::list() const {
  std::vector<size_t> result;
  for (size_t index = 0; index < storages.size(); ++index)
    if (!storages[index].members.empty() || llvm::is_contained(scratch, index))
      result.push_back(index);
  return result;
}

size_t Storages::addScratch(int64_t bytes, int64_t step) {
  scratch.push_back(storages.size());
  Storage &storage = storages.emplace_back();
  storage.bytes = bytes;
  storage.ranges.add({step, step});
  return scratch.back();
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

void Storages::merge(size_t x, size_t y) {
  Storage &into = storages[x], &from = storages[y];
  into.ranges.add(from.ranges);
  into.writes.insert(from.writes.begin(), from.writes.end());
  if (from.result)
    into.result = from.result;
  for (Value member : from.members) {
    storageOf[member] = x;
    into.members.push_back(member);
  }
  from.members.clear();
}

bool Storages::tryMerge(size_t x, size_t y) {
  if (x == y)
    return true;
  Storage &first = storages[x], &second = storages[y];
  if (first.bytes != second.bytes || (first.result && second.result) || !canShare(first, second))
    return false;
  merge(x, y);
  return true;
}

/// Creates one storage for each carry and each result of a branch. The yielded value is written to it at the latest at
/// the end of the body or branch.
void Storages::addHomes(Operation *op) {
  for (OpResult result : op->getResults()) {
    size_t home = storageOf.at(result);
    if (isLoop(op))
      for (Region &region : op->getRegions())
        merge(home, storageOf.at(getCarries(region)[result.getResultNumber()]));
  }
}

void Storages::mergeCarries(Operation *op) {
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    if (isLoop(op))
      mergeOrMove(op->getRegions().back().front().getTerminator(), index, result);
    else
      for (Region &region : op->getRegions())
        mergeOrMove(region.front().getTerminator(), index, result);
    if (isLoop(op))
      mergeOrMove(op, index, result);
  }
}

void Storages::mergeOrMove(Operation *step, unsigned operand, Value result) {
  size_t home = storageOf.at(result);
  std::optional<size_t> source = find(step->getOperand(operand));
  if (source && tryMerge(home, *source))
    return;
  storages[home].writes[nextMove++] = liveness.getStep(step);
  moves.push_back({step, operand, result, home});
}

void Storages::mergeDyingInputs(func::FuncOp func) {
  func.walk<WalkOrder::PreOrder>([&](Operation *step) {
    if (!isa<plan::LaunchOp, plan::LibraryOp>(step))
      return;
    for (Value output : step->getResults()) {
      size_t target = storageOf.at(output);
      // The memory of a result stays unused as long as possible: it may be that of an argument.
      if (storages[target].result || storages[target].ranges.getBegin() != liveness.getStep(step))
        continue;
      auto isLeftAlone = [&](const Storage &source) {
        const LiveRanges &inner = storages[target].ranges, &outer = source.ranges;
        bool isWithin = inner.getBegin() >= outer.getBegin() && inner.getEnd() <= outer.getEnd();
        return source.result && !isWithin;
      };
      for (Value input : step->getOperands()) {
        std::optional<size_t> source = find(input);
        if (source && *source != target && !isLeftAlone(storages[*source]) && tryMerge(*source, target))
          break;
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

static bool hasWriteIn(const Storage &storage, const Storage &other) {
  for (auto &[move, step] : storage.writes) {
    LiveRanges write;
    write.add({step, step});
    if (write.overlaps(other.ranges))
      return true;
    for (auto &[otherMove, otherStep] : other.writes)
      if (step == otherStep)
        return true;
  }
  return false;
}

bool Storages::canShare(const Storage &x, const Storage &y) {
  if (hasWriteIn(x, y) || hasWriteIn(y, x))
    return false;
  for (const LiveRange &a : x.ranges.get())
    for (const LiveRange &b : y.ranges.get()) {
      if (!a.overlaps(b))
        continue;
      bool isAhead = a.end == b.begin && a.begin < b.begin, isBehind = b.end == a.begin && b.begin < a.begin;
      if (!(isAhead && canTakeOver(b.begin, x, y)) && !(isBehind && canTakeOver(a.begin, y, x)))
        return false;
    }
  return true;
}

bool Storages::canTakeOver(int64_t step, const Storage &earlier, const Storage &later) {
  Operation *op = stepAt.lookup(step);
  auto isIn = [](Value value, const Storage &storage) {
    return llvm::is_contained(storage.members, Liveness::getRoot(value));
  };
  if (!op)
    return false;
  // The initial value of a carry is live up to the beginning of the loop.
  if (isLoop(op))
    return llvm::any_of(llvm::zip(op->getOperands(), op->getResults()),
                        [&](auto pair) { return isIn(std::get<0>(pair), earlier) && isIn(std::get<1>(pair), later); });
  if (auto call = dyn_cast<plan::LibraryOp>(op)) {
    bool isOther = llvm::any_of(call.getInputs().drop_front(), [&](Value input) { return isIn(input, earlier); });
    Value overwritten = call.getOverwritten();
    return overwritten && !isOther && isIn(overwritten, earlier) && isIn(call.getResult(), later);
  }
  auto launch = dyn_cast<plan::LaunchOp>(op);
  if (!launch)
    return false;
  bool isRead = false;
  for (OpResult output : launch->getResults())
    for (Value input : launch.getInputs()) {
      if (!isIn(output, later) || !isIn(input, earlier))
        continue;
      isRead = true;
      if (!mayOverwriteCached(launch, Liveness::getRoot(input), output.getResultNumber()))
        return false;
    }
  return isRead;
}

bool Storages::mayOverwriteCached(plan::LaunchOp launch, Value root, unsigned output) {
  auto &answers = overwriteCache[{launch, root}];
  auto [answer, isNew] = answers.try_emplace(output, false);
  if (isNew)
    answer->second = mayOverwrite(launch, root, output);
  return answer->second;
}

bool Storages::overlap(size_t x, size_t y) const {
  const Storage &first = storages[x], &second = storages[y];
  return first.ranges.overlaps(second.ranges) || hasWriteIn(first, second) || hasWriteIn(second, first);
}

} // namespace spmdc
