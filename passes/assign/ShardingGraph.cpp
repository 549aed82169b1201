//===- ShardingGraph.cpp - variable shardings and their prices ------------===//

#include "passes/assign/ShardingGraph.h"

#include "ir/array/ArrayOps.h"

#include <set>

using namespace mlir;

namespace spmdc {
namespace {

bool isLoop(Operation *op) { return isa<LoopLikeOpInterface>(op); }

/// The operation as one that is partitioned by a sharding rule and has one result; null for any other, also for
/// operations that the user wrote for one device.
ShardingRuleOpInterface getRuled(Operation *op) {
  if (isa<ReshardOp, ConstraintOp>(op) || op->getNumResults() != 1 || isPerDevice(op))
    return {};
  return dyn_cast<ShardingRuleOpInterface>(op);
}

/// The work of looking up a known price, relative to one choice of a strategy.
constexpr double kWorkOfLooking = 0.02;

ShardingAttr shardingOf(Value value) { return typeOf(value).getShardingOrOpen(); }

/// Whether the value is a slice that only products use, as a part of a weight. Then it may have any sharding, like a
/// weight that a product gathers.
bool isProductOperand(Value value) {
  return value.getDefiningOp<SliceOp>() &&
         llvm::all_of(value.getUsers(), [](Operation *user) { return isa<DotGeneralOp>(user); });
}

} // namespace

ValueRange ShardingGraph::getYielded(Operation *terminator) {
  Operation *parent = terminator->getParentOp();
  bool isBody = isa<IfOp>(parent) || (isLoop(parent) && terminator->getParentRegion() == &parent->getRegions().back());
  return isBody ? ValueRange(parent->getResults()) : ValueRange();
}

ShardingGraph::ShardingGraph(func::FuncOp func, ReshardPlanner &planner, const Freed &freed)
    : mesh(planner.getMesh()), model(planner.getModel()), planner(planner), exploredBefore(planner.getExplored()),
      families(func), choices(planner, families), followed(mesh) {
  for (const SmallVector<Value> &values : freed)
    addVariable(values);
  addVariables(func);
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto manual = dyn_cast<ManualOp>(op); manual && !manual.hasAutomaticAxes())
      return WalkResult::skip();
    ShardingRuleOpInterface ruled = getRuled(op);
    if (ruled)
      choices.add(ruled);
    if (ruled || isLoop(op) || isa<ReshardOp, YieldOp, func::ReturnOp>(op))
      ops.push_back(op);
    return WalkResult::advance();
  });
}

std::optional<unsigned> ShardingGraph::getVariable(Value value) const {
  auto entry = variableOf.find(value);
  return entry == variableOf.end() ? std::nullopt : std::optional(entry->second);
}

ShardingAttr ShardingGraph::getSharding(unsigned variable) const { return shardingOf(getValue(variable)); }

int64_t ShardingGraph::getShardBytes(unsigned variable, ShardingAttr sharding) const {
  return typeOf(getValue(variable)).getLocalBytes(mesh, sharding);
}

bool ShardingGraph::mayHaveSharding(unsigned variable, ShardingAttr sharding) const {
  return isProductOperand(getValue(variable)) ||
         getShardBytes(variable, sharding) <= std::max(getShardBytes(variable, getSharding(variable)), maxHeldBytes);
}

int64_t ShardingGraph::getLargestShard() const {
  int64_t largest = 0;
  for (unsigned variable = 0; variable < variables.size(); ++variable)
    largest = std::max(largest, getShardBytes(variable, getSharding(variable)));
  return largest;
}

/// Whether the sharding of a value can change: all its uses have prices, and it is not unreduced.
bool ShardingGraph::isFree(Value value) const {
  auto type = dyn_cast<ArrayType>(value.getType());
  if (!type || type.getRank() == 0 || !type.getShardingOrOpen().getUnreduced().empty())
    return false;
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return getRuled(user) || isLoop(user) || isa<ReshardOp, YieldOp, func::ReturnOp>(user);
  });
}

void ShardingGraph::addVariable(ArrayRef<Value> values) {
  if (!llvm::all_of(values, [&](Value value) { return isFree(value); }))
    return;
  for (Value value : values)
    variableOf[value] = variables.size();
  variables.emplace_back(values);
}

