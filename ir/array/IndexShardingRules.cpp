//===- IndexShardingRules.cpp - run-time indices on sharded arrays --------===//
//
// An indexed dimension may be sharded. For a read, each device returns the elements at the positions that it owns, and
// the neutral value of a sum elsewhere, so the results are partial sums. For a write, each device writes the elements
// that belong to its own shard. Sharded updates make partial sums, and so the operand that they are added to is a
// partial sum, too.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The indices relative to this device's shard of the operand.
Value shiftIndices(const LocalBuilder &local, Value indices, Value operand, int64_t dim) {
  ArrayRef<AxisRefAttr> axes = axesOf(operand, dim);
  if (axes.empty())
    return indices;
  return local.offset(indices, local.shardStart(typeOf(operand).getDimSize(dim), axes), /*isSubtracted=*/true);
}

TypedAttr indexOutside(Value indices) { return IntegerAttr::get(typeOf(indices).getElementType(), -1); }

} // namespace

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

ShardingRule DynamicSliceOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, result;
  for (auto [size, taken] : llvm::zip(getOperand().getType().getShape(), getSizes())) {
    bool coversDim = size == taken;
    operand.push_back({rule.addFactor(size, coversDim ? FactorKind::PassThrough : FactorKind::Reduction)});
    result.push_back(coversDim ? operand.back() : DimFactors{rule.addFactor(taken, FactorKind::NeedReplication)});
  }
  rule.operands.assign(1 + getStarts().size(), ValueFactors());
  rule.operands[0] = operand;
  rule.results = {result};
  return rule;
}

Value DynamicSliceOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType localResult) {
  LocalBuilder local(b, getLoc());
  ArrayType global = getOperand().getType();
  // The window keeps the local size of sharded dimensions at first.
  SmallVector<int64_t> sizes(localResult.getShape());
  SmallVector<int64_t> shardedDims;
  for (int64_t d = 0; d < global.getRank(); ++d)
    if (getSizes()[d] != global.getDimSize(d) && !axesOf(getOperand(), d).empty()) {
      shardedDims.push_back(d);
      sizes[d] = typeOf(operands[0]).getDimSize(d);
    }
  Value result = b.create<DynamicSliceOp>(getLoc(), operands[0], operands.drop_front(), sizes);
  for (int64_t d : shardedDims) {
    int64_t size = global.getDimSize(d);
    Value start = local.clamp(operands[1 + d], size - getSizes()[d]);
    result = local.takeOwned(result, local.countFrom(start, getSizes()[d]), d, size, axesOf(getOperand(), d));
  }
  return result;
}

ShardingRule DynamicUpdateSliceOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, update;
  for (auto [size, written] : llvm::zip(getOperand().getType().getShape(), getUpdate().getType().getShape())) {
    operand.push_back({rule.addFactor(size)});
    update.push_back(size == written ? operand.back()
                                     : DimFactors{rule.addFactor(written, FactorKind::NeedReplication)});
  }
  rule.operands.assign(2 + getStarts().size(), ValueFactors());
  rule.operands[0] = operand;
  rule.operands[1] = update;
  rule.results = {operand};
  return rule;
}

ArrayMoves DynamicUpdateSliceOp::getMoves() {
  std::vector<spmd::DimMove> operand, update;
  for (auto [start, size, written] : llvm::zip(getStarts(), getType().getShape(), getUpdate().getType().getShape())) {
    auto constant = start.getDefiningOp<ConstantOp>();
    if (!constant && written != size)
      return {};
    int64_t first = 0;
    if (written != size)
      first = std::clamp<int64_t>(constant.getValue().getSplatValue<APInt>().getSExtValue(), 0, size - written);
    operand.push_back({0, 1, 0, size});
    update.push_back({-first, 1, first, first + written});
  }
  return {{{getOperand(), operand}, {getUpdate(), update, /*slicesReplicatedLocally=*/true}}, Value()};
}

Value DynamicUpdateSliceOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType) {
  LocalBuilder local(b, getLoc());
  ArrayType global = getOperand().getType();
  Value operand = operands[0], update = operands[1];
  SmallVector<Value> starts(operands.drop_front(2));
  SmallVector<std::pair<int64_t, Value>> masks;
  for (int64_t d = 0; d < global.getRank(); ++d) {
    int64_t size = global.getDimSize(d), written = getUpdate().getType().getDimSize(d);
    ArrayRef<AxisRefAttr> axes = axesOf(getOperand(), d);
    if (written == size || axes.empty())
      continue;
    // Writes the part of the update that overlaps with the shard; elements of other devices do not change.
    int64_t piece = typeOf(operand).getDimSize(d), window = std::min(piece, written);
    Value first = local.shardStart(size, axes), start = local.clamp(starts[d], size - written);
    starts[d] = local.clamp(local.subtract(start, first), piece - window);
    Value source = local.countFrom(local.subtract(local.add(first, starts[d]), start), window);
    masks.emplace_back(d, local.isWithin(source, local.splat({}, written)));
    update = b.create<TakeOp>(getLoc(), update, source, d);
  }
  if (!masks.empty()) {
    ArrayRef<int64_t> window = typeOf(update).getShape();
    Value current = b.create<DynamicSliceOp>(getLoc(), operand, starts, window);
    for (auto &[dim, mask] : masks)
      update = local.select(local.broadcast(mask, window, {dim}), update, current);
  }
  return b.create<DynamicUpdateSliceOp>(getLoc(), operand, update, starts);
}

