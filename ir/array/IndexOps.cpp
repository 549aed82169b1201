//===- IndexOps.cpp - builders and verifiers of run-time indexing ---------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/Positions.h"
#include "ir/array/Verification.h"
#include "ir/spmd/DefinitionNotes.h"
#include "ir/spmd/ReducePrecision.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Verifies the type of indices along a dimension of `size` elements.
LogicalResult verifyIndices(Operation *op, Value indices, int64_t size) {
  ArrayType type = typeOf(indices);
  if (!isPositionType(type.getElementType()))
    return op->emitOpError() << "indices must be i32 or i64, got " << type.withoutSharding().str();
  if (!holdsPositions(type.getElementType(), size))
    return op->emitOpError() << "indices along a dimension of " << size << " elements must be i64, got "
                             << type.withoutSharding().str();
  return success();
}

/// Verifies one start, i32[] or i64[], for each dimension, and a window that fits.
LogicalResult verifyWindow(Operation *op, ArrayType operand, ValueRange starts, ArrayRef<int64_t> sizes) {
  if (static_cast<int64_t>(starts.size()) != operand.getRank() ||
      static_cast<int64_t>(sizes.size()) != operand.getRank())
    return op->emitOpError("requires a start and a size for each dimension");
  for (auto [dim, start, size] : llvm::enumerate(starts, sizes)) {
    if (typeOf(start).getRank() != 0)
      return op->emitOpError() << "start " << dim << " is " << typeOf(start).withoutSharding().str()
                               << ", not a scalar";
    if (failed(verifyIndices(op, start, operand.getDimSize(dim))))
      return failure();
    if (size < 0 || size > operand.getDimSize(dim))
      return op->emitOpError() << "a window of " << size << " elements does not fit into dimension " << dim << " of "
                               << operand.withoutSharding().str();
  }
  return success();
}

/// Verifies that the dimension has elements, so that indices can be clamped.
LogicalResult verifyNotEmpty(Operation *op, ArrayType operand, int64_t dim) {
  if (operand.getDimSize(dim) == 0 && typeOf(op->getResult(0)).getNumElements() != 0)
    return op->emitOpError() << "dimension " << dim << " of " << operand.withoutSharding().str()
                             << " is empty: it has no element to take";
  return success();
}

/// Verifies indices or updates along a dimension: they have the shape of the operand except for `dim`.
LogicalResult verifyAlong(Operation *op, Value array, Value indicesOrUpdates, int64_t dim) {
  ArrayType operand = typeOf(array), indices = typeOf(indicesOrUpdates);
  SmallVector<int64_t> expected(operand.getShape());
  if (indices.getRank() == operand.getRank())
    expected[dim] = indices.getDimSize(dim);
  if (indices.getShape() != ArrayRef<int64_t>(expected))
    return failWithDefinitions(op->emitOpError()
                                   << "indices " << indices.withoutSharding().str() << " and operand "
                                   << operand.withoutSharding().str() << " must agree in all dimensions but " << dim,
                               {{indicesOrUpdates, "the array of indices"}, {array, "the operand"}});
  return success();
}

/// Verifies updates: they have the operand's element type; those of 16-bit floats may be added to partial sums in f32.
LogicalResult verifyUpdates(Operation *op, Value values, ArrayRef<int64_t> shape, Value array) {
  ArrayType updates = typeOf(values), operand = typeOf(array);
  bool isAdded = mayHoldPartialSums(operand, updates.getElementType());
  ArrayType expected = ArrayType::get(shape, (isAdded ? updates : operand).getElementType());
  if (updates.withoutSharding() != expected)
    return failWithDefinitions(op->emitOpError() << "updates must be " << expected.str() << ", got "
                                                 << updates.withoutSharding().str(),
                               {{values, "the array of updates"}, {array, "the operand"}});
  return success();
}

} // namespace

void DynamicSliceOp::build(OpBuilder &builder, OperationState &state, Value operand, ValueRange starts,
                           ArrayRef<int64_t> sizes) {
  build(builder, state, typeOf(operand).withShape(sizes), operand, starts, sizes);
}

LogicalResult DynamicSliceOp::verify() {
  ArrayType operand = getOperand().getType();
  if (failed(verifyWindow(*this, operand, getStarts(), getSizes())))
    return failure();
  return verifyResult(*this, getSizes(), operand.getElementType());
}

