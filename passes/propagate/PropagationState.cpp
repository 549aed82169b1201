//===- PropagationState.cpp - the graph that propagation works on ---------===//

#include "passes/propagate/PropagationState.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/AllowedDirection.h"
#include "ir/spmd/ReplicatedAxes.h"
#include "ir/spmd/SpmdOps.h"

#include <map>
#include <set>

using namespace mlir;

namespace spmdc {
namespace {

/// The region arguments of a loop that are carries: all but the counter of a `for`.
Block::BlockArgListType getCarries(Region &region) {
  return region.getArguments().drop_front(isa<ForOp>(region.getParentOp()) ? 1 : 0);
}

int64_t priorityOf(DimShardingAttr dim) { return std::max<int64_t>(0, dim.getPriority()); }

/// Checks that the mesh has every axis of the annotation, and that no two of them conflict.
LogicalResult verifyAnnotation(Location loc, ArrayType type, const MeshAxes &mesh) {
  ShardingAttr sharding = type.getSharding();
  SmallVector<AxisRefAttr> used(sharding.getUnreduced());
  for (DimShardingAttr dim : sharding.getDims())
    llvm::append_range(used, dim.getAxes());
  for (AxisRefAttr axis : used) {
    if (mesh.find(axis))
      continue;
    if (mesh.find(AxisRefAttr::get(axis.getContext(), axis.getName())))
      return emitError(loc) << "'" << axis.str() << "' in " << type.str() << " is not a part of axis '"
                            << axis.getName() << "'";
    InFlightDiagnostic error = emitError(loc);
    error << "unknown axis '" << axis.getName() << "' in " << type.str() << "; ";
    return mesh.getMesh().getAxes().empty() ? error << "there is no mesh" : error << "the mesh has " << mesh.names();
  }
  for (auto [index, axis] : llvm::enumerate(used))
    for (AxisRefAttr other : ArrayRef(used).drop_front(index + 1))
      if (mesh.find(axis)->conflictsWith(*mesh.find(other)))
        return emitError(loc) << "'" << axis.str() << "' and '" << other.str() << "' in " << type.str()
                              << " are not parts of one split of axis '" << axis.getName() << "'";
  return success();
}

/// Merges two annotations of one dimension; nullopt if they contradict each other.
std::optional<DimShardingAttr> mergeDims(DimShardingAttr lhs, DimShardingAttr rhs, const MeshAxes &mesh) {
  auto merge = [&](DimShardingAttr stricter, DimShardingAttr other) -> std::optional<DimShardingAttr> {
    bool fits = other.getIsClosed() ? stricter.getIsClosed() && stricter.getAxes() == other.getAxes()
                                    : isPrefix(mesh.getParts(other.getAxes()), mesh.getParts(stricter.getAxes()));
    if (!fits)
      return std::nullopt;
    bool saysMore = !other.empty() || other.getIsClosed() || other.getPriority() >= 0;
    int64_t priority =
        saysMore ? std::min(priorityOf(stricter), priorityOf(other)) : static_cast<int64_t>(stricter.getPriority());
    return DimShardingAttr::get(stricter.getContext(), stricter.getAxes(), stricter.getIsClosed(), priority);
  };
  if (std::optional<DimShardingAttr> merged = merge(lhs, rhs))
    return merged;
  return merge(rhs, lhs);
}

/// Parses the value of the attribute; nullopt for any other text.
std::optional<Direction> parseDirection(StringRef text) {
  return llvm::StringSwitch<std::optional<Direction>>(text)
      .Case("forward", Direction::Forward)
      .Case("backward", Direction::Backward)
      .Case("none", Direction::None)
      .Default(std::nullopt);
}

Direction getAllowed(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>(kAllowedDirectionAttrName);
  return text ? *parseDirection(text.getValue()) : Direction::Both;
}

/// The axes that the open dimensions of a constraint's value may not take.
ArrayRef<AxisRefAttr> getReplicatedAxes(ConstraintOp constraint) {
  auto axes = constraint->getAttrOfType<AxesAttr>(kReplicatedAxesAttrName);
  return axes ? axes.getAxes() : ArrayRef<AxisRefAttr>();
}

LogicalResult verifyBarriers(func::FuncOp func) {
  WalkResult walk = func.walk([](Operation *op) -> WalkResult {
    Attribute written = op->getAttr(kAllowedDirectionAttrName);
    if (!written)
      return WalkResult::advance();
    if (!isa<OptimizationBarrierOp>(op))
      return op->emitOpError() << "is not a barrier: '" << kAllowedDirectionAttrName
                               << "' is for array.optimization_barrier";
    auto text = dyn_cast<StringAttr>(written);
    if (!text || !parseDirection(text.getValue()))
      return op->emitOpError() << "'" << kAllowedDirectionAttrName << "' is \"forward\", \"backward\" or \"none\", not "
                               << written;
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

} // namespace

StringRef PropagationState::OpEntry::getName() const {
  return isa<ManualOp>(op) ? "shard_map" : op->getName().stripDialect();
}

FailureOr<PropagationState> PropagationState::create(func::FuncOp func, const MeshAxes &mesh) {
  PropagationState state(mesh);
  WalkResult walk = func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      if (failed(state.addValue(result)))
        return WalkResult::interrupt();
    // Values inside a fully manual region are local and have no shardings.
    if (auto manual = dyn_cast<ManualOp>(op); manual && !manual.hasAutomaticAxes())
      return WalkResult::skip();
    if (isa<LoopLikeOpInterface>(op) && failed(state.addCarries(op)))
      return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (!state.slotOf.contains(argument) && failed(state.addValue(argument)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted() || failed(verifyBarriers(func)) || failed(state.addGroups(func)) ||
      failed(state.excludeManualAxes(func)) || failed(state.excludeReplicatedAxes(func)))
    return failure();
  state.applyConstraintsToOperands(func);
  state.addOps(func);
  return state;
}

LogicalResult PropagationState::addValue(Value value) {
  auto type = dyn_cast<ArrayType>(value.getType());
  if (!type)
    return success();
  if (type.getSharding() && failed(verifyAnnotation(value.getLoc(), type, mesh)))
    return failure();
  slotOf[value] = slots.size();
  Slot slot{type.getSharding(), value.getLoc(), /*isGrouped=*/false, /*excluded=*/{}, /*current=*/{}, /*opsAround=*/{}};
  // Without annotation, all dimensions are open. Annotations become visible through activate().
  slot.current.dims.resize(type.getRank());
  slots.push_back(std::move(slot));
  return success();
}

/// Gives the region arguments of a carry the slot of its result: a carry has one sharding in all iterations.
LogicalResult PropagationState::addCarries(Operation *loop) {
  for (Region &region : loop->getRegions())
    for (auto [argument, result] : llvm::zip(getCarries(region), loop->getResults())) {
      ArrayType type = cast<ArrayType>(argument.getType());
      unsigned slotNumber = slotOf.at(result);
      Slot &slot = slots[slotNumber];
      slotOf[argument] = slotNumber;
      if (!type.getSharding() || type.getSharding() == slot.annotation)
        continue;
      if (failed(verifyAnnotation(argument.getLoc(), type, mesh)))
        return failure();
      if (slot.annotation) {
        InFlightDiagnostic error = loop->emitError()
                                   << "a carry is annotated " << type.str() << " and "
                                   << cast<ArrayType>(result.getType()).withSharding(slot.annotation).str();
        error.attachNote(argument.getLoc()) << "the first is here";
        error.attachNote(slot.annotationLoc) << "the second is here";
        return error;
      }
      slot.annotation = type.getSharding();
      slot.annotationLoc = argument.getLoc();
    }
  return success();
}

LogicalResult PropagationState::addGroups(func::FuncOp func) {
  std::map<int64_t, ShardingGroupOp> firstOfGroup;
  WalkResult walk = func.walk([&](ShardingGroupOp member) {
    auto [entry, isFirst] = firstOfGroup.try_emplace(member.getGroup(), member);
    ShardingGroupOp first = entry->second;
    unsigned slot = slotOf[first.getOperand()], other = slotOf[member.getOperand()];
    slots[slot].isGrouped = true;
    if (slot == other)
      return WalkResult::advance();
    if (first.getOperand().getType().getShape() != member.getOperand().getType().getShape()) {
      InFlightDiagnostic error = member.emitError()
                                 << "cannot shard " << member.getOperand().getType().withoutSharding().str() << " like "
                                 << first.getOperand().getType().withoutSharding().str() << ": their shapes differ";
      error.attachNote(first.getLoc()) << "the group begins here";
      return WalkResult::interrupt();
    }
    if (ShardingAttr theirs = slots[other].annotation) {
      ShardingAttr ours = slots[slot].annotation ? slots[slot].annotation
                                                 : ShardingAttr::getReplicated(theirs.getContext(), theirs.getRank(),
                                                                               /*isClosed=*/false);
      SmallVector<DimShardingAttr> dims;
      for (auto [index, lhs, rhs] : llvm::enumerate(ours.getDims(), theirs.getDims())) {
        std::optional<DimShardingAttr> merged = mergeDims(lhs, rhs, mesh);
        if (!merged) {
          InFlightDiagnostic error = member.emitError()
                                     << "values that are to be sharded alike are annotated '" << lhs.str() << "' and '"
                                     << rhs.str() << "' on dimension " << index;
          error.attachNote(slots[slot].annotationLoc) << "the first is annotated here";
          error.attachNote(slots[other].annotationLoc) << "the second is annotated here";
          return WalkResult::interrupt();
        }
        dims.push_back(*merged);
      }
      // Unreduced axes are not shared by the group.
      slots[slot].annotation = ShardingAttr::get(theirs.getContext(), dims, ours.getUnreduced());
    }
    for (auto &[value, valueSlot] : slotOf)
      if (valueSlot == other)
        valueSlot = slot;
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Fails if an attribute names an axis that the mesh does not have, or an operation that is no constraint has one.
LogicalResult PropagationState::excludeReplicatedAxes(func::FuncOp func) {
  WalkResult walk = func.walk([&](Operation *op) -> WalkResult {
    if (!op->hasAttr(kReplicatedAxesAttrName))
      return WalkResult::advance();
    auto constraint = dyn_cast<ConstraintOp>(op);
    if (!constraint || !op->getAttrOfType<AxesAttr>(kReplicatedAxesAttrName))
      return op->emitOpError() << "'" << kReplicatedAxesAttrName << "' is a list of axes of spmd.constraint";
    for (AxisRefAttr axis : getReplicatedAxes(constraint))
      if (!mesh.find(axis))
        return op->emitOpError() << "unknown axis '" << axis.str() << "' in '" << kReplicatedAxesAttrName
                                 << "'; the mesh has " << mesh.names();
    auto slotNumber = slotOf.find(constraint.getResult());
    if (slotNumber == slotOf.end()) // In a region that is manual over all axes.
      return WalkResult::advance();
    Slot &slot = slots[slotNumber->second];
    for (const AxisPart &axis : mesh.getParts(getReplicatedAxes(constraint)))
      if (!llvm::is_contained(slot.excluded, axis))
        slot.excluded.push_back(axis);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

void PropagationState::applyConstraintsToOperands(func::FuncOp func) {
  func.walk([&](ConstraintOp constraint) {
    Value operand = constraint.getOperand();
    Slot &slot = slots[slotOf[operand]];
    ShardingAttr annotation = slots[slotOf[constraint.getResult()]].annotation;
    ArrayRef<AxisRefAttr> replicated = getReplicatedAxes(constraint);
    Operation *producer = operand.getDefiningOp();
    bool saysNothing = !annotation && replicated.empty();
    if (saysNothing || slot.annotation || slot.isGrouped || !producer || !slot.excluded.empty())
      return;
    // A carry takes the annotation of its initial value before that of a constraint on the loop's result.
    if (isa<LoopLikeOpInterface>(producer)) {
      Value initial = producer->getOperand(cast<OpResult>(operand).getResultNumber());
      if (ShardingAttr written = slots[slotOf[initial]].annotation; written && written != annotation)
        return;
    }
    for (Operation *user : operand.getUsers())
      if (auto other = dyn_cast<ConstraintOp>(user))
        if (slots[slotOf[other.getResult()]].annotation != annotation || getReplicatedAxes(other) != replicated)
          return;
    slot.excluded = mesh.getParts(replicated);
    slot.annotation = annotation;
    slot.annotationLoc = constraint.getLoc();
  });
}

void PropagationState::addOps(func::FuncOp func) {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto withRule = dyn_cast<ShardingRuleOpInterface>(op)) {
      SmallVector<Value> values(op->getOperands());
      llvm::append_range(values, op->getResults());
      addOp(op, withRule.getShardingRule(), /*isEdge=*/false, values);
    }
    addEdges(op);
  });
}

void PropagationState::addOp(Operation *op, ShardingRule rule, bool isEdge, ArrayRef<Value> values) {
  SmallVector<unsigned, 4> around;
  for (Value value : values) {
    auto slot = slotOf.find(value);
    if (slot == slotOf.end())
      return;
    around.push_back(slot->second);
  }
  OpSurroundings surroundings;
  if (!isEdge) {
    surroundings.allowed = getAllowed(op);
    auto typeOf = [](Value value) { return cast<ArrayType>(value.getType()); };
    surroundings.hasSharedOperand = llvm::any_of(op->getOperands(), [&](Value operand) {
      auto isUse = [](OpOperand &use) { return !isa<ShardingGroupOp>(use.getOwner()); };
      return typeOf(operand).getRank() > 0 && llvm::count_if(operand.getUses(), isUse) > 1;
    });
    surroundings.shrinks = op->getNumResults() == 1 && llvm::any_of(op->getOperands(), [&](Value operand) {
                             return typeOf(operand).getNumElements() > typeOf(op->getResult(0)).getNumElements();
                           });
  }
  OpKind kind(rule);
  unsigned index = ops.size();
  for (unsigned slot : around)
    if (slots[slot].opsAround.empty() || slots[slot].opsAround.back() != index)
      slots[slot].opsAround.push_back(index);
  ops.push_back({op, std::move(rule), kind, surroundings, isEdge, llvm::to_vector<4>(values), std::move(around)});
}

void PropagationState::addEdges(Operation *op) {
  if (auto manual = dyn_cast<ManualOp>(op))
    return addManualEdges(manual);
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    SmallVector<Value, 3> sources;
    if (isa<LoopLikeOpInterface>(op))
      sources = {op->getOperand(index), op->getRegions().back().front().getTerminator()->getOperand(index)};
    else if (auto branch = dyn_cast<IfOp>(op))
      sources = {branch.getThenRegion().front().getTerminator()->getOperand(index),
                 branch.getElseRegion().front().getTerminator()->getOperand(index)};
    else
      return;
    ArrayRef<int64_t> shape = cast<ArrayType>(result.getType()).getShape();
    ShardingRule rule = ShardingRule::elementwise(shape, sources.size());
    sources.push_back(result);
    if (!shape.empty())
      addOp(op, std::move(rule), /*isEdge=*/true, sources);
  }
}

SmallVector<int64_t, 2> PropagationState::getPriorities() const {
  std::set<int64_t> priorities = {0};
  for (const Slot &slot : slots)
    if (slot.annotation)
      for (DimShardingAttr dim : slot.annotation.getDims())
        priorities.insert(priorityOf(dim));
  return SmallVector<int64_t, 2>(priorities.begin(), priorities.end());
}

void PropagationState::activate(int64_t priority) {
  for (Slot &slot : slots) {
    if (!slot.annotation) {
      slot.current.blocked = slot.excluded;
      continue;
    }
    // A dimension of a later priority is closed until that priority is active, and its axes are reserved.
    slot.current.blocked = mesh.getParts(slot.annotation.getUnreduced());
    for (const AxisPart &axis : slot.excluded)
      if (llvm::none_of(slot.annotation.getDims(),
                        [&](DimShardingAttr dim) { return llvm::is_contained(mesh.getParts(dim.getAxes()), axis); }))
        slot.current.blocked.push_back(axis);
    for (auto [dim, written] : llvm::zip(slot.current.dims, slot.annotation.getDims())) {
      AxisList axes = mesh.getParts(written.getAxes());
      if (priorityOf(written) == priority) {
        dim = {axes, written.getIsClosed()};
      } else if (priorityOf(written) > priority) {
        dim = {{}, /*isClosed=*/true};
        slot.current.blocked.append(axes);
      }
    }
  }
}

ShardingAttr PropagationState::getFinalSharding(Value value) const {
  const Slot &slot = slots[slotOf.lookup(value)];
  TensorSharding current = slot.current;
  // Axes of size 1 conflict with no others, so they may have propagated to slots that exclude them.
  auto isExcluded = [&](const AxisPart &part) { return part.size == 1 && llvm::is_contained(slot.excluded, part); };
  for (TensorSharding::Dim &dim : current.dims)
    llvm::erase_if(dim.axes, isExcluded);
  ShardingAttr written = cast<ArrayType>(value.getType()).getSharding();
  if (current.dims.empty() && (!written || written.getUnreduced().empty()))
    return {};
  return getClosedShardingAttr(mesh, current, written ? written.getUnreduced() : ArrayRef<AxisRefAttr>());
}

} // namespace spmdc
