//===- ManualDerivatives.cpp - cotangents through shard_map ---------------===//
//
// The derivative of a manual region is a manual region. Its operands are the cotangents of the forward region's
// results, and the forward values that it needs; its results are the cotangents of the forward region's operands. The
// transposes are those of JAX's varying types: if each device uses a value that does not vary over an axis in its own
// way, the value's cotangent is the sum of the devices' contributions.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/RegionDerivatives.h"
#include "passes/differentiate/Residuals.h"
#include "passes/differentiate/ReverseSweep.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace spmdc {
namespace {

/// These axes, in the mesh's sequence.
AxesAttr axesAttrOf(MeshAttr mesh, const VaryingAxes::Axes &axes) {
  SmallVector<AxisRefAttr> refs;
  for (AxisRefAttr axis : mesh.getAxes())
    if (axes.count(axis.getName().str()))
      refs.push_back(AxisRefAttr::get(mesh.getContext(), axis.getName(), 1, 0));
  return AxesAttr::get(mesh.getContext(), refs);
}

std::string quoted(const VaryingAxes::Axes &axes) {
  std::string text;
  for (const std::string &axis : axes)
    text += (text.empty() ? "'" : ", '") + axis + "'";
  return text;
}

VaryingAxes::Axes namesOf(AxesAttr axes) {
  VaryingAxes::Axes names;
  for (AxisRefAttr axis : axes.getAxes())
    names.insert(axis.getName().str());
  return names;
}

/// Passes values of one manual region to another, through results whose first dimension is sharded over all of the
/// region's axes over which the value varies.
class CrossRegionValues {
public:
  CrossRegionValues(ManualOp op, ArrayRef<Value> values) : op(op), values(values) {
    // No value outside of the region varies over the region's own axes.
    VaryingAxes varying(op);
    MeshAttr mesh = getMesh(op);
    for (Value value : values) {
      auto shard = cast<ArrayType>(value.getType()).withoutSharding();
      VaryingAxes::Axes axes;
      for (AxisRefAttr axis : op.getOwnAxes())
        if (varying.of(value).count(axis.getName().str()))
          axes.insert(axis.getName().str());
      if (isOperand(value) || (shard.getRank() == 0 && axes.empty())) {
        types.push_back(shard);
        continue;
      }
      SmallVector<int64_t> shape(shard.getShape());
      if (shape.empty())
        shape.push_back(1);
      AxesAttr shardedAxes = axesAttrOf(mesh, axes);
      for (const spmd::AxisRef &axis : shardedAxes.toValues())
        shape[0] *= axis.sizeIn(mesh.toValue());
      bool isClosed = !op.hasAutomaticAxes();
      SmallVector<DimShardingAttr> dims(shape.size(), DimShardingAttr::get(op.getContext(), {}, isClosed));
      dims[0] = DimShardingAttr::get(op.getContext(), shardedAxes.getAxes(), isClosed);
      types.push_back(shard.withShape(shape).withSharding(ShardingAttr::get(op.getContext(), dims, {})));
    }
  }

  /// The operation with additional results for all values that are not its operands.
  ManualOp extend() {
    SmallVector<Type> results(op.getResultTypes());
    auto yield = cast<ManualYieldOp>(op.getBlock().getTerminator());
    OpBuilder inner(yield);
    for (auto [value, type] : llvm::zip(values, types)) {
      if (isOperand(value))
        continue;
      ArrayType local = op.getLocalType(type).withoutSharding();
      Value shard = value;
      if (local != value.getType())
        shard = inner.create<ReshapeOp>(value.getLoc(), local, value);
      yield->insertOperands(yield->getNumOperands(), shard);
      results.push_back(type);
    }
    OpBuilder builder(op);
    auto extended = builder.create<ManualOp>(op.getLoc(), results, op.getInputs(), op.getManualAttr());
    extended.getBody().takeBody(op.getBody());
    unsigned next = op->getNumResults();
    for (Value value : values)
      outside.push_back(isOperand(value, &extended.getBlock())
                            ? extended.getInputs()[cast<BlockArgument>(value).getArgNumber()]
                            : Value(extended.getOutputs()[next++]));
    return extended;
  }

  ArrayRef<Value> getOutside() const { return outside; }

private:
  bool isOperand(Value value) { return isOperand(value, &op.getBlock()); }
  static bool isOperand(Value value, Block *block) {
    return isa<BlockArgument>(value) && value.getParentBlock() == block;
  }

  ManualOp op;
  ArrayRef<Value> values;
  SmallVector<ArrayType> types;
  SmallVector<Value> outside;
};

} // namespace

Value ReverseSweep::reduceOver(OpBuilder &builder, Value cotangent, const Axes &axes) const {
  AxesAttr attr = axesAttrOf(derivative.mesh, axes);
  std::string why =
      "backward pass: the cotangent of a value that does not vary over " + quoted(axes) + " is a sum over devices";
  return builder.create<AllReduceOp>(cotangent.getLoc(), plainTypeOf(cotangent), cotangent, ReductionKind::sum, attr,
                                     builder.getStringAttr(why));
}

