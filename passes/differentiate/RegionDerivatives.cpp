//===- RegionDerivatives.cpp - cotangents through branches, checkpoints ---===//
//
// The derivative of a region is a region of the same kind behind it, whose results are the cotangents of the outside
// values that the forward region uses. Forward values that it needs are recomputed (checkpoint) or become results
// (branches).
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/RegionDerivatives.h"
#include "passes/differentiate/Residuals.h"
#include "passes/differentiate/ReverseSweep.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

Value createZero(OpBuilder &builder, Location loc, ArrayType type) {
  return builder.create<ConstantOp>(loc, type.withoutSharding(), Scalar());
}

void replaceForward(Derivative &derivative, Operation *op, Operation *extended) {
  for (auto [result, replacement] : llvm::zip(op->getResults(), extended->getResults()))
    result.replaceAllUsesWith(replacement);
  op->remove();
  op->setOperands({});
  derivative.replaced.push_back(op);
}

/// The values that a region uses and that are defined outside of it, in the sequence of their first uses.
static SmallVector<Value> getCaptured(Region &region) {
  llvm::SmallSetVector<Value, 8> captured;
  region.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!region.isAncestor(operand.getParentRegion()))
        captured.insert(operand);
  });
  return captured.takeVector();
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// Recomputes the body from barriers around the values that it uses, and differentiates the copy. Both are in one
/// checkpoint, so that a derivative of this derivative stores nothing of the body either.
LogicalResult ReverseSweep::differentiateCheckpoint(CheckpointOp op, OpBuilder &builder) {
  Location loc = getDerivativeLoc(op);
  Workspace workspace(builder, loc);
  Block &block = workspace.getBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&block);

  IRMapping mapping;
  SmallVector<std::pair<Value, Value>> copies; // Active captured values, and their copies in the body.
  for (Value value : getCaptured(op.getBody())) {
    if (value.getDefiningOp<ConstantOp>())
      continue;
    Value barrier = inner.create<OptimizationBarrierOp>(loc, plainTypeOf(value), value);
    if (derivative.varying)
      derivative.varying->copy(barrier, value);
    // The copy gets the sharding that the type of the value specifies.
    Value copy = barrier;
    if (value.getType() != copy.getType())
      copy = inner.create<ConstraintOp>(loc, cast<ArrayType>(value.getType()), barrier);
    mapping.map(value, copy);
    if (derivative.activity.isActive(value)) {
      derivative.activity.addArgument(barrier);
      copies.emplace_back(value, copy);
    }
  }
  Operation *lastCopy = block.empty() ? nullptr : &block.back();
  Block &forward = op.getBody().front();
  for (Operation &inside : forward.without_terminator())
    inner.clone(inside, mapping);
  if (derivative.varying)
    for (auto [value, copy] : mapping.getValueMap())
      derivative.varying->copy(copy, value);
  derivative.activity.follow(block);
  ReverseSweep sweep(derivative);
  for (auto [result, yielded] : llvm::zip(op->getResults(), forward.getTerminator()->getOperands()))
    if (Value cotangent = getCotangent(builder, result))
      sweep.add(inner, mapping.lookupOrDefault(yielded), cotangent, derivative.missing(result, yielded));
  // Stops in front of the copies: partial sums of their cotangents become results, and are reduced behind branches.
  if (failed(sweep.run(block, inner, lastCopy)))
    return failure();

  SmallVector<Contribution> found;
  SmallVector<Value> yielded;
  SmallVector<Type> types;
  for (auto [value, copy] : copies)
    for (const auto &[axes, cotangent] : sweep.cotangents.lookup(copy)) {
      found.push_back({value, axes, {}});
      yielded.push_back(cotangent);
      types.push_back(plainTypeOf(cotangent));
    }
  inner.create<YieldOp>(loc, yielded);
  auto backward = builder.create<CheckpointOp>(loc, types);
  backward.getBody().takeBody(workspace.getRegion());
  for (auto [contribution, result] : llvm::zip(found, backward->getResults()))
    add(builder, contribution.value, result, contribution.axes);
  return success();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

namespace {

/// Extends a branch by results for the values that the backward pass of either region needs. Both regions use one slot
/// for their k-th value of a type.
class BranchResiduals {
public:
  explicit BranchResiduals(IfOp op) : op(op) {}

  /// The slots of the values that region `branch` stores.
  SmallVector<unsigned> assign(unsigned branch, ArrayRef<Value> values) {
    SmallVector<unsigned> numbers;
    for (Value value : values) {
      ArrayType type = plainTypeOf(value);
      Slot *slot = llvm::find_if(slots, [&](const Slot &s) { return s.type == type && !s.values[branch]; });
      if (slot == slots.end()) {
        slots.push_back({type, {}});
        slot = &slots.back();
      }
      slot->values[branch] = value;
      numbers.push_back(slot - slots.begin());
    }
    return numbers;
  }

  bool empty() const { return slots.empty(); }

