//===- Liveness.cpp - live ranges of values -------------------------------===//

#include "passes/plan/Liveness.h"

using namespace mlir;

namespace spmdc {

void LiveRanges::add(LiveRange range) {
  auto position = llvm::find_if(ranges, [&](const LiveRange &other) { return other.end >= range.begin; });
  auto last = position;
  for (; last != ranges.end() && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  position = ranges.erase(position, last);
  ranges.insert(position, range);
}

void LiveRanges::add(const LiveRanges &other) {
  for (const LiveRange &range : other.ranges)
    add(range);
}

bool LiveRanges::overlaps(const LiveRanges &other) const {
  const auto *x = ranges.begin(), *y = other.ranges.begin();
  while (x != ranges.end() && y != other.ranges.end()) {
    if (x->overlaps(*y))
      return true;
    if (x->end < y->end)
      ++x;
    else
      ++y;
  }
  return false;
}

bool LiveRanges::overlapsBeyond(int64_t step, const LiveRanges &later) const {
  for (const LiveRange &x : ranges)
    for (const LiveRange &y : later.ranges)
      if (x.overlaps(y) && !(x.end == step && y.begin == step && x.begin < step))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Numbering
//===----------------------------------------------------------------------===//

static bool isLoop(Operation *op) { return isa<plan::ForOp, plan::WhileOp>(op); }
static bool hasSteps(Operation *op) { return isLoop(op) || isa<plan::IfOp>(op); }

void Liveness::number(Block &block, int64_t &next) {
  blockBegins[&block] = next++;
  for (Operation &op : block) {
    begins[&op] = next++;
    if (hasSteps(&op)) {
      for (Region &region : op.getRegions())
        number(region.front(), next);
      ends[&op] = next++;
    } else {
      ends[&op] = begins[&op];
    }
  }
}

int64_t Liveness::getReadEnd(Operation *op) const {
  if (auto start = dyn_cast<plan::StartOp>(op))
    return begins.lookup(*start.getToken().user_begin());
  return begins.lookup(op);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

Value Liveness::getRoot(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

SmallVector<Operation *> Liveness::getUsers(Value root) {
  SmallVector<Operation *> users;
  SmallVector<Value> names = {root};
  while (!names.empty())
    for (Operation *user : names.pop_back_val().getUsers()) {
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        names.push_back(reshape.getResult());
      else
        users.push_back(user);
    }
  return users;
}

void Liveness::addUses(Block *block, int64_t begin, ArrayRef<Operation *> users, LiveRanges &result) const {
  // The last step of this block that reads the value, itself or in its regions.
  Operation *last = nullptr;
  int64_t end = begin;
  for (Operation *user : users) {
    Operation *step = block->findAncestorOpInBlock(*user);
    int64_t read = step == user ? getReadEnd(step) : begins.lookup(step);
    if (read >= end) {
      end = read;
      last = step;
    }
  }
  result.add({begin, end});
  if (!last || !hasSteps(last))
    return;
  for (Region &region : last->getRegions()) {
    SmallVector<Operation *> nested;
    for (Operation *user : users)
      if (region.isAncestor(user->getParentRegion()))
        nested.push_back(user);
    if (nested.empty())
      continue;
    if (isLoop(last))
      result.add({begins.lookup(last), ends.lookup(last)});
    else
      addUses(&region.front(), blockBegins.lookup(&region.front()), nested, result);
  }
}

/// The arguments of a loop's regions.
void Liveness::addArguments(Operation *op) {
  for (Region &region : op->getRegions()) {
    Block &block = region.front();
    bool isFirst = &region == &op->getRegions().front();
    bool isCondition = isa<plan::WhileOp>(op) && isFirst;
    for (BlockArgument argument : block.getArguments()) {
      bool isCounter = isa<plan::ForOp>(op) && argument.getArgNumber() == 0;
      LiveRanges &range = ranges[argument];
      if (isFirst && !isCounter)
        range.add({begins.lookup(op), blockBegins.lookup(&block)});
      if (isCondition)
        range.add({blockBegins.lookup(&block), begins.lookup(block.getTerminator())});
      addUses(&block, blockBegins.lookup(&block), getUsers(argument), range);
    }
  }
}

void Liveness::addValues(Block &block) {
  for (Operation &op : block) {
    if (isLoop(&op))
      addArguments(&op);
    if (hasSteps(&op))
      for (Region &region : op.getRegions())
        addValues(region.front());
    if (isa<ReshapeOp>(op))
      continue;
    int64_t begin = ends.lookup(&op);
    if (auto done = dyn_cast<plan::DoneOp>(op))
      begin = begins.lookup(done.getToken().getDefiningOp());
    for (Value result : op.getResults()) {
      if (!isa<ArrayType>(result.getType()))
        continue;
      LiveRanges &range = ranges[result];
      range.add({begin, ends.lookup(&op)});
      addUses(&block, begin, getUsers(result), range);
    }
  }
}

Liveness::Liveness(func::FuncOp func) {
  int64_t next = 0;
  number(func.getBody().front(), next);
  addValues(func.getBody().front());
}

std::optional<LiveRanges> Liveness::getArgumentRanges(BlockArgument argument) const {
  SmallVector<Operation *> users = getUsers(argument);
  if (users.empty())
    return std::nullopt;
  LiveRanges result;
  addUses(argument.getOwner(), blockBegins.lookup(argument.getOwner()), users, result);
  return result;
}

} // namespace spmdc