//===----------------------------------------------------------------------===//
// Arrays of indices
//===----------------------------------------------------------------------===//

ShardingRule TakeOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, indices, result;
  auto dim = static_cast<int64_t>(getDim());
  for (int64_t d = 0; d < getOperand().getType().getRank(); ++d) {
    int64_t size = getOperand().getType().getDimSize(d);
    if (d == dim) {
      operand.push_back({rule.addFactor(size, FactorKind::Reduction)});
      for (int64_t count : getIndices().getType().getShape())
        indices.push_back({rule.addFactor(count)});
      llvm::append_range(result, indices);
      continue;
    }
    operand.push_back({rule.addFactor(size)});
    result.push_back(operand.back());
  }
  rule.operands = {operand, indices};
  rule.results = {result};
  return rule;
}

Value TakeOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType) {
  auto dim = static_cast<int64_t>(getDim());
  ArrayRef<AxisRefAttr> axes = axesOf(getOperand(), dim);
  if (axes.empty())
    return b.create<TakeOp>(getLoc(), operands[0], operands[1], dim);
  LocalBuilder local(b, getLoc());
  int64_t size = getOperand().getType().getDimSize(dim);
  return local.takeOwned(operands[0], local.clamp(operands[1], size - 1), dim, size, axes);
}

ShardingRule TakeAlongOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, indices;
  for (int64_t d = 0; d < getType().getRank(); ++d) {
    bool isTaken = d == static_cast<int64_t>(getDim());
    operand.push_back({rule.addFactor(getOperand().getType().getDimSize(d),
                                      isTaken ? FactorKind::Reduction : FactorKind::PassThrough)});
    indices.push_back(isTaken ? DimFactors{rule.addFactor(getType().getDimSize(d))} : operand.back());
  }
  rule.operands = {operand, indices};
  rule.results = {indices};
  return rule;
}

Value TakeAlongOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType) {
  auto dim = static_cast<int64_t>(getDim());
  ArrayRef<AxisRefAttr> axes = axesOf(getOperand(), dim);
  if (axes.empty())
    return b.create<TakeAlongOp>(getLoc(), operands[0], operands[1], dim);
  LocalBuilder local(b, getLoc());
  int64_t size = getOperand().getType().getDimSize(dim);
  auto [position, isOwned] = local.localize(local.clamp(operands[1], size - 1), size, axes);
  Value taken = b.create<TakeAlongOp>(getLoc(), operands[0], position, dim);
  return local.select(isOwned, taken, local.nothing(typeOf(taken)));
}

ShardingRule ScatterAddOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, indices, updates;
  for (int64_t d = 0; d < getType().getRank(); ++d) {
    operand.push_back({rule.addFactor(getType().getDimSize(d))});
    if (d != static_cast<int64_t>(getDim())) {
      updates.push_back(operand.back());
      continue;
    }
    for (int64_t count : getIndices().getType().getShape())
      indices.push_back({rule.addFactor(count, FactorKind::Reduction)});
    llvm::append_range(updates, indices);
  }
  rule.operands = {operand, indices, updates};
  rule.results = {operand};
  return rule;
}

Value ScatterAddOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType) {
  auto dim = static_cast<int64_t>(getDim());
  Value indices = shiftIndices(LocalBuilder(b, getLoc()), operands[1], getOperand(), dim);
  return b.create<ScatterAddOp>(getLoc(), operands[0], indices, operands[2], dim);
}

bool ScatterAddOp::isAddedTo(unsigned operand) { return operand == 0; }

TypedAttr ScatterAddOp::getPaddingValue(unsigned operand) {
  return operand == 1 ? indexOutside(getIndices()) : TypedAttr();
}

ShardingRule ScatterAddAlongOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, indices;
  for (int64_t d = 0; d < getType().getRank(); ++d) {
    operand.push_back({rule.addFactor(getType().getDimSize(d))});
    bool isTarget = d == static_cast<int64_t>(getDim());
    indices.push_back(isTarget ? DimFactors{rule.addFactor(getIndices().getType().getDimSize(d), FactorKind::Reduction)}
                               : operand.back());
  }
  rule.operands = {operand, indices, indices};
  rule.results = {operand};
  return rule;
}

Value ScatterAddAlongOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType) {
  auto dim = static_cast<int64_t>(getDim());
  Value indices = shiftIndices(LocalBuilder(b, getLoc()), operands[1], getOperand(), dim);
  return b.create<ScatterAddAlongOp>(getLoc(), operands[0], indices, operands[2], dim);
}

bool ScatterAddAlongOp::isAddedTo(unsigned operand) { return operand == 0; }

TypedAttr ScatterAddAlongOp::getPaddingValue(unsigned operand) {
  return operand == 1 ? indexOutside(getIndices()) : TypedAttr();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

ShardingRule ArgsortOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, result;
  for (int64_t d = 0; d < getType().getRank(); ++d) {
    int64_t size = getType().getDimSize(d);
    bool isSorted = d == static_cast<int64_t>(getDim());
    operand.push_back({rule.addFactor(size, isSorted ? FactorKind::NeedReplication : FactorKind::PassThrough)});
    result.push_back(isSorted ? DimFactors{rule.addFactor(size, FactorKind::NeedReplication)} : operand.back());
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

} // namespace spmdc
