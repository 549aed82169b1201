//===- SumVectorProducts.cpp - a matrix times a vector as a reduction -----===//
//
// A matrix times a vector reads each element of the matrix once. If its rows are contiguous, a reduction does that at
// the rate of memory, whatever their length and type, and shares a kernel with what is computed of the operands and the
// result. The library reads a column of the matrix at the rate of memory, but short rows at a quarter of it, and
// converts rows of bf16 first.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "passes/kernel/ContractionSide.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SUMVECTORPRODUCTS
#include "passes/kernel/Passes.h.inc"

namespace {

/// The type of the products and their sum: as the library, which adds products of 16-bit types in f32.
Type sumTypeOf(DotGeneralOp op) {
  Type type = op.getLhs().getType().getElementType();
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16 ? Float32Type::get(op.getContext()) : type;
}

void rewrite(DotGeneralOp op) {
  ContractionSide matrix = ContractionSide::leftOf(op), vector = ContractionSide::rightOf(op);
  if (vector.sizeOf(vector.free) != 1)
    std::swap(matrix, vector);
  Type sumType = sumTypeOf(op);
  if (vector.sizeOf(vector.free) != 1 || sumType.isInteger(1))
    return;
  matrix.absorbTransposes();
  orderContracted(matrix, vector);
  if (!matrix.isLaidOut(matrix.batch, matrix.free, matrix.contract))
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t batch = matrix.sizeOf(matrix.batch), rows = matrix.sizeOf(matrix.free), size = matrix.sizeOf(matrix.contract);
  if (!vector.isLaidOut(vector.batch, vector.free, vector.contract)) {
    SmallVector<int64_t> perm(vector.batch);
    llvm::append_range(perm, vector.free);
    llvm::append_range(perm, vector.contract);
    vector.value = vector.transposed(b, loc, perm);
  }
  auto prepare = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    auto type = cast<ArrayType>(value.getType()).withShape(shape);
    value = b.create<ReshapeOp>(loc, type, value);
    return type.getElementType() == sumType
               ? value
               : b.create<ConvertOp>(loc, type.withElementType(sumType), value).getResult();
  };
  SmallVector<int64_t> shape{rows, size}, ofVector{size}, dims{1};
  if (batch != 1) {
    shape.insert(shape.begin(), batch);
    ofVector.insert(ofVector.begin(), batch);
    dims = {0, 2};
  }
  Value left = prepare(matrix.value, shape);
  Value right = LocalBuilder(b, loc).broadcast(prepare(vector.value, ofVector), shape, dims);
  Value sum = createReduce(b, loc, b.create<MultiplyOp>(loc, left, right), ReductionKind::sum, dims.back());
  ArrayType type = op.getType();
  Value result = b.create<ReshapeOp>(loc, type.withElementType(sumType), sum);
  if (type.getElementType() != sumType)
    result = b.create<ConvertOp>(loc, type, result);
  op.replaceAllUsesWith(result);
  op.erase();
}

class SumVectorProductsPass : public impl::SumVectorProductsBase<SumVectorProductsPass> {
  void runOnOperation() override {
    for (DotGeneralOp op : collectOps<DotGeneralOp>(getOperation()))
      rewrite(op);
  }
};

} // namespace
} // namespace spmdc