void ShardingGraph::addVariables(func::FuncOp func) {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto manual = dyn_cast<ManualOp>(op); manual && !manual.hasAutomaticAxes())
      return WalkResult::skip();
    if (op->hasAttr(kAnnotatedAttrName))
      return WalkResult::advance();
    if (getRuled(op) || isa<IfOp>(op)) {
      for (Value result : op->getResults())
        addVariable(result);
    } else if (isLoop(op)) {
      // A carry has one sharding in all iterations.
      for (OpResult result : op->getResults()) {
        SmallVector<Value> values = {result};
        for (Region &region : op->getRegions())
          values.push_back(region.getArgument(result.getResultNumber() + (isa<ForOp>(op) ? 1 : 0)));
        addVariable(values);
      }
    }
    return WalkResult::advance();
  });
}

double ShardingGraph::countRuns(Operation *op) {
  // A loop that may not run at all counts once.
  auto times = static_cast<double>(std::max<int64_t>(1, runs.count(op)));
  for (auto loop = op->getParentOfType<WhileOp>(); loop; loop = loop->getParentOfType<WhileOp>())
    times *= estimateIterations(loop);
  return times;
}

Price ShardingGraph::price(Operation *op) {
  work += kWorkOfLooking;
  Price price;
  auto addEdge = [&](Value value, ArrayType to) {
    CollectiveCost cost = AvailableShardings(planner, /*longestChain=*/0).find(value, to, op).cost;
    price += model.price(cost, mesh.deviceCount());
  };
  double runCount = countRuns(op);
  if (ShardingRuleOpInterface ruled = getRuled(op)) {
    price = choices.choose(ruled, work).price;
  } else if (auto reshard = dyn_cast<ReshardOp>(op)) {
    addEdge(reshard.getOperand(), reshard.getType());
  } else if (isLoop(op)) {
    for (auto [initial, result] : llvm::zip(op->getOperands(), op->getResults()))
      addEdge(initial, typeOf(result));
  } else if (isa<YieldOp>(op)) {
    for (auto [operand, result] : llvm::zip(op->getOperands(), getYielded(op)))
      addEdge(operand, typeOf(result));
  } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    for (auto [operand, type] : llvm::zip(op->getOperands(), ret->getParentOfType<func::FuncOp>().getResultTypes()))
      if (auto wanted = dyn_cast<ArrayType>(type))
        addEdge(operand, wanted);
  }
  return {price.seconds * runCount, price.linkBytes * runCount};
}

Price ShardingGraph::priceAll() {
  Price total;
  for (Operation *op : ops) {
    Price one = price(op);
    total += one;
  }
  return total;
}

Price ShardingGraph::priceWithSharedReshards() {
  Price total = priceAll();
  std::set<std::tuple<const void *, const void *, Block *>> seenReshards;
  for (Operation *op : ops) {
    ShardingRuleOpInterface ruled = getRuled(op);
    const Strategy *choice = ruled ? &choices.choose(ruled, work) : nullptr;
    if (!choice || choice->movesDirectly)
      continue;
    for (auto [operand, type] : llvm::zip_equal(op->getOperands(), choice->operands)) {
      if (type.getShardingOrOpen().hasSameAxes(typeOf(operand).getShardingOrOpen()))
        continue;
      Block *place = findReshardPlace(operand, op)->getBlock();
      if (seenReshards.insert({operand.getAsOpaquePointer(), type.getAsOpaquePointer(), place}).second)
        continue;
      CollectiveCost cost = AvailableShardings(planner, /*longestChain=*/0).find(operand, type, op).cost;
      double times = countRuns(op) / getRunsPerReshard(operand, op);
      total -= model.price(cost, mesh.deviceCount()) * times;
    }
  }
  return total;
}

