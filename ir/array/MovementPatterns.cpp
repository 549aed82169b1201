//===- MovementPatterns.cpp - composition of moves ------------------------===//
//
// A stencil is written as slices of a padded array. The patterns turn the slices into pads of the array itself: if it
// is sharded, one halo exchange serves all, and the padded array needs no communication. A scan from the end is written
// as a scan of the reversed array, all of which would be sent.
//
//===----------------------------------------------------------------------===//

#include "ir/array/MovementPatterns.h"

#include "ir/array/ArrayOps.h"

#include <array>

using namespace mlir;

namespace spmdc {
namespace {

/// A pad that only removes elements is a slice.
struct PadThatRemoves : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    auto adds = [](int64_t width) { return width > 0; };
    auto isNone = [](int64_t width) { return width == 0; };
    if (op.getType().getSharding() || llvm::any_of(op.getLow(), adds) || llvm::any_of(op.getHigh(), adds) ||
        !llvm::all_of(op.getInterior(), isNone) ||
        (llvm::all_of(op.getLow(), isNone) && llvm::all_of(op.getHigh(), isNone)))
      return failure();
    SmallVector<int64_t> starts, limits, strides(op.getLow().size(), 1);
    for (auto [low, size] : llvm::zip(op.getLow(), op.getType().getShape())) {
      starts.push_back(-low);
      limits.push_back(size - low);
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), op.getOperand(), starts, limits, strides);
    return success();
  }
};

/// A slice of a sum of padded arrays becomes a sum of slices of them. If the padded arrays are the gradients of shifted
/// windows of one array (a convolution), each is shifted back by the same amount, and the padded array, which would be
/// sharded differently, is not materialized.
struct SliceOfSum : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isSumOfPads(Value value) {
    if (!value.hasOneUse() || cast<ArrayType>(value.getType()).getSharding())
      return false;
    auto sum = value.getDefiningOp<AddOp>();
    return sum ? isSumOfPads(sum.getLhs()) && isSumOfPads(sum.getRhs()) : value.getDefiningOp<PadOp>() != nullptr;
  }

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getOperand().getDefiningOp<AddOp>();
    if (!sum || op.getType().getSharding() || !isSumOfPads(op.getOperand()) ||
        !llvm::all_of(op.getStrides(), [](int64_t stride) { return stride == 1; }))
      return failure();
    auto slice = [&](Value value) -> Value {
      return rewriter.create<SliceOp>(op.getLoc(), op.getType(), value, op.getStarts(), op.getLimits(),
                                      op.getStrides());
    };
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), slice(sum.getLhs()), slice(sum.getRhs()));
    return success();
  }
};

/// A padded sum of arrays, some of which are padded with zeros themselves, becomes the sum of the arrays padded once.
/// The gradient of a window of rows and columns adds up columns first, then rows; the intermediate array is not
/// materialized.
struct PadOfSum : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool hasPad(Value value) {
    if (!value.hasOneUse())
      return false;
    auto sum = value.getDefiningOp<AddOp>();
    return sum ? hasPad(sum.getLhs()) || hasPad(sum.getRhs()) : value.getDefiningOp<PadOp>() != nullptr;
  }

  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getOperand().getDefiningOp<AddOp>();
    if (!sum || op.getType().getSharding() || sum.getType().getSharding() || !isPlainZero(op.getValue()) ||
        !hasPad(sum))
      return failure();
    auto pad = [&](Value value) -> Value {
      return rewriter.create<PadOp>(op.getLoc(), op.getType(), value, op.getValue(), op.getLow(), op.getHigh(),
                                    op.getInterior());
    };
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), pad(sum.getLhs()), pad(sum.getRhs()));
    return success();
  }
};

/// Two pads with zeros become one, unless the inner pad removes elements.
struct PadOfPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<PadOp>();
    if (!inner || !inner->hasOneUse() || op.getType().getSharding() || inner.getType().getSharding() ||
        !isPlainZero(op.getValue()) || !isPlainZero(inner.getValue()))
      return failure();
    SmallVector<int64_t> low, high, interior;
    for (int64_t d = 0; d < op.getType().getRank(); ++d) {
      auto isHidden = [](int64_t first, int64_t second) { return first < 0 && second > 0; };
      int64_t count = inner.getOperand().getType().getDimSize(d), between = op.getInterior()[d] + 1;
      if (count == 0 || isHidden(inner.getLow()[d], op.getLow()[d]) || isHidden(inner.getHigh()[d], op.getHigh()[d]) ||
          (between > 1 && (inner.getLow()[d] < 0 || inner.getHigh()[d] < 0)))
        return failure();
      int64_t step = (inner.getInterior()[d] + 1) * between;
      low.push_back(inner.getLow()[d] * between + op.getLow()[d]);
      high.push_back(op.getType().getDimSize(d) - low.back() - ((count - 1) * step + 1));
      interior.push_back(step - 1);
    }
    rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), inner.getOperand(), op.getValue(), low, high, interior);
    return success();
  }
};

