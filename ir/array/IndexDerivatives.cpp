//===- IndexDerivatives.cpp - cotangents of run-time indexing -------------===//
//
// The transpose of a read at an index is an addition there, and the transpose of an addition is a read. Clamping is
// repeated; dropped elements get zero.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"

using namespace mlir;

namespace spmdc {
namespace {

Value createZero(OpBuilder &b, Location loc, Value like) {
  return b.create<ConstantOp>(loc, plainTypeOf(like), Scalar::ofFloat(0));
}

Value createIndex(OpBuilder &b, Location loc, Value like, int64_t value) {
  return b.create<ConstantOp>(loc, plainTypeOf(like), Scalar::ofInt(value));
}

/// Clamps indices as a reading operation does.
Value clampIndices(OpBuilder &b, Location loc, Value indices, int64_t size) {
  return b.create<ClampOp>(loc, plainTypeOf(indices), createIndex(b, loc, indices, 0), indices,
                           createIndex(b, loc, indices, std::max<int64_t>(size - 1, 0)));
}

/// `taken` where the index is inside, else 0; the dimensions of the indices are `dims` of `taken`.
Value zeroOutside(OpBuilder &b, Location loc, Value taken, Value indices, int64_t size, ArrayRef<int64_t> dims) {
  auto flags = plainTypeOf(indices).withElementType(b.getI1Type());
  Value fromLow = b.create<CompareOp>(loc, flags, indices, createIndex(b, loc, indices, 0), ComparisonDirection::ge);
  Value belowHigh =
      b.create<CompareOp>(loc, flags, indices, createIndex(b, loc, indices, size), ComparisonDirection::lt);
  Value isInside = b.create<AndOp>(loc, flags, fromLow, belowHigh);
  ArrayType type = plainTypeOf(taken);
  Value mask = b.create<BroadcastInDimOp>(loc, type.withElementType(b.getI1Type()), isInside, dims);
  return b.create<SelectOp>(loc, type, mask, taken, createZero(b, loc, taken));
}

SmallVector<int64_t> dimsFrom(int64_t first, int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(first, first + count));
}

/// The cotangent of a read: the cotangents of the taken elements, added at their positions.
template <typename Add, typename Take>
SmallVector<Value> addBack(Take op, OpBuilder &b, Location loc, Value cotangent) {
  auto dim = static_cast<int64_t>(op.getDim());
  Value indices = clampIndices(b, loc, op.getIndices(), op.getOperand().getType().getDimSize(dim));
  return {b.create<Add>(loc, createZero(b, loc, op.getOperand()), indices, cotangent, dim), Value()};
}

/// The cotangent of an addition: read at the positions of the updates; `dims` are those of the indices in the updates.
template <typename Take, typename Add>
SmallVector<Value> takeBack(Add op, OpBuilder &b, Location loc, Value cotangent, ArrayRef<bool> isNeeded,
                            ArrayRef<int64_t> dims) {
  SmallVector<Value> cotangents{isNeeded[0] ? cotangent : Value(), Value(), Value()};
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t size = op.getType().getDimSize(dim);
  if (isNeeded[2] && size == 0)
    cotangents[2] = createZero(b, loc, op.getUpdates());
  else if (isNeeded[2])
    cotangents[2] =
        zeroOutside(b, loc, b.create<Take>(loc, cotangent, op.getIndices(), dim), op.getIndices(), size, dims);
  return cotangents;
}

} // namespace

SmallVector<Value> DynamicSliceOp::buildCotangents(OpBuilder &b, Location loc, Value cotangent, ArrayRef<bool>) {
  SmallVector<Value> cotangents(getOperation()->getNumOperands());
  cotangents[0] = b.create<DynamicUpdateSliceOp>(loc, createZero(b, loc, getOperand()), cotangent, getStarts());
  return cotangents;
}

SmallVector<Value> DynamicUpdateSliceOp::buildCotangents(OpBuilder &b, Location loc, Value cotangent,
                                                         ArrayRef<bool> isNeeded) {
  SmallVector<Value> cotangents(getOperation()->getNumOperands());
  if (isNeeded[0])
    cotangents[0] = b.create<DynamicUpdateSliceOp>(loc, cotangent, createZero(b, loc, getUpdate()), getStarts());
  if (isNeeded[1])
    cotangents[1] = b.create<DynamicSliceOp>(loc, cotangent, getStarts(), getUpdate().getType().getShape());
  return cotangents;
}

SmallVector<Value> TakeOp::buildCotangents(OpBuilder &b, Location loc, Value cotangent, ArrayRef<bool>) {
  return addBack<ScatterAddOp>(*this, b, loc, cotangent);
}

SmallVector<Value> TakeAlongOp::buildCotangents(OpBuilder &b, Location loc, Value cotangent, ArrayRef<bool>) {
  return addBack<ScatterAddAlongOp>(*this, b, loc, cotangent);
}

SmallVector<Value> ScatterAddOp::buildCotangents(OpBuilder &b, Location loc, Value cotangent, ArrayRef<bool> isNeeded) {
  auto first = static_cast<int64_t>(getDim());
  return takeBack<TakeOp>(*this, b, loc, cotangent, isNeeded, dimsFrom(first, getIndices().getType().getRank()));
}

SmallVector<Value> ScatterAddAlongOp::buildCotangents(OpBuilder &b, Location loc, Value cotangent,
                                                      ArrayRef<bool> isNeeded) {
  return takeBack<TakeAlongOp>(*this, b, loc, cotangent, isNeeded, dimsFrom(0, getType().getRank()));
}

} // namespace spmdc
