//===- Pooling.h - reductions of windows ------------------------*- C++ -*-===//
//
// A short window is an element-wise reduction of its taps, each a strided slice. A long one costs no more than its
// dimension a few times over:
//
//   windows side by side, or one   a dimension of their own, which is reduced
//   strided ones                   blocks as long as the stride are reduced once, for all windows that have them whole
//   one element apart              spans of elements, longer ones made of some that lie side by side
//
// Devices that a dimension is cut over send one another no more for spans than for taps: each makes a window longer by
// as much as it is longer. Nothing is taken away again, as of running sums: a NaN or an infinity is in the windows that
// have it and in no other, and sums are rounded as often as there are lengths of spans.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/SlidingWindow.h"

namespace spmdc {

class Pooling {
public:
  /// By `max` or `sum`; the filler changes no result.
  Pooling(Emitter &e, ReductionKind kind, Scalar filler) : e(e), kind(kind), filler(filler) {}

  /// Reduces the windows over dimensions 1 and the following, one dimension after the other, each padded where it is
  /// looked at.
  mlir::Value reduce(mlir::Value x, llvm::ArrayRef<SlidingWindow> windows) const;

private:
  mlir::Value apply(mlir::Value a, mlir::Value b) const;
  mlir::Value reduceDim(mlir::Value x, int64_t dim, SlidingWindow window) const;
  mlir::Value reduceTaps(mlir::Value x, int64_t dim, const SlidingWindow &window) const;
  /// Windows, cut into blocks as long as the stride, are whole blocks and the beginning of one.
  mlir::Value reduceBlocks(mlir::Value x, int64_t dim, const SlidingWindow &window) const;
  /// Windows of this size from each element on that has as many.
  mlir::Value reduceSpans(mlir::Value x, int64_t dim, int64_t size) const;
  /// The sum of as many spans, one behind the other, from each on; x has those of a length.
  mlir::Value addSpans(mlir::Value x, int64_t dim, int64_t count, int64_t span) const;
  /// The same, added or compared one by one.
  mlir::Value joinSpans(mlir::Value x, int64_t dim, int64_t count, int64_t span) const;

  Emitter &e;
  ReductionKind kind;
  Scalar filler;
};

} // namespace spmdc