void ReverseSweep::keepCollectivesOut(IfOp op, OpBuilder &builder, MutableArrayRef<Value> seeds) {
  VaryingAxes &varying = *derivative.varying;
  Axes all = varying.ofAll(op);
  varying.setInside(op, all);
  for (auto [seed, result] : llvm::zip(seeds, op.getOutputs())) {
    Axes others = derivative.missing(all, result);
    if (!seed || others.empty())
      continue;
    Location loc = getDerivativeLoc(op);
    auto indexType = ArrayType::get({}, builder.getI32Type());
    Value index = builder.create<AxisIndexOp>(loc, indexType, axesAttrOf(derivative.mesh, others));
    Value isFirst = builder.create<CompareOp>(loc, indexType.withElementType(builder.getI1Type()), index,
                                              createZero(builder, loc, indexType), ComparisonDirection::eq);
    ArrayType type = plainTypeOf(seed);
    Value mask =
        builder.create<BroadcastInDimOp>(loc, type.withElementType(builder.getI1Type()), isFirst, ArrayRef<int64_t>());
    seed = builder.create<SelectOp>(loc, type, mask, seed, createZero(builder, loc, type));
  }
}

/// The result of an all_gather may be the same on all devices of the group. Then each device takes its shard of a
/// cotangent that is the same, too; a cotangent of per-device contributions is reduced and scattered.
void ReverseSweep::differentiateGather(AllGatherOp op, OpBuilder &builder) {
  Location loc = getDerivativeLoc(op);
  Axes group = namesOf(op.getAxes());
  ArrayType shard = plainTypeOf(op.getOperand());
  for (auto [axes, part] : Parts(cotangents.lookup(op.getResult()))) {
    Axes left = axes, common;
    for (const std::string &axis : group)
      if (left.erase(axis))
        common.insert(axis);
    Value cotangent = part;
    if (common == group) {
      cotangent = builder.create<ReduceScatterOp>(loc, shard, cotangent, ReductionKind::sum, op.getDim(), op.getAxes(),
                                                  builder.getStringAttr("backward pass of all_gather"));
    } else {
      if (!common.empty())
        cotangent = reduceOver(builder, cotangent, common);
      cotangent = op.buildCotangents(builder, loc, cotangent, {true}).front();
    }
    Axes varied = derivative.varying->ofOperands(op);
    varied.insert(left.begin(), left.end());
    add(builder, op.getOperand(), cotangent, derivative.missing(varied, op.getOperand()));
  }
}

/// The cotangents of the shards are gathered, if the operand was the same on all devices; otherwise returns false.
bool ReverseSweep::differentiateSlice(AllSliceOp op, OpBuilder &builder) {
  Axes varied = derivative.varying->of(op.getResult());
  for (const std::string &axis : namesOf(op.getAxes())) {
    if (derivative.varying->of(op.getOperand()).count(axis))
      return false;
    varied.erase(axis);
  }
  Value cotangent = builder.create<AllGatherOp>(getDerivativeLoc(op), plainTypeOf(op.getOperand()),
                                                getCotangent(builder, op.getResult()), op.getDim(), op.getAxes(),
                                                builder.getStringAttr("backward pass of all_slice"));
  add(builder, op.getOperand(), cotangent, derivative.missing(varied, op.getOperand()));
  return true;
}

LogicalResult ReverseSweep::differentiateManual(ManualOp op, OpBuilder &builder) {
  Location loc = getDerivativeLoc(op);
  // The varying axes of an outer manual region include those of this one.
  bool isNested = derivative.varying.has_value();
  if (!isNested)
    derivative.varying.emplace(op);
  auto restore = llvm::make_scope_exit([&] {
    if (!isNested)
      derivative.varying.reset();
  });
  Workspace workspace(builder, op);
  Block &block = workspace.getBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  ReverseSweep sweep(derivative);
  SmallVector<Value> inputs;
  for (auto [output, yielded] : llvm::zip(op.getOutputs(), op.getBlock().getTerminator()->getOperands())) {
    Value cotangent = getCotangent(builder, output);
    if (!cotangent)
      continue;
    auto type = cast<ArrayType>(output.getType());
    // A constraint of its own, because other uses of the cotangent may be sharded over manual axes.
    if (cotangent.getType() != type || op.hasAutomaticAxes())
      cotangent = builder.create<ConstraintOp>(loc, type, cotangent);
    inputs.push_back(cotangent);
    Value shard = block.addArgument(op.getLocalType(type).withoutSharding(), loc);
    sweep.add(inner, yielded, shard, derivative.missing(VaryingAxes::getShardingAxes(op.getManualPart(type)), yielded));
  }
  if (failed(sweep.run(op.getBlock(), inner)))
    return failure();

  SmallVector<Value> reached, yielded;
  SmallVector<Type> types;
  for (auto [input, argument] : llvm::zip(op.getInputs(), op.getBlock().getArguments()))
    if (Value cotangent = sweep.getCotangent(inner, argument)) {
      reached.push_back(input);
      yielded.push_back(cotangent);
      types.push_back(input.getType());
    }
  if (reached.empty())
    return success();
  inner.create<ManualYieldOp>(loc, yielded);

  eraseDead(block);
  Residuals residuals(op.getBlock(), block);
  CrossRegionValues crossing(op, residuals.getKept());
  ManualOp extended = crossing.extend();
  replaceForward(derivative, op, extended);
  SmallVector<Value> shards;
  for (Value value : crossing.getOutside()) {
    inputs.push_back(value);
    shards.push_back(block.addArgument(extended.getLocalType(cast<ArrayType>(value.getType())).withoutSharding(), loc));
  }
  residuals.substitute([&](OpBuilder &reader, unsigned index) -> Value {
    ArrayType type = plainTypeOf(residuals.getKept()[index]);
    Value shard = shards[index];
    return shard.getType() == type ? shard : reader.create<ReshapeOp>(loc, type, shard).getResult();
  });
  auto backward = builder.create<ManualOp>(loc, types, inputs, extended.getManualAttr());
  backward.getBody().takeBody(workspace.getRegion());
  for (auto [input, cotangent] : llvm::zip(reached, backward.getOutputs()))
    add(builder, input, cotangent);
  return success();
}

} // namespace spmdc
