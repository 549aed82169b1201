//===- ManualDerivatives.cpp - cotangents through shard_map ---------------===//
//
// The backward pass of a manual region is another one: it takes the pieces of the results' cotangents, and what the
// forward region hands out for it, and yields the pieces of the operands' cotangents. Transposes are those of JAX's
// varying types: where a value that is the same over an axis is used by each device in its own way, its cotangent sums
// what the devices contribute.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/RegionDerivatives.h"
#include "passes/differentiate/Residuals.h"
#include "passes/differentiate/ReverseSweep.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace spmdc {
namespace {

/// These axes, in the order of the mesh.
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

/// Hands values of a manual region to another one: as pieces of an array whose first dimension is cut over all of the
/// region's axes that the value varies over.
class HandedOver {
public:
  HandedOver(ManualOp op, ArrayRef<Value> values) : op(op), values(values) {
    // Nothing outside varies over the region's own axes.
    VaryingAxes varying(op);
    MeshAttr mesh = getMesh(op);
    for (Value value : values) {
      auto piece = cast<ArrayType>(value.getType()).withoutSharding();
      VaryingAxes::Axes axes;
      for (AxisRefAttr axis : op.getOwnAxes())
        if (varying.of(value).count(axis.getName().str()))
          axes.insert(axis.getName().str());
      if (isOperand(value) || (piece.getRank() == 0 && axes.empty())) {
        types.push_back(piece);
        continue;
      }
      SmallVector<int64_t> shape(piece.getShape());
      if (shape.empty())
        shape.push_back(1);
      AxesAttr cut = axesAttrOf(mesh, axes);
      for (const spmd::AxisRef &axis : cut.toValues())
        shape[0] *= axis.sizeIn(mesh.toValue());
      bool isClosed = !op.hasAutomaticAxes();
      SmallVector<DimShardingAttr> dims(shape.size(), DimShardingAttr::get(op.getContext(), {}, isClosed));
      dims[0] = DimShardingAttr::get(op.getContext(), cut.getAxes(), isClosed);
      types.push_back(piece.withShape(shape).withSharding(ShardingAttr::get(op.getContext(), dims, {})));
    }
  }

  /// The operation with results for all values that are no operands.
  ManualOp extend() {
    SmallVector<Type> results(op.getResultTypes());
    auto yield = cast<ManualYieldOp>(op.getBlock().getTerminator());
    OpBuilder inner(yield);
    for (auto [value, type] : llvm::zip(values, types)) {
      if (isOperand(value))
        continue;
      ArrayType local = op.getPiece(type).withoutSharding();
      Value piece = value;
      if (local != value.getType())
        piece = inner.create<ReshapeOp>(value.getLoc(), local, value);
      yield->insertOperands(yield->getNumOperands(), piece);
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
      "the cotangent of a value that is the same over " + quoted(axes) + " sums what all devices add to it";
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

/// What is gathered is the same on all devices of the group: each takes its own piece of a cotangent that is, too, and
/// where every device has a part of the cotangent, the pieces of the sum are scattered.
void ReverseSweep::differentiateGather(AllGatherOp op, OpBuilder &builder) {
  Location loc = getDerivativeLoc(op);
  Axes group = namesOf(op.getAxes());
  ArrayType piece = plainTypeOf(op.getOperand());
  for (auto [axes, part] : Parts(cotangents.lookup(op.getResult()))) {
    Axes left = axes, common;
    for (const std::string &axis : group)
      if (left.erase(axis))
        common.insert(axis);
    Value cotangent = part;
    if (common == group) {
      cotangent = builder.create<ReduceScatterOp>(
          loc, piece, cotangent, ReductionKind::sum, op.getDim(), op.getAxes(),
          builder.getStringAttr("the cotangent of 'all_gather' is scattered as its operand was"));
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

/// The pieces of what was the same on all devices are gathered. False where it was not.
bool ReverseSweep::differentiateSlice(AllSliceOp op, OpBuilder &builder) {
  Axes varied = derivative.varying->of(op.getResult());
  for (const std::string &axis : namesOf(op.getAxes())) {
    if (derivative.varying->of(op.getOperand()).count(axis))
      return false;
    varied.erase(axis);
  }
  Value cotangent = builder.create<AllGatherOp>(getDerivativeLoc(op), plainTypeOf(op.getOperand()),
                                                getCotangent(builder, op.getResult()), op.getDim(), op.getAxes(),
                                                builder.getStringAttr("the cotangent of pieces is gathered"));
  add(builder, op.getOperand(), cotangent, derivative.missing(varied, op.getOperand()));
  return true;
}

LogicalResult ReverseSweep::differentiateManual(ManualOp op, OpBuilder &builder) {
  Location loc = getDerivativeLoc(op);
  // What is known of a region around is known of this one, too.
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
    // A value of its own: what else is done with the cotangent may be cut over manual axes.
    if (cotangent.getType() != type || op.hasAutomaticAxes())
      cotangent = builder.create<ConstraintOp>(loc, type, cotangent);
    inputs.push_back(cotangent);
    Value piece = block.addArgument(op.getPiece(type).withoutSharding(), loc);
    sweep.add(inner, yielded, piece, derivative.missing(VaryingAxes::getCutting(op.getManualPart(type)), yielded));
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
  HandedOver handed(op, residuals.getKept());
  ManualOp extended = handed.extend();
  replaceForward(derivative, op, extended);
  SmallVector<Value> pieces;
  for (Value value : handed.getOutside()) {
    inputs.push_back(value);
    pieces.push_back(block.addArgument(extended.getPiece(cast<ArrayType>(value.getType())).withoutSharding(), loc));
  }
  residuals.substitute([&](OpBuilder &reader, unsigned index) -> Value {
    ArrayType type = plainTypeOf(residuals.getKept()[index]);
    Value piece = pieces[index];
    return piece.getType() == type ? piece : reader.create<ReshapeOp>(loc, type, piece).getResult();
  });
  auto backward = builder.create<ManualOp>(loc, types, inputs, extended.getManualAttr());
  backward.getBody().takeBody(workspace.getRegion());
  for (auto [input, cotangent] : llvm::zip(reached, backward.getOutputs()))
    add(builder, input, cotangent);
  return success();
}

} // namespace spmdc
