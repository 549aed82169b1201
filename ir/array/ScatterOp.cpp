//===- ScatterOp.cpp - a scatter that is no sum ---------------------------===//

#include "ir/array/ScatterOp.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/Positions.h"
#include "ir/array/ScalarEvaluation.h"
#include "ir/array/Verification.h"

using namespace mlir;

#include "ir/array/ScatterEnums.cpp.inc"

#define GET_OP_CLASSES
#include "ir/array/ScatterOp.cpp.inc"

namespace spmdc {

std::optional<ReductionKind> getReductionKind(ScatterKind kind) {
  return kind == ScatterKind::replace ? std::nullopt : symbolizeReductionKind(stringifyScatterKind(kind));
}

std::optional<ScatterKind> getScatterKind(ReductionKind kind) {
  return symbolizeScatterKind(stringifyReductionKind(kind));
}

namespace {

/// The dimensions of the indices in the updates.
bool isIndexed(ScatterOp op, int64_t dim) {
  auto first = static_cast<int64_t>(op.getDim());
  int64_t count = op.getAlong() ? 1 : op.getIndices().getType().getRank();
  return dim >= first && dim < first + count;
}

/// Whether devices may combine the operand with some of the updates each: combining it again changes nothing.
bool isIdempotent(ScatterKind kind) { return kind != ScatterKind::replace && kind != ScatterKind::prod; }

} // namespace

LogicalResult ScatterOp::verify() {
  ArrayType operand = getOperand().getType(), indices = getIndices().getType(), updates = getUpdates().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, operand.getRank(), "dimension")))
    return failure();
  SmallVector<int64_t> shape(operand.getShape());
  if (!getAlong())
    shape = TakeOp::inferShape(operand, indices, dim);
  else if (indices.getRank() == operand.getRank())
    shape[dim] = indices.getDimSize(dim);
  if (!isPositionType(indices.getElementType()) || !holdsPositions(indices.getElementType(), operand.getDimSize(dim)))
    return emitOpError() << "indices of " << operand.getDimSize(dim) << " elements must be i32 or i64, got "
                         << indices.withoutSharding().str();
  if (getAlong() && indices.getShape() != ArrayRef<int64_t>(shape))
    return emitOpError() << "indices " << indices.withoutSharding().str() << " and operand "
                         << operand.withoutSharding().str() << " must agree in all dimensions but " << dim;
  if (updates.withoutSharding() != ArrayType::get(shape, operand.getElementType()))
    return emitOpError() << "updates must be " << ArrayType::get(shape, operand.getElementType()).str() << ", got "
                         << updates.withoutSharding().str();
  bool combinesBits = getKind() == ScatterKind::and_ || getKind() == ScatterKind::or_;
  if (combinesBits && isa<FloatType>(operand.getElementType()))
    return emitOpError() << "combines bits of integers and bools, got " << operand.withoutSharding().str();
  return verifyResult(*this, operand.getShape(), operand.getElementType());
}

ShardingRule ScatterOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, indices, updates;
  FactorKind updateKind = isIdempotent(getKind()) ? FactorKind::Reduction : FactorKind::NeedReplication;
  auto dim = static_cast<int64_t>(getDim());
  for (auto [d, size] : llvm::enumerate(getType().getShape())) {
    operand.push_back({rule.addFactor(size)});
    if (static_cast<int64_t>(d) != dim) {
      updates.push_back(operand.back());
      continue;
    }
    for (int64_t u = dim; isIndexed(*this, u); ++u)
      updates.push_back({rule.addFactor(getUpdates().getType().getDimSize(u), updateKind)});
  }
  for (auto [u, factor] : llvm::enumerate(updates))
    if (getAlong() || isIndexed(*this, static_cast<int64_t>(u)))
      indices.push_back(factor);
  rule.operands = {operand, indices, updates};
  rule.results = {operand};
  return rule;
}

/// Each device combines the updates of its own shard.
Value ScatterOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType) {
  LocalBuilder local(b, getLoc());
  auto dim = static_cast<int64_t>(getDim());
  Value indices = operands[1];
  if (ArrayRef<AxisRefAttr> axes = axesOf(getOperand(), dim); !axes.empty())
    indices = local.offset(indices, local.shardStart(getType().getDimSize(dim), axes), /*isSubtracted=*/true);
  return b.create<ScatterOp>(getLoc(), operands[0].getType(), operands[0], indices, operands[2], getKind(), dim,
                             getAlong(), getUnique());
}

/// Updates from padding are outside.
TypedAttr ScatterOp::getPaddingValue(unsigned operand) {
  return operand == 1 ? IntegerAttr::get(getIndices().getType().getElementType(), -1) : TypedAttr();
}

ReductionKind ScatterOp::getReductionKind() {
  return isIdempotent(getKind()) ? *spmdc::getReductionKind(getKind()) : ReductionKind::sum;
}

/// Products of floats are in double precision, rounded once.
Tensor ScatterOp::evaluate(ArrayRef<Tensor> operands) {
  Tensor result = operands[0];
  const Tensor &indices = operands[1], &updates = operands[2];
  Type type = result.elementType;
  auto dim = static_cast<int64_t>(getDim());
  SmallVector<int64_t> at(updates.shape.size()), place;
  if (elementCount(updates.shape) == 0)
    return result;
  do {
    SmallVector<int64_t> target;
    place.clear();
    for (auto [d, position] : llvm::enumerate(at)) {
      bool isIndex = isIndexed(*this, static_cast<int64_t>(d));
      if (getAlong() || isIndex)
        place.push_back(position);
      if (!isIndex)
        target.push_back(position);
    }
    target.insert(target.begin() + dim, indices.at(place).i);
    if (target[dim] < 0 || target[dim] >= result.shape[dim])
      continue;
    Scalar &element = result.at(target), update = updates.at(at);
    std::optional<ReductionKind> kind = spmdc::getReductionKind(getKind());
    element = kind ? evaluateReduction(type, *kind, element, update) : update;
    if (kind && !isa<FloatType>(type))
      element = roundTo(element, type);
  } while (nextIndex(at, updates.shape));
  if (isa<FloatType>(type))
    for (Scalar &element : result.elements)
      element = roundTo(element, type);
  return result;
}

} // namespace spmdc
