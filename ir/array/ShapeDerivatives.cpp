//===- ShapeDerivatives.cpp - cotangents of operations that move elements -===//
//
// All of them are linear, so the cotangent is their transpose: repeated elements are summed, dropped ones are zero.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/Formula.h"

using namespace mlir;

namespace spmdc {
namespace {

Value createZero(OpBuilder &builder, Location loc, ArrayType type) {
  return builder.create<ConstantOp>(loc, type, Scalar::ofFloat(0));
}

/// Zeros around and between the elements; negative `low` and `high` remove elements.
Value padWithZeros(OpBuilder &builder, Location loc, Value operand, ArrayType type, ArrayRef<int64_t> low,
                   ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  Value zero = createZero(builder, loc, ArrayType::get({}, type.getElementType()));
  return builder.create<PadOp>(loc, type, operand, zero, low, high, interior);
}

Value sumOverAll(OpBuilder &builder, Location loc, Value operand) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, plainTypeOf(operand).getRank()));
  return dims.empty() ? operand : builder.create<ReduceOp>(loc, operand, ReductionKind::sum, dims).getResult();
}

} // namespace

SmallVector<Value> BroadcastInDimOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent,
                                                     ArrayRef<bool>) {
  ArrayType operand = plainTypeOf(getOperand());
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < getType().getRank(); ++dim) {
    const int64_t *source = llvm::find(getDims(), dim);
    bool isKept =
        source != getDims().end() && operand.getDimSize(source - getDims().begin()) == getType().getDimSize(dim);
    if (!isKept)
      repeated.push_back(dim);
  }
  Value sum = cotangent;
  if (!repeated.empty())
    sum = builder.create<ReduceOp>(loc, sum, ReductionKind::sum, repeated);
  if (plainTypeOf(sum) != operand) // Sum over repeated dimensions of size 1, then reshape.
    sum = builder.create<ReshapeOp>(loc, operand, sum);
  return {sum};
}

SmallVector<Value> ReshapeOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  return {builder.create<ReshapeOp>(loc, plainTypeOf(getOperand()), cotangent)};
}

SmallVector<Value> TransposeOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [to, from] : llvm::enumerate(getPerm()))
    inverse[from] = static_cast<int64_t>(to);
  return {builder.create<TransposeOp>(loc, plainTypeOf(getOperand()), cotangent, inverse)};
}

SmallVector<Value> SliceOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  ArrayType operand = plainTypeOf(getOperand());
  if (getType().getNumElements() == 0)
    return {createZero(builder, loc, operand)};
  SmallVector<int64_t> high, interior;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t last = getStarts()[dim] + (getType().getDimSize(dim) - 1) * getStrides()[dim];
    high.push_back(operand.getDimSize(dim) - 1 - last);
    interior.push_back(getStrides()[dim] - 1);
  }
  return {padWithZeros(builder, loc, cotangent, operand, getStarts(), high, interior)};
}

SmallVector<Value> PadOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool> isNeeded) {
  // Removes the padding around the elements (adds zeros for removed elements), then skips the padding between them.
  ArrayType operand = plainTypeOf(getOperand());
  Value inner;
  if (operand.getNumElements() == 0) {
    inner = createZero(builder, loc, operand);
  } else {
    SmallVector<int64_t> low, high, none(operand.getRank()), strides, shape;
    for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
      low.push_back(-getLow()[dim]);
      high.push_back(-getHigh()[dim]);
      strides.push_back(getInterior()[dim] + 1);
      shape.push_back((operand.getDimSize(dim) - 1) * strides.back() + 1);
    }
    inner = padWithZeros(builder, loc, cotangent, operand.withShape(shape), low, high, none);
    inner = builder.create<SliceOp>(loc, inner, none, shape, strides);
  }
  Value value;
  if (isNeeded[1]) {
    Value all = sumOverAll(builder, loc, cotangent), kept = sumOverAll(builder, loc, inner);
    value = builder.create<SubtractOp>(loc, all, kept);
  }
  return {isNeeded[0] ? inner : Value(), value};
}

SmallVector<Value> ConcatenateOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent,
                                                  ArrayRef<bool> isNeeded) {
  SmallVector<Value> cotangents;
  SmallVector<int64_t> starts(getType().getRank()), strides(getType().getRank(), 1);
  for (auto [operand, needed] : llvm::zip(getOperands(), isNeeded)) {
    SmallVector<int64_t> limits(getType().getShape());
    limits[getDim()] = starts[getDim()] + plainTypeOf(operand).getDimSize(getDim());
    cotangents.push_back(needed ? builder.create<SliceOp>(loc, cotangent, starts, limits, strides).getResult()
                                : Value());
    starts[getDim()] = limits[getDim()];
  }
  return cotangents;
}

SmallVector<Value> ReverseOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  return {builder.create<ReverseOp>(loc, plainTypeOf(cotangent), cotangent, getDims())};
}

} // namespace spmdc
