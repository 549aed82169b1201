//===- CollectiveDerivatives.cpp - cotangents of collectives --------------===//
//
// Transposes as in JAX's varying types. The operand varies over the axes (the sweep treats a value that does not as one
// that does, and sums its cotangent); the result of a reduction does not vary, nor does its cotangent.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/Formula.h"

using namespace mlir;

namespace spmdc {

/// Each device's addend of a sum counts once; devices that have the extreme share its cotangent.
SmallVector<Value> AllReduceOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  if (getKind() == ReductionKind::sum)
    return {cotangent};
  if (getKind() == ReductionKind::max || getKind() == ReductionKind::min) {
    ArrayType type = plainTypeOf(getOperand());
    Term isExtreme =
        convert(equal(Term(builder, loc, getOperand()), Term(builder, loc, getResult())), type.getElementType());
    Term count(builder, loc,
               builder.create<AllReduceOp>(
                   loc, type, isExtreme, ReductionKind::sum, getAxes(),
                   builder.getStringAttr(
                       "backward pass of pmax and pmin: devices with the extreme element share its cotangent")));
    return {isExtreme * (Term(builder, loc, cotangent) / count)};
  }
  return {};
}

SmallVector<Value> ReduceScatterOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  if (getKind() != ReductionKind::sum)
    return {};
  return {builder.create<AllGatherOp>(
      loc, plainTypeOf(getOperand()), cotangent, getDim(), getAxes(),
      builder.getStringAttr("backward pass of psum_scatter: each device contributed to all shards"))};
}

/// The gathered array is the same on all devices, and so is its cotangent: each device slices its own shard of it.
SmallVector<Value> AllGatherOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  return {builder.create<AllSliceOp>(loc, plainTypeOf(getOperand()), cotangent, getDim(), getAxes())};
}

/// Zero except for the device's own shard.
SmallVector<Value> AllSliceOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  ArrayType type = plainTypeOf(getOperand()), indexType = ArrayType::get({}, builder.getI32Type());
  auto dim = static_cast<int64_t>(getDim());
  Value index = builder.create<AxisIndexOp>(loc, indexType, getAxes());
  Value size = builder.create<ConstantOp>(loc, indexType, Scalar::ofInt(plainTypeOf(cotangent).getDimSize(dim)));
  SmallVector<Value> starts(type.getRank(), builder.create<ConstantOp>(loc, indexType, Scalar::ofInt(0)));
  starts[dim] = builder.create<MultiplyOp>(loc, indexType, index, size);
  Value zeros = builder.create<ConstantOp>(loc, type, Scalar::ofFloat(0));
  return {builder.create<DynamicUpdateSliceOp>(loc, zeros, cotangent, starts)};
}

SmallVector<Value> AllToAllOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  return {builder.create<AllToAllOp>(loc, plainTypeOf(getOperand()), cotangent, getConcat(), getSplit(), getAxes(),
                                     builder.getStringAttr("backward pass of all_to_all"))};
}

SmallVector<Value> CollectivePermuteOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent,
                                                        ArrayRef<bool>) {
  SmallVector<int64_t> back;
  for (size_t i = 0; i < getPairs().size(); i += 2)
    back.append({getPairs()[i + 1], getPairs()[i]});
  return {builder.create<CollectivePermuteOp>(loc, plainTypeOf(getOperand()), cotangent, back, getAxes(),
                                              builder.getStringAttr("backward pass of ppermute"))};
}

} // namespace spmdc