LogicalResult DynamicUpdateSliceOp::verify() {
  ArrayType operand = getOperand().getType(), update = getUpdate().getType();
  if (update.getElementType() != operand.getElementType() || update.getRank() != operand.getRank())
    return failWithDefinitions(emitOpError() << "cannot write " << update.withoutSharding().str() << " into "
                                             << operand.withoutSharding().str(),
                               {{getUpdate(), "the update"}, {getOperand(), "the operand"}});
  if (failed(verifyWindow(*this, operand, getStarts(), update.getShape())))
    return failure();
  return verifyResult(*this, operand.getShape(), operand.getElementType());
}

SmallVector<int64_t> TakeOp::inferShape(ArrayType operand, ArrayType indices, int64_t dim) {
  SmallVector<int64_t> shape(operand.getShape().take_front(dim));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, operand.getShape().drop_front(dim + 1));
  return shape;
}

void TakeOp::build(OpBuilder &builder, OperationState &state, Value operand, Value indices, int64_t dim) {
  ArrayType type = typeOf(operand);
  build(builder, state, type.withShape(inferShape(type, typeOf(indices), dim)), operand, indices, dim);
}

LogicalResult TakeOp::verify() {
  ArrayType operand = getOperand().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, operand.getRank(), "dimension")) ||
      failed(verifyIndices(*this, getIndices(), operand.getDimSize(dim))) ||
      failed(verifyNotEmpty(*this, operand, dim)))
    return failure();
  return verifyResult(*this, inferShape(operand, getIndices().getType(), dim), operand.getElementType());
}

void TakeAlongOp::build(OpBuilder &builder, OperationState &state, Value operand, Value indices, int64_t dim) {
  build(builder, state, typeOf(operand).withShape(typeOf(indices).getShape()), operand, indices, dim);
}

LogicalResult TakeAlongOp::verify() {
  ArrayType operand = getOperand().getType(), indices = getIndices().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, operand.getRank(), "dimension")) ||
      failed(verifyIndices(*this, getIndices(), operand.getDimSize(dim))) ||
      failed(verifyAlong(*this, getOperand(), getIndices(), dim)) || failed(verifyNotEmpty(*this, operand, dim)))
    return failure();
  return verifyResult(*this, indices.getShape(), operand.getElementType());
}

LogicalResult ScatterAddOp::verify() {
  ArrayType operand = getOperand().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, operand.getRank(), "dimension")) ||
      failed(verifyIndices(*this, getIndices(), operand.getDimSize(dim))) ||
      failed(
          verifyUpdates(*this, getUpdates(), TakeOp::inferShape(operand, getIndices().getType(), dim), getOperand())))
    return failure();
  return verifyResult(*this, operand.getShape(), operand.getElementType());
}

LogicalResult ScatterAddAlongOp::verify() {
  ArrayType operand = getOperand().getType(), indices = getIndices().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, operand.getRank(), "dimension")) ||
      failed(verifyIndices(*this, getIndices(), operand.getDimSize(dim))) ||
      failed(verifyAlong(*this, getOperand(), getIndices(), dim)) ||
      failed(verifyUpdates(*this, getUpdates(), indices.getShape(), getOperand())))
    return failure();
  return verifyResult(*this, operand.getShape(), operand.getElementType());
}

void ArgsortOp::build(OpBuilder &builder, OperationState &state, Value operand, int64_t dim, bool descending) {
  ArrayType type = typeOf(operand);
  build(builder, state, type.withElementType(getPositionType(builder.getContext(), type.getDimSize(dim))), operand, dim,
        descending);
}

LogicalResult ArgsortOp::verify() {
  ArrayType operand = getOperand().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, operand.getRank(), "dimension")) ||
      failed(verifyPositions(*this, operand.getDimSize(dim))))
    return failure();
  return verifyResult(*this, operand.getShape(), getType().getElementType());
}

LogicalResult Threefry2x32Op::verify() {
  if (!getType().getElementType().isUnsignedInteger(32))
    return emitOpError() << "requires u32, got " << getType().withoutSharding().str();
  if (getWord() > 1)
    return emitOpError() << "requires word 0 or 1, got " << getWord();
  return success();
}

} // namespace spmdc