/// The sum of two arrays, each padded with zeros where the other has elements, is their concatenation; other addends of
/// the same sum do not matter. The gradient of a concatenation of parts in another order (a roll) becomes a
/// concatenation again.
struct SumOfParts : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    if (op.getType().getSharding())
      return failure();
    for (auto [one, rest] : {std::pair(op.getRhs(), op.getLhs()), std::pair(op.getLhs(), op.getRhs())}) {
      auto pad = one.getDefiningOp<PadOp>();
      PadOp other = pad ? findOther(pad, rest, kMaxSums) : PadOp();
      if (!other)
        continue;
      auto [front, back] = findConcatenatedDim(pad, other) ? std::pair(pad, other) : std::pair(other, pad);
      Value joined =
          rewriter.create<ConcatenateOp>(op.getLoc(), op.getType(), ValueRange{front.getOperand(), back.getOperand()},
                                         *findConcatenatedDim(front, back));
      rewriter.replaceOp(op, replaceIn(rest, other, joined, rewriter));
      return success();
    }
    return failure();
  }

  /// The most nested additions that the search visits.
  static constexpr int kMaxSums = 16;

  /// Returns the pad among the addends that completes `pad`.
  static PadOp findOther(PadOp pad, Value rest, int sumsLeft) {
    if (auto other = rest.getDefiningOp<PadOp>())
      return findConcatenatedDim(pad, other) || findConcatenatedDim(other, pad) ? other : PadOp();
    auto sum = rest.getDefiningOp<AddOp>();
    if (!sum || !sum->hasOneUse() || sum.getType().getSharding() || sumsLeft == 0)
      return {};
    PadOp other = findOther(pad, sum.getLhs(), sumsLeft - 1);
    return other ? other : findOther(pad, sum.getRhs(), sumsLeft - 1);
  }

  static Value replaceIn(Value value, PadOp part, Value joined, PatternRewriter &rewriter) {
    if (value == part.getResult())
      return joined;
    auto sum = value.getDefiningOp<AddOp>();
    if (!sum || !sum->hasOneUse())
      return value;
    Value lhs = replaceIn(sum.getLhs(), part, joined, rewriter), rhs = replaceIn(sum.getRhs(), part, joined, rewriter);
    return lhs == sum.getLhs() && rhs == sum.getRhs()
               ? value
               : rewriter.create<AddOp>(sum.getLoc(), sum.getType(), lhs, rhs).getResult();
  }

  /// Returns the one dimension along which the second array begins where the first one ends, if both together fill the
  /// result.
  static std::optional<int64_t> findConcatenatedDim(PadOp front, PadOp back) {
    std::optional<int64_t> concatenatedDim;
    for (PadOp pad : {front, back})
      if (!pad->hasOneUse() || pad.getType().getSharding() || !isPlainZero(pad.getValue()) ||
          llvm::any_of(pad.getInterior(), [](int64_t width) { return width != 0; }))
        return std::nullopt;
    for (int64_t d = 0; d < front.getType().getRank(); ++d) {
      bool coversDim =
          llvm::all_of(std::array{front.getLow()[d], front.getHigh()[d], back.getLow()[d], back.getHigh()[d]},
                       [](int64_t width) { return width == 0; });
      if (coversDim)
        continue;
      int64_t begin = front.getOperand().getType().getDimSize(d);
      if (concatenatedDim || front.getLow()[d] != 0 || back.getHigh()[d] != 0 || begin == 0 ||
          back.getLow()[d] != begin || front.getHigh()[d] != back.getOperand().getType().getDimSize(d) ||
          front.getHigh()[d] == 0)
        return std::nullopt;
      concatenatedDim = d;
    }
    return concatenatedDim;
  }
};

/// A slice of a padded array is the array, padded on each side by the padding in the slice (negative: elements are
/// removed).
struct SliceOfPad : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto pad = op.getOperand().getDefiningOp<PadOp>();
    auto isOne = [](int64_t stride) { return stride == 1; };
    // A value with a sharding may be annotated: keep it.
    if (!pad || pad.getType().getSharding() || op.getType().getSharding() || !llvm::all_of(op.getStrides(), isOne))
      return failure();
    SmallVector<int64_t> low, high, starts, limits;
    bool isInside = true;
    for (auto [count, before, between, start, limit] : llvm::zip(pad.getOperand().getType().getShape(), pad.getLow(),
                                                                 pad.getInterior(), op.getStarts(), op.getLimits())) {
      int64_t step = between + 1, size = count == 0 ? 0 : (count - 1) * step + 1;
      low.push_back(before - start);
      high.push_back(limit - before - size);
      starts.push_back(-low.back());
      limits.push_back(size + high.back());
      // A slice that contains only padding is kept.
      int64_t first = llvm::divideCeil(std::max<int64_t>(starts.back(), 0), step) * step;
      if (first >= std::min(limits.back(), size))
        return failure();
      isInside &= low.back() <= 0 && high.back() <= 0 && between == 0;
    }
    if (isInside)
      rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), pad.getOperand(), starts, limits, op.getStrides());
    else
      rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), pad.getOperand(), pad.getValue(), low, high,
                                         pad.getInterior());
    return success();
  }
};

