//===- SumVectorProducts.cpp - a matrix times few vectors as reductions ---===//
//
// A matrix times a vector reads each element of the matrix once. On a CPU, if its rows are contiguous, a reduction does
// that at the rate of memory, whatever their length and type, and shares a kernel with what is computed of the operands
// and the result. The library reads a column of the matrix at the rate of memory, but short rows at a quarter of it,
// and converts rows of bf16 first.
//
// If the matrix is computed element by element for this product alone, as weights of bytes times their scales are, the
// reductions compute its elements where they need them. For the library, it would be written and read again, in a wider
// type: a vector of 4096 f32 times 4096 x 4096 bytes would move nine times the bytes.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/ReducePrecision.h"
#include "passes/kernel/ContractionSide.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SUMVECTORPRODUCTS
#include "passes/kernel/Passes.h.inc"

namespace {

/// The type of the products and their sum: as the library, which adds products of 16-bit floats in f32.
Type sumTypeOf(DotGeneralOp op) {
  Type type = op.getType().getElementType();
  return isHalfFloat(type) ? Float32Type::get(op.getContext()) : type;
}

/// The least rows of a computed matrix, or columns: those of a smaller one cost little to write and to read.
constexpr int64_t kLeastPlaces = 64;

/// Whether element-wise operations compute the array, and nothing else reads it.
bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isa<ReshapeOp>(op) && op->hasOneUse())
    op = op->getOperand(0).getDefiningOp();
  return op && isa<ElementwiseOpInterface>(op) && (op->use_empty() || op->hasOneUse());
}

/// Brings a transpose in front of a conversion behind it, and absorbs it.
void absorbTransposes(OpBuilder &b, ContractionSide &side) {
  side.absorbTransposes();
  auto convert = side.value.getDefiningOp<ConvertOp>();
  if (!convert || !convert->hasOneUse() || !convert.getOperand().getDefiningOp<TransposeOp>())
    return;
  side.value = convert.getOperand();
  side.absorbTransposes();
  auto type = cast<ArrayType>(side.value.getType());
  side.value =
      b.create<ConvertOp>(convert.getLoc(), type.withElementType(convert.getType().getElementType()), side.value);
}

/// Rewrites one product.
class ProductRewriter {
public:
  explicit ProductRewriter(DotGeneralOp op)
      : op(op), b(op), loc(op.getLoc()), matrix(ContractionSide::leftOf(op)), vectors(ContractionSide::rightOf(op)),
        sumType(sumTypeOf(op)) {}

  void run(bool sumsRows, int64_t mostVectors) {
    isRight = vectors.sizeOf(vectors.free) <= matrix.sizeOf(matrix.free);
    if (!isRight)
      std::swap(matrix, vectors);
    count = vectors.sizeOf(vectors.free);
    if (count == 0 || count > mostVectors || sumType.isInteger(1))
      return;
    absorbTransposes(b, matrix);
    orderContracted(matrix, vectors);
    bool hasRows = matrix.isLaidOut(matrix.batch, matrix.free, matrix.contract);
    bool hasColumns = matrix.isLaidOut(matrix.batch, matrix.contract, matrix.free);
    bool isReadOnce = sumsRows && hasRows && count == 1;
    bool isLarge = matrix.sizeOf(matrix.free) >= kLeastPlaces;
    if (!isReadOnce && !(isLarge && (hasRows || hasColumns) && isComputed(matrix.value)))
      return;
    replace(hasRows);
  }

private:
  /// `hasRows`: the contracted dimensions of the matrix are its last ones.
  void replace(bool hasRows) {
    batch = matrix.sizeOf(matrix.batch);
    int64_t places = matrix.sizeOf(matrix.free), depth = matrix.sizeOf(matrix.contract);
    if (!vectors.isLaidOut(vectors.batch, vectors.free, vectors.contract)) {
      SmallVector<int64_t> perm(vectors.batch);
      llvm::append_range(perm, vectors.free);
      llvm::append_range(perm, vectors.contract);
      vectors.value = vectors.transposed(b, loc, perm);
    }
    Value left = prepare(matrix.value, hasRows ? shapeOf({places, depth}) : shapeOf({depth, places}));
    Value right = prepare(vectors.value, shapeOf({count, depth}));
    int64_t offset = batch != 1;
    SmallVector<int64_t> dims{offset + (hasRows ? 1 : 0)};
    if (batch != 1)
      dims.insert(dims.begin(), 0);
    SmallVector<Value> sums;
    for (int64_t i = 0; i < count; ++i) {
      Value vector =
          b.create<ReshapeOp>(loc, typeOf(right).withShape(shapeOf({depth})), createSlice(b, loc, right, offset, i, 1));
      Value factors = LocalBuilder(b, loc).broadcast(vector, typeOf(left).getShape(), dims);
      Value products = b.create<MultiplyOp>(loc, left, factors);
      Value sum = createReduce(b, loc, products, ReductionKind::sum, dims.back());
      SmallVector<int64_t> shape = isRight ? shapeOf({places, 1}) : shapeOf({1, places});
      sums.push_back(b.create<ReshapeOp>(loc, typeOf(sum).withShape(shape), sum));
    }
    Value all = sums.front();
    if (count > 1) {
      SmallVector<int64_t> shape = isRight ? shapeOf({places, count}) : shapeOf({count, places});
      all = b.create<ConcatenateOp>(loc, typeOf(all).withShape(shape), sums, offset + (isRight ? 1 : 0));
    }
    ArrayType type = op.getType();
    all = b.create<ReshapeOp>(loc, type.withElementType(sumType), all);
    if (type.getElementType() != sumType)
      all = b.create<ConvertOp>(loc, type, all);
    op.replaceAllUsesWith(all);
    op.erase();
  }

  /// These dimensions, behind that of the batch unless it has one element.
  SmallVector<int64_t> shapeOf(ArrayRef<int64_t> dims) {
    SmallVector<int64_t> shape(dims);
    if (batch != 1)
      shape.insert(shape.begin(), batch);
    return shape;
  }

  Value prepare(Value value, ArrayRef<int64_t> shape) {
    ArrayType type = typeOf(value).withShape(shape);
    value = b.create<ReshapeOp>(loc, type, value);
    return type.getElementType() == sumType
               ? value
               : b.create<ConvertOp>(loc, type.withElementType(sumType), value).getResult();
  }

  DotGeneralOp op;
  OpBuilder b;
  Location loc;
  ContractionSide matrix, vectors;
  Type sumType;
  bool isRight = false; ///< The vectors are the right side.
  int64_t count = 0, batch = 1;
};

class SumVectorProductsPass : public impl::SumVectorProductsBase<SumVectorProductsPass> {
public:
  using SumVectorProductsBase::SumVectorProductsBase;

private:
  void runOnOperation() override {
    for (DotGeneralOp op : collectOps<DotGeneralOp>(getOperation()))
      ProductRewriter(op).run(rows, vectors);
  }
};

} // namespace
} // namespace spmdc