llvm::SetVector<Operation *> ShardingGraph::getTouched(const ShardingChange &change) const {
  llvm::SetVector<Operation *> touched;
  for (auto &[variable, sharding] : change)
    for (Value value : variables[variable]) {
      if (Operation *op = value.getDefiningOp()) {
        touched.insert(op);
        for (Region &region : op->getRegions()) // The edges of a loop or branch are priced at its terminators.
          touched.insert(region.front().getTerminator());
      }
      touched.insert(value.user_begin(), value.user_end());
    }
  // The price of a reduction depends on the sums that share it.
  for (Operation *op : llvm::to_vector(touched))
    if (const OperationFacts *facts = choices.find(op)) {
      ArrayRef<ShardingRuleOpInterface> sharers = facts->operationRule.reductionDiscount.sharers;
      touched.insert(sharers.begin(), sharers.end());
    }
  // A rematerialized value is priced at its users.
  for (size_t i = 0; i < touched.size(); ++i)
    if (Operation *op = touched[i]; op->getNumResults() == 1 && isRematerializable(op->getResult(0)))
      touched.insert(op->user_begin(), op->user_end());
  llvm::DenseSet<const void *> seen;
  for (Operation *op : llvm::to_vector(touched))
    if (ArrayRef<ShardingRuleOpInterface> family = families.getFamily(op); seen.insert(family.data()).second)
      touched.insert(family.begin(), family.end());
  return touched;
}

ShardingChange ShardingGraph::apply(const ShardingChange &change) {
  ShardingChange undo;
  for (auto &[variable, sharding] : change) {
    undo[variable] = getSharding(variable);
    for (Value value : variables[variable])
      value.setType(typeOf(value).withSharding(sharding));
  }
  return undo;
}

ShardingChange ShardingGraph::getState() const {
  ShardingChange state;
  for (unsigned variable = 0; variable < variables.size(); ++variable)
    state[variable] = getSharding(variable);
  return state;
}

void ShardingGraph::followThrough(Operation *op, Value value, ShardingAttr sharding, bool isFar,
                                  ShardingChange &change) {
  auto visit = [&](Value other, ShardingAttr wanted) {
    std::optional<unsigned> variable = getVariable(other);
    if (variable && !change.contains(*variable) && !wanted.hasSameAxes(getSharding(*variable)) &&
        mayHaveSharding(*variable, wanted))
      change[*variable] = wanted;
  };
  if (isLoop(op)) {
    for (auto [initial, result] : llvm::zip(op->getOperands(), op->getResults()))
      if (initial == value || result == value)
        visit(initial == value ? result : initial, sharding);
    return;
  }
  if (isa<YieldOp>(op)) {
    for (auto [operand, result] : llvm::zip(op->getOperands(), getYielded(op)))
      if (operand == value || getVariable(result) == getVariable(value))
        visit(operand == value ? result : operand, sharding);
    return;
  }
  const OperationFacts *facts = choices.find(op);
  if (!facts)
    return;
  bool isRead = isa<DynamicSliceOp, TakeOp, TakeAlongOp>(op); // A read along a sharded dimension counts as a sum.
  if (!isFar && !isRead && facts->reduces)
    return;
  SmallVector<Value> around(op->getOperands());
  around.push_back(op->getResult(0));
  auto self = static_cast<unsigned>(llvm::find(around, value) - around.begin());
  if (self == around.size())
    return;
  for (auto [index, other] : llvm::enumerate(around)) {
    if (other == value || typeOf(other).getRank() == 0)
      continue;
    if (ShardingAttr wanted = followed.find(*facts, self, sharding, static_cast<unsigned>(index), other))
      visit(other, wanted);
  }
}

void ShardingGraph::follow(ShardingChange &change, unsigned radius, bool isFar) {
  size_t begin = 0;
  for (; radius > 0 && begin < change.size(); --radius) {
    size_t end = change.size();
    for (; begin < end; ++begin) {
      auto [variable, sharding] = *(change.begin() + begin);
      for (Value value : variables[variable]) {
        if (Operation *op = value.getDefiningOp()) {
          followThrough(op, value, sharding, isFar, change);
          for (Region &region : op->getRegions())
            followThrough(region.front().getTerminator(), value, sharding, isFar, change);
        }
        for (Operation *user : value.getUsers())
          followThrough(user, value, sharding, isFar, change);
      }
    }
  }
}

} // namespace spmdc