/// A dynamic_slice at constant starts is a slice: for example the derivative of an update there.
struct SliceAtConstant : OpRewritePattern<DynamicSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DynamicSliceOp op, PatternRewriter &rewriter) const override {
    if (op.getType().getSharding())
      return failure();
    SmallVector<int64_t> starts, limits, strides;
    for (auto [start, size, taken] :
         llvm::zip(op.getStarts(), op.getOperand().getType().getShape(), op.getType().getShape())) {
      auto constant = start.getDefiningOp<ConstantOp>();
      if (!constant && size != taken)
        return failure();
      int64_t at = size == taken ? 0 : constant.getValue().getSplatValue<APInt>().getSExtValue();
      starts.push_back(std::clamp<int64_t>(at, 0, size - taken));
      limits.push_back(starts.back() + taken);
      strides.push_back(1);
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), op.getOperand(), starts, limits, strides);
    return success();
  }
};

/// A slice of a take_along takes only the sliced elements. So the first elements of a sort need only its first indices.
struct SliceOfTakeAlong : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto take = op.getOperand().getDefiningOp<TakeAlongOp>();
    if (!take || !take->hasOneUse() || take.getType().getSharding())
      return failure();
    auto dim = static_cast<int64_t>(take.getDim());
    for (int64_t d = 0; d < op.getType().getRank(); ++d)
      if (d != dim && op.getType().getDimSize(d) != take.getType().getDimSize(d))
        return failure();
    ArrayType indices = op.getType().withoutSharding().withElementType(take.getIndices().getType().getElementType());
    Value some = rewriter.create<SliceOp>(op.getLoc(), indices, take.getIndices(), op.getStarts(), op.getLimits(),
                                          op.getStrides());
    rewriter.replaceOpWithNewOp<TakeAlongOp>(op, op.getType(), take.getOperand(), some, dim);
    return success();
  }
};

/// A scan of a reversed dimension that is reversed again is a scan from the other end. Other dimensions may be reversed
/// before or after.
struct ReverseOfCumulative : OpRewritePattern<ReverseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReverseOp op, PatternRewriter &rewriter) const override {
    auto running = op.getOperand().getDefiningOp<CumulativeOp>();
    auto inner = running ? running.getOperand().getDefiningOp<ReverseOp>() : nullptr;
    if (!inner || !running->hasOneUse() || running.getContinued() || running.getType().getSharding() ||
        inner.getType().getSharding())
      return failure();
    auto dim = static_cast<int64_t>(running.getDim());
    if (!llvm::is_contained(op.getDims(), dim) || !llvm::is_contained(inner.getDims(), dim))
      return failure();
    SmallVector<int64_t> left; // Reversed exactly once.
    for (int64_t d = 0; d < op.getType().getRank(); ++d)
      if (llvm::is_contained(op.getDims(), d) != llvm::is_contained(inner.getDims(), d))
        left.push_back(d);
    ArrayType type = left.empty() ? op.getType() : running.getType();
    Value result = rewriter.create<CumulativeOp>(running.getLoc(), type, inner.getOperand(), running.getKind(), dim,
                                                 !running.getReversed());
    if (left.empty())
      rewriter.replaceOp(op, result);
    else
      rewriter.replaceOpWithNewOp<ReverseOp>(op, op.getType(), result, left);
    return success();
  }
};

/// A slice of a reverse reverses only the sliced elements. So the k largest elements, in descending order, need only
/// the end of a sort.
struct SliceOfReverse : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto reverse = op.getOperand().getDefiningOp<ReverseOp>();
    if (!reverse || !reverse->hasOneUse() || reverse.getType().getSharding() || op.getType().getSharding() ||
        op.getType().getNumElements() == 0)
      return failure();
    SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits());
    for (int64_t d : reverse.getDims()) {
      int64_t size = reverse.getType().getDimSize(d), first = op.getStarts()[d];
      limits[d] = size - first;
      starts[d] = limits[d] - 1 - (op.getType().getDimSize(d) - 1) * op.getStrides()[d];
    }
    Value some =
        rewriter.create<SliceOp>(op.getLoc(), op.getType(), reverse.getOperand(), starts, limits, op.getStrides());
    rewriter.replaceOpWithNewOp<ReverseOp>(op, op.getType(), some, reverse.getDims());
    return success();
  }
};

} // namespace

void addMovementPatterns(RewritePatternSet &patterns) {
  patterns.add<PadThatRemoves, SliceOfSum, PadOfSum, PadOfPad, SumOfParts, SliceOfPad, SliceAtConstant,
               SliceOfTakeAlong, ReverseOfCumulative, SliceOfReverse>(patterns.getContext());
}

} // namespace spmdc
