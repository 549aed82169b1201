//===- Pooling.cpp - reductions of windows --------------------------------===//

#include "frontend/builtins/Pooling.h"

#include <algorithm>

namespace spmdc {
namespace {

/// Longer windows are not reduced element by element.
constexpr int64_t kMaxTaps = 12;
/// Windows of a prime number of taps up to this length are, too: to add one element to spans would move it once more.
constexpr int64_t kMaxPrimeTaps = 64;
/// The number of spans that are combined into one, if any number would do.
constexpr int64_t kSpansPerSpan = 8;

/// The number of equal spans to divide `count` elements into, with the shortest possible span; 1 if there is no
/// divisor.
int64_t findSpans(int64_t count) {
  for (int64_t spans = std::min(count, kMaxTaps); spans > 1; --spans)
    if (count % spans == 0)
      return spans;
  for (int64_t spans = kMaxTaps + 1; spans <= std::min(count, kMaxPrimeTaps); ++spans)
    if (count % spans == 0)
      return spans;
  return 1;
}

/// An equivalent window without the padding that all windows contain: if a short dimension has long windows, most of a
/// window is such padding.
SlidingWindow withoutCommonPadding(SlidingWindow window, int64_t size) {
  int64_t last = (window.count - 1) * window.stride; // Distance of the last window from the first.
  if (int64_t before = std::min(window.low - last, window.size - 1); before > 0) {
    window.low -= before;
    window.size -= before;
  }
  if (int64_t behind = std::min(window.size - window.low - size, window.size - 1); behind > 0)
    window.size -= behind;
  window.high = std::max<int64_t>(0, last + window.size - window.low - size);
  return window;
}

} // namespace

mlir::Value Pooling::apply(mlir::Value a, mlir::Value b) const {
  return kind == ReductionKind::max ? e.apply<MaximumOp>(a, b) : e.apply<AddOp>(a, b);
}

mlir::Value Pooling::reduce(mlir::Value x, llvm::ArrayRef<SlidingWindow> windows) const {
  for (auto [d, window] : llvm::enumerate(windows))
    x = reduceDim(x, static_cast<int64_t>(d) + 1, window);
  return x;
}

mlir::Value Pooling::reduceDim(mlir::Value x, int64_t dim, SlidingWindow window) const {
  int64_t size = plainTypeOf(x).getDimSize(dim);
  if (window.count == 0) {
    llvm::SmallVector<int64_t> shape(plainTypeOf(x).getShape());
    shape[dim] = 0;
    return e.splat(plainTypeOf(x).withShape(shape), filler);
  }
  if (window.size > kMaxTaps)
    window = withoutCommonPadding(window, size);
  if (window.count == 1)
    window.stride = window.size;
  x = padded(e, x, window, filler, dim);
  if (window.size <= kMaxTaps && window.size != window.stride)
    return reduceTaps(x, dim, window);
  if (window.stride != 1)
    return reduceBlocks(x, dim, window);
  return reduceSpans(e.sliceDim(x, dim, 0, window.count + window.size - 1), dim, window.size);
}

mlir::Value Pooling::reduceTaps(mlir::Value x, int64_t dim, const SlidingWindow &window) const {
  mlir::Value sum = tapOf(e, x, dim, window, 0);
  for (int64_t tap = 1; tap < window.size; ++tap)
    sum = apply(sum, tapOf(e, x, dim, window, tap));
  return sum;
}

mlir::Value Pooling::reduceBlocks(mlir::Value x, int64_t dim, const SlidingWindow &window) const {
  int64_t stride = window.stride, whole = window.size / stride, rest = window.size % stride;
  int64_t count =
      window.count + whole - (rest == 0 ? 1 : 0); // The number of blocks. The last may end after all windows.
  int64_t elements = std::min(count * stride, plainTypeOf(x).getDimSize(dim));
  SlidingWindow last;
  last.high = count * stride - elements;
  x = padded(e, e.sliceDim(x, dim, 0, elements), last, filler, dim);
  llvm::SmallVector<int64_t> shape(plainTypeOf(x).getShape());
  shape[dim] = count;
  shape.insert(shape.begin() + dim + 1, stride);
  mlir::Value blocks = e.reshape(x, shape), sum;
  if (whole > 0) {
    SlidingWindow ofBlocks;
    ofBlocks.size = whole;
    ofBlocks.count = window.count;
    mlir::Value sums = e.reduce(blocks, kind, {dim + 1});
    sum = reduceDim(e.sliceDim(sums, dim, 0, window.count + whole - 1), dim, ofBlocks);
  }
  if (rest == 0)
    return sum;
  mlir::Value beginnings = e.reduce(e.sliceDim(blocks, dim + 1, 0, rest), kind, {dim + 1});
  beginnings = e.sliceDim(beginnings, dim, whole, whole + window.count);
  return sum ? apply(sum, beginnings) : beginnings;
}

mlir::Value Pooling::reduceSpans(mlir::Value x, int64_t dim, int64_t size) const {
  if (kind != ReductionKind::max)
    return addSpans(x, dim, size, 1);
  int64_t span = 1;
  for (; size > kMaxTaps * span; span *= kSpansPerSpan)
    x = combineSpans(x, dim, kSpansPerSpan, span);
  // The last span ends at the end of the window: a maximum may read an element twice.
  int64_t count = plainTypeOf(x).getDimSize(dim) - (size - span);
  mlir::Value most = e.sliceDim(x, dim, 0, count);
  for (int64_t end = 2 * span; end < size + span; end += span) {
    int64_t start = std::min(end, size) - span;
    most = apply(most, e.sliceDim(x, dim, start, start + count));
  }
  return most;
}

mlir::Value Pooling::addSpans(mlir::Value x, int64_t dim, int64_t count, int64_t span) const {
  if (count == 1)
    return x;
  if (int64_t spans = findSpans(count); spans > 1)
    return addSpans(combineSpans(x, dim, spans, span), dim, count / spans, spans * span);
  mlir::Value others = addSpans(x, dim, count - 1, span);
  int64_t end = plainTypeOf(others).getDimSize(dim);
  return apply(e.sliceDim(x, dim, 0, end - span), e.sliceDim(others, dim, span, end));
}

mlir::Value Pooling::combineSpans(mlir::Value x, int64_t dim, int64_t count, int64_t span) const {
  SlidingWindow spans;
  spans.size = count;
  spans.dilation = span;
  spans.count = plainTypeOf(x).getDimSize(dim) - (count - 1) * span;
  return reduceTaps(x, dim, spans);
}

} // namespace spmdc
