//===- CollectiveDerivatives.cpp - cotangents of what devices do together -===//
//
// Transposes as JAX's varying types have them. The operand varies over the axes (a value that does not is taken for one
// that does, and its cotangent summed by the sweep); the result of a reduction does not vary, nor does its cotangent.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/Formula.h"

using namespace mlir;

namespace spmdc {

static ArrayType plainTypeOf(Value value) { return cast<ArrayType>(value.getType()).withoutSharding(); }

/// Each device's part of a sum counts once; devices that have the extreme share.
SmallVector<Value> AllReduceOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  if (getKind() == ReductionKind::sum)
    return {cotangent};
  if (getKind() == ReductionKind::max || getKind() == ReductionKind::min) {
    ArrayType type = plainTypeOf(getOperand());
    Term isExtreme =
        convert(equal(Term(builder, loc, getOperand()), Term(builder, loc, getResult())), type.getElementType());
    Term count(builder, loc,
               builder.create<AllReduceOp>(loc, type, isExtreme, ReductionKind::sum, getAxes(),
                                           builder.getStringAttr("devices that have the extreme share its cotangent")));
    return {isExtreme * (Term(builder, loc, cotangent) / count)};
  }
  return {};
}

SmallVector<Value> ReduceScatterOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  if (getKind() != ReductionKind::sum)
    return {};
  return {builder.create<AllGatherOp>(
      loc, plainTypeOf(getOperand()), cotangent, getDim(), getAxes(),
      builder.getStringAttr("the cotangent of 'psum_scatter' is gathered: each device has a part of all pieces"))};
}

/// The gathered array is the same on all devices, and so is its cotangent: each has its own piece of it.
SmallVector<Value> AllGatherOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  return {builder.create<AllSliceOp>(loc, plainTypeOf(getOperand()), cotangent, getDim(), getAxes())};
}

/// Zero but for the device's own piece.
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
                                     builder.getStringAttr("the cotangent of 'all_to_all' goes back"))};
}

SmallVector<Value> CollectivePermuteOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent,
                                                        ArrayRef<bool>) {
  SmallVector<int64_t> back;
  for (size_t i = 0; i < getPairs().size(); i += 2)
    back.append({getPairs()[i + 1], getPairs()[i]});
  return {builder.create<CollectivePermuteOp>(loc, plainTypeOf(getOperand()), cotangent, back, getAxes(),
                                              builder.getStringAttr("the cotangent of 'ppermute' goes back"))};
}

} // namespace spmdc