  /// The extended branch; the slots are its last results.
  IfOp extend() {
    SmallVector<Type> types(op.getResultTypes());
    for (const Slot &slot : slots)
      types.push_back(slot.type);
    OpBuilder builder(op);
    auto extended = builder.create<IfOp>(op.getLoc(), types, op.getPredicate());
    for (auto [branch, region] : llvm::enumerate(op->getRegions())) {
      Operation *yield = region.front().getTerminator();
      OpBuilder inner(yield);
      for (const Slot &slot : slots)
        yield->insertOperands(yield->getNumOperands(),
                              slot.values[branch] ? slot.values[branch] : createZero(inner, op.getLoc(), slot.type));
      extended->getRegion(branch).takeBody(region);
    }
    return extended;
  }

private:
  /// One additional result of the branch, and the value that each of its regions yields for it; null: zero.
  struct Slot {
    ArrayType type;
    std::array<Value, 2> values;
  };
  IfOp op;
  SmallVector<Slot> slots;
};

/// Extends the branch by the results that the backward one needs.
void storeResiduals(Derivative &derivative, IfOp op, IfOp backward) {
  for (Region *region : {&backward.getThenRegion(), &backward.getElseRegion()})
    eraseDead(region->front());
  Residuals ofThen(op.getThenRegion().front(), backward.getThenRegion().front());
  Residuals ofElse(op.getElseRegion().front(), backward.getElseRegion().front());
  BranchResiduals kept(op);
  SmallVector<unsigned> thenSlots = kept.assign(0, ofThen.getKept()), elseSlots = kept.assign(1, ofElse.getKept());
  SmallVector<Value> results;
  if (!kept.empty()) {
    IfOp extended = kept.extend();
    llvm::append_range(results, extended.getOutputs().drop_front(op.getOutputs().size()));
    replaceForward(derivative, op, extended);
  }
  ofThen.substitute([&](OpBuilder &, unsigned index) { return results[thenSlots[index]]; });
  ofElse.substitute([&](OpBuilder &, unsigned index) { return results[elseSlots[index]]; });
}

} // namespace

LogicalResult ReverseSweep::sweepBranch(IfOp op, Region &branch, ArrayRef<Value> seeds, Block &backward,
                                        SmallVector<Contribution> &found) {
  OpBuilder inner = OpBuilder::atBlockEnd(&backward);
  ReverseSweep sweep(derivative);
  Block &forward = branch.front();
  for (auto [seed, result, yielded] : llvm::zip(seeds, op.getOutputs(), forward.getTerminator()->getOperands()))
    if (seed)
      sweep.add(inner, yielded, seed, derivative.missing(result, yielded));
  if (failed(sweep.run(forward, inner)))
    return failure();
  found = sweep.listOutside(branch);
  return success();
}

LogicalResult ReverseSweep::differentiateIf(IfOp op, OpBuilder &builder) {
  Location loc = getDerivativeLoc(op);
  SmallVector<Value> seeds;
  for (Value result : op.getOutputs())
    seeds.push_back(getCotangent(builder, result));
  // If the branch contains a collective, all devices run both regions (spmdc-align-collectives), and sums may be
  // inside, too.
  bool hasCollective = op.walk([](CollectiveOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
  if (derivative.varying && !derivative.varying->of(op.getPredicate()).empty() && !hasCollective)
    keepCollectivesOut(op, builder, seeds);
  Workspace workspaces[2] = {{builder, loc}, {builder, loc}};
  SmallVector<Contribution> found[2];
  for (unsigned branch : {0, 1})
    if (failed(sweepBranch(op, op->getRegion(branch), seeds, workspaces[branch].getBlock(), found[branch])))
      return failure();

  // One result for each outside value whose cotangent either region contributes to; the other region yields zero.
  llvm::MapVector<Value, std::map<Axes, std::array<Value, 2>>> joined;
  for (unsigned branch : {0, 1})
    for (const Contribution &contribution : found[branch])
      joined[contribution.value][contribution.axes][branch] = contribution.cotangent;
  SmallVector<Type> types;
  SmallVector<Value> yielded[2];
  for (const auto &[value, parts] : joined)
    for (const auto &[axes, cotangents] : parts) {
      types.push_back(plainTypeOf(value));
      for (unsigned branch : {0, 1}) {
        OpBuilder inner = OpBuilder::atBlockEnd(&workspaces[branch].getBlock());
        yielded[branch].push_back(cotangents[branch] ? cotangents[branch] : createZero(inner, loc, plainTypeOf(value)));
      }
    }
  if (types.empty())
    return success();
  auto backward = builder.create<IfOp>(loc, types, op.getPredicate());
  for (unsigned branch : {0, 1}) {
    OpBuilder::atBlockEnd(&workspaces[branch].getBlock()).create<YieldOp>(loc, yielded[branch]);
    backward->getRegion(branch).takeBody(workspaces[branch].getRegion());
  }
  storeResiduals(derivative, op, backward);
  auto result = backward.getOutputs().begin();
  for (const auto &[value, parts] : joined)
    for (const auto &[axes, cotangents] : parts)
      add(builder, value, *result++, axes);
  return success();
}

} // namespace spmdc
