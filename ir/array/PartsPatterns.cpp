//===- PartsPatterns.cpp - arrays taken apart and joined again ------------===//
//
// Complex arrays are pairs of real ones (frontend/stablehlo/complex), but arguments, results and the operands of
// Fourier transforms have both parts in a last dimension. Between two of these, an array is taken apart and joined
// again: what moves the elements of both parts alike moves those of the joined array.
//
//===----------------------------------------------------------------------===//

#include "ir/array/FourierOp.h"
#include "ir/array/MovementPatterns.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isAnnotated(Value value) { return bool(typeOf(value).getSharding()); }

/// The array whose consecutive slices along `dim` the parts are, all of it; null if there is none.
Value findSliced(ArrayRef<Value> parts, int64_t dim) {
  Value source;
  int64_t next = 0;
  for (Value part : parts) {
    auto slice = part.getDefiningOp<SliceOp>();
    if (!slice || isAnnotated(part) || (source && slice.getOperand() != source))
      return Value();
    source = slice.getOperand();
    ArrayRef<int64_t> shape = typeOf(source).getShape();
    if (dim >= static_cast<int64_t>(shape.size()))
      return Value();
    for (auto [d, size] : llvm::enumerate(shape)) {
      bool isAlong = static_cast<int64_t>(d) == dim;
      if (slice.getStrides()[d] != 1 || slice.getStarts()[d] != (isAlong ? next : 0) ||
          (!isAlong && slice.getLimits()[d] != size))
        return Value();
    }
    next = slice.getLimits()[dim];
  }
  return source && next == typeOf(source).getDimSize(dim) ? source : Value();
}

/// The parts side by side in an additional last dimension, computed of one array that holds all of them; null if there
/// is none.
Value stack(OpBuilder &b, Location loc, ArrayRef<Value> parts) {
  ArrayType type = typeOf(parts[0]);
  auto withLast = [&](ArrayRef<int64_t> shape, int64_t size) {
    SmallVector<int64_t> all(shape);
    all.push_back(size);
    return type.withoutSharding().withShape(all);
  };
  auto count = static_cast<int64_t>(parts.size());
  SmallVector<Value> operands;
  for (Value part : parts) {
    Operation *op = part.getDefiningOp(), *first = parts[0].getDefiningOp();
    if (!op || !isa<ReshapeOp, TransposeOp>(op) || isAnnotated(part) || op->getName() != first->getName() ||
        op->getAttrDictionary() != first->getAttrDictionary() ||
        typeOf(op->getOperand(0)) != typeOf(first->getOperand(0)))
      return Value();
    operands.push_back(op->getOperand(0));
  }
  // The dimension of a part alone has been dropped.
  if (Value source = findSliced(operands, type.getRank());
      source && !isAnnotated(operands[0]) && typeOf(source).withoutSharding() == withLast(type.getShape(), count))
    return source;
  if (typeOf(operands[0]).getNumElements() != type.getNumElements())
    return Value();
  Value inner = stack(b, loc, operands);
  if (!inner)
    return Value();
  auto transpose = parts[0].getDefiningOp<TransposeOp>();
  if (!transpose)
    return b.create<ReshapeOp>(loc, withLast(type.getShape(), count), inner);
  SmallVector<int64_t> perm(transpose.getPerm());
  perm.push_back(type.getRank());
  return b.create<TransposeOp>(loc, withLast(type.getShape(), count), inner, perm);
}

struct ConcatenateOfParts : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatenateOp op, PatternRewriter &rewriter) const override {
    auto dim = static_cast<int64_t>(op.getDim());
    SmallVector<Value> operands(op.getOperands());
    if (op.getType().getSharding() || operands.size() < 2)
      return failure();
    Value joined = findSliced(operands, dim);
    if (!joined && dim + 1 == op.getType().getRank()) {
      SmallVector<Value> parts;
      for (Value operand : operands) {
        auto reshape = operand.getDefiningOp<ReshapeOp>();
        if (!reshape || isAnnotated(operand) || typeOf(operand).getShape().back() != 1 ||
            (!parts.empty() && typeOf(reshape.getOperand()) != typeOf(parts[0])))
          return failure();
        parts.push_back(reshape.getOperand());
      }
      joined = stack(rewriter, op.getLoc(), parts);
      if (joined && typeOf(joined) != op.getType())
        joined = rewriter.create<ReshapeOp>(op.getLoc(), op.getType(), joined);
    }
    // An annotated array is joined again until partitioning, after which no type has a sharding.
    if (!joined || typeOf(joined) != op.getType())
      return failure();
    rewriter.replaceOp(op, joined);
    return success();
  }
};

/// A transform of a transposed array is the transposed transform along another dimension: the library transforms along
/// any, and behind the transform the transposition often meets its inverse.
struct FftOfTranspose : OpRewritePattern<FftOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FftOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    auto last = op.getType().getRank() - 1;
    if (!transpose || isAnnotated(transpose) || op.getType().getSharding() || transpose.getPerm().back() != last)
      return failure();
    ArrayRef<int64_t> perm = transpose.getPerm();
    auto dim = static_cast<uint64_t>(perm[op.getDim()]);
    SmallVector<int64_t> shape(transpose.getOperand().getType().getShape());
    shape[dim] = op.getType().getDimSize(static_cast<int64_t>(op.getDim()));
    shape.back() = op.getResultParts();
    Value result = rewriter.create<FftOp>(op.getLoc(), op.getType().withShape(shape), transpose.getOperand(), dim,
                                          op.getLength(), op.getInverse(), op.getDivisor());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), result, perm);
    return success();
  }
};

} // namespace

void addPartsPatterns(RewritePatternSet &patterns) {
  patterns.add<ConcatenateOfParts, FftOfTranspose>(patterns.getContext());
}

} // namespace spmdc
