//===- Remarks.cpp - the remarks of propagation (--remarks) ---------------===//

#include "passes/propagate/Remarks.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdTypes.h"
#include "ir/spmd/ValueNames.h"

using namespace mlir;

namespace spmdc {
namespace {

using OpEntry = PropagationState::OpEntry;

/// Emits a remark at the operation's place. It begins with the operation's name, because one source expression may
/// consist of several operations.
InFlightDiagnostic emitRemarkAt(const OpEntry &entry) {
  return emitRemark(entry.op->getLoc()) << entry.getName() << ": ";
}

/// `operand 1 'w'`, `the result 'h'`.
std::string describe(const OpEntry &entry, unsigned tensor) {
  unsigned numOperands = entry.rule.operands.size();
  std::string text;
  if (isa<ManualOp>(entry.op)) {
    bool isIn = isa<BlockArgument>(entry.values[1]);
    text =
        isIn ? (tensor == 0 ? "the operand" : "the local array") : (tensor == 0 ? "the yielded value" : "the result");
  } else if (entry.isEdge && tensor < numOperands)
    text = isa<IfOp>(entry.op) ? (tensor == 0 ? "the first branch's value" : "the second branch's value")
           : tensor == 0       ? "the carry's initial value"
                               : "the body's value";
  else if (tensor < numOperands)
    text = numOperands == 1 ? "the operand" : "operand " + std::to_string(tensor);
  else
    text = entry.op->getNumResults() == 1 ? "the result" : "result " + std::to_string(tensor - numOperands);
  Value value = entry.values[tensor];
  std::optional<StringRef> name = getValueName(value);
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      if (auto attr = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttrName))
        name = attr.getValue();
  return name ? text + " '" + name->str() + "'" : text;
}

const ValueFactors &getFactors(const ShardingRule &rule, unsigned tensor) {
  return tensor < rule.operands.size() ? rule.operands[tensor] : rule.results[tensor - rule.operands.size()];
}

unsigned getDimOf(const ShardingRule &rule, unsigned tensor, int64_t factor) {
  for (auto [index, dim] : llvm::enumerate(getFactors(rule, tensor)))
    if (llvm::is_contained(dim, factor))
      return index;
  llvm_unreachable("the array lacks the factor");
}

} // namespace

void RemarkEmitter::extended(const OpEntry &entry, unsigned tensor, unsigned dim, const ShardingProjection &before,
                             const ShardingProjection &after, PropagationStrategy strategy) {
  const MeshAxes &mesh = state.getMesh();
  InFlightDiagnostic remark = emitRemarkAt(entry);
  remark << "dimension " << dim << " of " << describe(entry, tensor) << " becomes sharded over "
         << mesh.str(state.getSharding(entry.slots[tensor]).dims[dim].axes);
  for (int64_t factor : getFactors(entry.rule, tensor)[dim]) {
    ArrayRef<AxisPart> axes = after.getTensors()[tensor].getFactor(factor)->axes;
    if (axes == ArrayRef<AxisPart>(before.getTensors()[tensor].getFactor(factor)->axes))
      continue;
    if (strategy == PropagationStrategy::Displace) {
      auto [source, displacedFactor] = getDisplaced(before, axes);
      remark << ", as dimension " << getDimOf(entry.rule, source, displacedFactor) << " of " << describe(entry, source)
             << (entry.rule.factors[displacedFactor].kind == FactorKind::NeedReplication
                     ? " is, which the operation needs replicated"
                     : " is, whose shards would not be contiguous");
      return;
    }
    for (auto [source, projection] : llvm::enumerate(before.getTensors())) {
      const FactorSharding *sharding = projection.getFactor(factor);
      if (source == tensor || !sharding || !isPrefix(axes, sharding->axes))
        continue;
      remark << ", as dimension " << getDimOf(entry.rule, source, factor) << " of " << describe(entry, source) << " is";
      if (strategy == PropagationStrategy::Settle)
        remark << " (the largest array where they differ)";
      return;
    }
  }
}

void RemarkEmitter::reportDisagreements() {
  for (const OpEntry &entry : state.getOps())
    reportDisagreements(entry);
}

