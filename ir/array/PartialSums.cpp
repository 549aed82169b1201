//===- PartialSums.cpp - operations that leave partial sums ---------------===//

#include "ir/array/PartialSums.h"

using namespace mlir;

namespace spmdc {

bool combinesElements(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReductionKind::sum || reduce.getKind() == ReductionKind::prod;
  return isa<DotGeneralOp, EinsumOp, ScatterAddOp, ScatterAddAlongOp>(op);
}

Value getBroadcastSource(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastInDimOp>())
    value = broadcast.getOperand();
  return value;
}

bool isUniform(Value value) {
  value = getBroadcastSource(value);
  auto constant = value.getDefiningOp<ConstantOp>();
  return cast<ArrayType>(value.getType()).getRank() == 0 || (constant && constant.getValue().isSplat());
}

Value convertTo(OpBuilder &builder, Location loc, Value value, Type elementType) {
  ArrayType type = cast<ArrayType>(value.getType()).withElementType(elementType);
  return type == value.getType() ? value : builder.create<ConvertOp>(loc, type, value).getResult();
}

Value makeZeros(OpBuilder &builder, Value zero, ArrayType type) {
  auto constant = zero.getDefiningOp<ConstantOp>();
  Scalar splat;
  if (isa<FloatType>(type.getElementType()))
    splat = Scalar::ofFloat(constant.getValue().getSplatValue<APFloat>().convertToDouble());
  return builder.create<ConstantOp>(zero.getLoc(), type, splat);
}

} // namespace spmdc
