//===- MovementPatterns.cpp - moves of moved elements ---------------------===//
//
// A stencil is written as slices of a padded array. As pads of their own the slices read the array itself: where it is
// cut, each neighbour's edge travels once, and nothing travels to make the padded array.
//
//===----------------------------------------------------------------------===//

#include "ir/array/MovementPatterns.h"

#include "ir/array/ArrayOps.h"

using namespace mlir;

namespace spmdc {
namespace {

/// A window of a padded array is the array, padded (or cut, which is negative) on each side by what the window shows.
struct SliceOfPad : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto pad = op.getOperand().getDefiningOp<PadOp>();
    auto isOne = [](int64_t stride) { return stride == 1; };
    auto isNone = [](int64_t interior) { return interior == 0; };
    // What has a sharding may be wanted as it is.
    if (!pad || pad.getType().getSharding() || op.getType().getSharding() || !llvm::all_of(op.getStrides(), isOne) ||
        !llvm::all_of(pad.getInterior(), isNone))
      return failure();
    SmallVector<int64_t> low, high, starts, limits;
    bool isInside = true;
    for (auto [size, before, start, limit] :
         llvm::zip(pad.getOperand().getType().getShape(), pad.getLow(), op.getStarts(), op.getLimits())) {
      low.push_back(before - start);
      high.push_back(limit - before - size);
      starts.push_back(-low.back());
      limits.push_back(size + high.back());
      // A window of nothing but padding is left as it is.
      if (limits.back() <= starts.back() || limits.back() <= 0 || starts.back() >= size)
        return failure();
      isInside &= low.back() <= 0 && high.back() <= 0;
    }
    if (isInside)
      rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), pad.getOperand(), starts, limits, op.getStrides());
    else
      rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), pad.getOperand(), pad.getValue(), low, high,
                                         pad.getInterior());
    return success();
  }
};

/// Of taken elements some: those alone are taken. The first of sorted elements need the first of their order only.
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
    ArrayType indices = op.getType().withoutSharding().withElementType(rewriter.getI32Type());
    Value some = rewriter.create<SliceOp>(op.getLoc(), indices, take.getIndices(), op.getStarts(), op.getLimits(),
                                          op.getStrides());
    rewriter.replaceOpWithNewOp<TakeAlongOp>(op, op.getType(), take.getOperand(), some, dim);
    return success();
  }
};

} // namespace

void addMovementPatterns(RewritePatternSet &patterns) {
  patterns.add<SliceOfPad, SliceOfTakeAlong>(patterns.getContext());
}

} // namespace spmdc