void RemarkEmitter::reportDisagreements(const OpEntry &entry) {
  SmallVector<const TensorSharding *, 4> shardings;
  for (unsigned slot : entry.slots)
    shardings.push_back(&state.getSharding(slot));
  ShardingProjection projection(entry.rule, shardings);
  for (auto [factor, info] : llvm::enumerate(entry.rule.factors)) {
    // The array with which the others are compared: the largest of those with the most shards.
    std::optional<unsigned> leader;
    std::pair<int64_t, int64_t> leaderKey;
    for (auto [index, tensor] : llvm::enumerate(projection.getTensors())) {
      const FactorSharding *sharding = tensor.getFactor(factor);
      if (!sharding || sharding->axes.empty())
        continue;
      std::pair key(totalSize(sharding->axes), tensor.getSize());
      if (!leader || key > leaderKey) {
        leader = index;
        leaderKey = key;
      }
    }
    if (!leader)
      continue;
    if (info.kind == FactorKind::NeedReplication) {
      if (*leader >= projection.getNumOperands())
        continue; // A sharded result needs no gather: the operation computes it replicated, and slices it.
      emitRemarkAt(entry) << "dimension " << getDimOf(entry.rule, *leader, factor) << " of " << describe(entry, *leader)
                          << " is sharded over "
                          << state.getMesh().str(projection.getTensors()[*leader].getFactor(factor)->axes)
                          << ", but the operation needs it replicated";
      continue;
    }
    for (unsigned tensor = 0; tensor < projection.getTensors().size(); ++tensor)
      reportDisagreement(entry, projection, tensor, factor, *leader);
  }
}

void RemarkEmitter::reportDisagreement(const OpEntry &entry, const ShardingProjection &projection, unsigned tensor,
                                       int64_t factor, unsigned leader) {
  const TensorProjection &array = projection.getTensors()[tensor];
  const FactorSharding *own = array.getFactor(factor);
  const AxisList &wanted = projection.getTensors()[leader].getFactor(factor)->axes;
  if (!own || own->axes == wanted)
    return;
  const MeshAxes &mesh = state.getMesh();
  InFlightDiagnostic remark = emitRemarkAt(entry);
  remark << "dimension " << getDimOf(entry.rule, tensor, factor) << " of " << describe(entry, tensor)
         << " does not follow dimension " << getDimOf(entry.rule, leader, factor) << " of " << describe(entry, leader)
         << " over " << mesh.str(wanted) << ": ";
  if (!isPrefix(own->axes, wanted)) {
    remark << "it is sharded over " << mesh.str(own->axes);
    return;
  }
  if (state.getSharding(entry.slots[tensor]).dims[getDimOf(entry.rule, tensor, factor)].isClosed) {
    remark << "it is closed";
    return;
  }
  if (!own->overflow.empty()) {
    remark << "it is already sharded over " << mesh.str(own->overflow) << ", which does not divide its factor of "
           << entry.rule.factors[factor].size;
    return;
  }
  // The first axis that the array cannot take.
  AxisList usable = getUsablePrefix(array, factor, entry.rule.factors[factor].size, wanted);
  size_t missing = usable.size();
  if (!usable.empty() && usable.back() != wanted[usable.size() - 1])
    --missing;
  if (missing < wanted.size()) {
    AxisPart part = wanted[missing];
    for (int64_t other = 0; other < array.getNumFactors(); ++other) {
      const FactorSharding *sharding = array.getFactor(other);
      if (!sharding || other == factor)
        continue;
      for (AxisPart used : llvm::concat<const AxisPart>(sharding->axes, sharding->overflow)) {
        if (!part.conflictsWith(used))
          continue;
        remark << "its dimension " << getDimOf(entry.rule, tensor, other) << " uses " << mesh.str({used});
        return;
      }
    }
    if (llvm::any_of(array.getBlocked(), [&](AxisPart used) { return part.conflictsWith(used); })) {
      remark << mesh.str({part}) << " is already used elsewhere by the array";
      return;
    }
    if (!own->isAlone) {
      remark << "its factor of " << entry.rule.factors[factor].size << " cannot be sharded evenly over "
             << mesh.str({part});
      return;
    }
  }
  remark << (entry.kind.isElementwise ? "the result does not have it" : "its shards would not be contiguous");
}

} // namespace spmdc
