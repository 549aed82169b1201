//===- ArrayCanonicalization.cpp - empty arrays and trivial sums ----------===//
//
// A reduction over dimensions of size 1 only drops them: it is a reshape. Arrays without elements would be a special
// case in every later stage: an operation that computes one becomes a constant, and an operation that reads one is
// rewritten without it. After canonicalization the only operations on empty arrays are constants, constraints and
// collectives.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/MovementPatterns.h"
#include "ir/array/ScalarEvaluation.h"
#include "ir/array/SplatPatterns.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isEmpty(Value value) { return cast<ArrayType>(value.getType()).getNumElements() == 0; }

/// An operation that computes an empty array becomes a constant.
struct EmptyResult : RewritePattern {
  explicit EmptyResult(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_present<ArrayDialect>(op->getDialect()) || isa<ConstantOp>(op) || op->getNumResults() != 1 ||
        op->getNumRegions() != 0)
      return failure();
    auto type = cast<ArrayType>(op->getResult(0).getType());
    if (type.getNumElements() != 0 || isa<KeyType>(type.getElementType()))
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, type, Scalar());
    return success();
  }
};

/// A reduction over no elements is the neutral value.
struct ReduceOfEmpty : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getOperand()))
      return failure();
    Scalar identity = getReductionIdentity(op.getType().getElementType(), op.getKind());
    rewriter.replaceOpWithNewOp<ConstantOp>(op, op.getType(), identity);
    return success();
  }
};

/// A reduction over one element is that element.
struct ReduceOfOne : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    ArrayType operand = op.getOperand().getType();
    bool isOne = llvm::all_of(op.getDims(), [&](int64_t dim) { return operand.getDimSize(dim) == 1; });
    // Between propagation and partitioning a dimension of size 1 may hold partial results: such a reduction is kept.
    if (!isOne || operand.getSharding() || op.getType().getSharding() ||
        operand.getElementType() != op.getType().getElementType())
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
    return success();
  }
};

/// A sum over no products is zero.
struct DotOfEmpty : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DotGeneralOp op, PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getLhs()) && !isEmpty(op.getRhs()))
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, op.getType(), Scalar());
    return success();
  }
};

/// A padded empty array is only padding.
struct PadOfEmpty : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getOperand()))
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(op, op.getType(), op.getValue(), ArrayRef<int64_t>{});
    return success();
  }
};

/// A concatenation drops its empty operands.
struct ConcatenateOfEmpty : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatenateOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (Value operand : op.getOperands())
      if (!isEmpty(operand))
        parts.push_back(operand);
    if (parts.empty() || parts.size() == op.getOperands().size())
      return failure();
    if (parts.size() == 1 && parts[0].getType() == op.getType())
      rewriter.replaceOp(op, parts[0]);
    else
      rewriter.replaceOpWithNewOp<ConcatenateOp>(op, op.getType(), parts, op.getDimAttr());
    return success();
  }
};

/// select(x > y, x, max(x, y)) is max(x, y), in every bit. `relu` is written so, because its derivative at 0 is not
/// that of a maximum.
struct SelectOfMaximum : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isSame(Value x, Value y) {
    auto left = x.getDefiningOp<ConstantOp>(), right = y.getDefiningOp<ConstantOp>();
    return x == y || (left && right && left.getValue() == right.getValue());
  }

  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    auto isLarger = op.getPredicate().getDefiningOp<CompareOp>();
    auto maximum = op.getOnFalse().getDefiningOp<MaximumOp>();
    if (!isLarger || !maximum || isLarger.getDirection() != ComparisonDirection::gt ||
        maximum.getType() != op.getType() || op.getOnTrue() != isLarger.getLhs())
      return failure();
    Value x = isLarger.getLhs(), y = isLarger.getRhs();
    bool isOfBoth = (isSame(maximum.getLhs(), x) && isSame(maximum.getRhs(), y)) ||
                    (isSame(maximum.getLhs(), y) && isSame(maximum.getRhs(), x));
    if (!isOfBoth)
      return failure();
    rewriter.replaceOp(op, maximum.getResult());
    return success();
  }
};

} // namespace

void ArrayDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<EmptyResult, ReduceOfEmpty, ReduceOfOne, DotOfEmpty, PadOfEmpty, ConcatenateOfEmpty, SelectOfMaximum>(
      patterns.getContext());
  addSplatPatterns(patterns);
  addMovementPatterns(patterns);
  addPartsPatterns(patterns);
}

} // namespace spmdc
