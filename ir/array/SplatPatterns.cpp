//===- SplatPatterns.cpp - operations on splats ---------------------------===//
//
// Cotangents begin as splats of ones and zeros, which are broadcast, scaled and added: the patterns fold such
// operations. They fold only what is exact in every bit: arithmetic that IEEE rounds correctly, and neutral numbers
// (not x + 0, which turns -0 into 0, nor x * 0, which is NaN for some x).
//
//===----------------------------------------------------------------------===//

#include "ir/array/SplatPatterns.h"

#include "ir/array/ArrayOps.h"
#include "ir/array/Positions.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The number of a splat constant.
std::optional<Scalar> getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isSplat() || constant.getValue().getNumElements() == 0)
    return std::nullopt;
  auto splat = cast<SplatElementsAttr>(constant.getValue());
  return Tensor::fromAttr(splat.resizeSplat(RankedTensorType::get({}, splat.getElementType()))).elements[0];
}

/// Folds an operation on splats to a splat.
struct OperationOnSplats : RewritePattern {
  explicit OperationOnSplats(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<AddOp, SubtractOp, MultiplyOp, DivideOp, NegateOp, AbsOp, CompareOp, AndOp, OrOp, SelectOp>(op))
      return failure();
    auto type = cast<ArrayType>(op->getResult(0).getType());
    auto element = cast<ArrayType>(op->getOperand(op->getNumOperands() - 1).getType()).getElementType();
    // Integer division by zero is left to the generated code; fused sums of f16 and bf16 are rounded from f32.
    bool isExact = element.isF32() || element.isF64() || (isa<IntegerType>(element) && !isa<DivideOp>(op));
    if (!isExact || type.getSharding() || type.getNumElements() == 0)
      return failure();
    SmallVector<Scalar> operands;
    for (Value operand : op->getOperands()) {
      std::optional<Scalar> number = getSplat(operand);
      if (!number)
        return failure();
      operands.push_back(*number);
    }
    Scalar result = roundTo(cast<ElementwiseOpInterface>(op).evaluateScalar(operands), type.getElementType());
    rewriter.replaceOpWithNewOp<ConstantOp>(op, type, result);
    return success();
  }
};

/// x * 1, 1 * x, x / 1, x - 0, max(x, -inf) and min(x, inf) are x. (jax.nn.softmax takes the maximum of -inf and a
/// reduction that begins with it.)
struct NeutralSplat : RewritePattern {
  explicit NeutralSplat(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<MultiplyOp, DivideOp, SubtractOp, MaximumOp, MinimumOp>(op))
      return failure();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double neutral = isa<SubtractOp>(op) ? 0 : isa<MaximumOp>(op) ? -infinity : isa<MinimumOp>(op) ? infinity : 1;
    auto isNeutral = [&](unsigned operand) {
      std::optional<Scalar> splat = getSplat(op->getOperand(operand));
      return splat && splat->f + static_cast<double>(splat->i) == neutral &&
             std::signbit(splat->f) == std::signbit(neutral);
    };
    std::optional<unsigned> kept;
    if (isNeutral(1))
      kept = 0;
    else if (!isa<DivideOp, SubtractOp>(op) && isNeutral(0))
      kept = 1;
    if (!kept || op->getOperand(*kept).getType() != op->getResult(0).getType())
      return failure();
    rewriter.replaceOp(op, op->getOperand(*kept));
    return success();
  }
};

/// The largest value of an array of positions, which begin at 0, if the operation that computes them determines it.
std::optional<int64_t> getLargestPosition(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<SliceOp, ReshapeOp, TransposeOp, BroadcastInDimOp, ReverseOp, TakeOp, TakeAlongOp>(op)) {
      value = op->getOperand(0); // A subset or copy of the same positions.
      continue;
    }
    std::optional<int64_t> size;
    if (auto iota = dyn_cast<IotaOp>(op);
        iota && isPositionType(iota.getType().getElementType()) &&
        holdsPositions(iota.getType().getElementType(), iota.getType().getDimSize(static_cast<int64_t>(iota.getDim()))))
      size = iota.getType().getDimSize(static_cast<int64_t>(iota.getDim()));
    else if (auto argsort = dyn_cast<ArgsortOp>(op))
      size = argsort.getType().getDimSize(static_cast<int64_t>(argsort.getDim()));
    else if (auto reduce = dyn_cast<ArgReduceOp>(op))
      size = reduce.getOperand().getType().getDimSize(static_cast<int64_t>(reduce.getDim()));
    return size && *size > 0 ? std::make_optional(*size - 1) : std::nullopt;
  }
  return std::nullopt;
}

/// Folds a comparison of positions with a number that has the same result for all of them.
struct CompareOfPositions : OpRewritePattern<CompareOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CompareOp op, PatternRewriter &rewriter) const override {
    std::optional<int64_t> largest = getLargestPosition(op.getLhs());
    std::optional<Scalar> number = getSplat(op.getRhs());
    auto result = cast<ArrayType>(op->getResult(0).getType());
    if (!largest || !number || result.getSharding())
      return failure();
    bool isBelow = *largest < number->i, isAbove = number->i < 0, isInside = !isBelow && !isAbove;
    std::optional<bool> answer;
    switch (op.getDirection()) {
    case ComparisonDirection::lt:
      answer = isBelow ? std::make_optional(true) : number->i <= 0 ? std::make_optional(false) : std::nullopt;
      break;
    case ComparisonDirection::ge:
      answer = isBelow ? std::make_optional(false) : number->i <= 0 ? std::make_optional(true) : std::nullopt;
      break;
    case ComparisonDirection::le:
      answer = isAbove ? std::make_optional(false) : *largest <= number->i ? std::make_optional(true) : std::nullopt;
      break;
    case ComparisonDirection::gt:
      answer = isAbove ? std::make_optional(true) : *largest <= number->i ? std::make_optional(false) : std::nullopt;
      break;
    case ComparisonDirection::eq:
    case ComparisonDirection::ne:
      if (!isInside)
        answer = op.getDirection() == ComparisonDirection::ne;
      break;
    }
    if (!answer)
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, result, Scalar::ofBool(*answer));
    return success();
  }
};

/// A select by a splat predicate is one of its operands.
struct SelectBySplat : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    std::optional<Scalar> predicate = getSplat(op.getPredicate());
    Value chosen = predicate && predicate->i ? op.getOnTrue() : op.getOnFalse();
    if (!predicate || chosen.getType() != op->getResult(0).getType() || arrayTypeHasSharding(chosen))
      return failure();
    rewriter.replaceOp(op, chosen);
    return success();
  }

private:
  static bool arrayTypeHasSharding(Value value) { return cast<ArrayType>(value.getType()).getSharding() != nullptr; }
};

} // namespace

void addSplatPatterns(RewritePatternSet &patterns) {
  patterns.add<OperationOnSplats, NeutralSplat, CompareOfPositions, SelectBySplat>(patterns.getContext());
}

} // namespace spmdc
