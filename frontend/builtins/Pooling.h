//===- Pooling.h - reductions of windows ------------------------*- C++ -*-===//
//
// A short window is an element-wise reduction of its taps, each a strided slice. The cost of long ones is a few passes
// over the dimension:
//
//   adjacent windows, or one       a dimension of their own, which is reduced
//   windows with a larger stride   blocks of the stride's length are reduced once, for all windows that contain them
//   windows one element apart      spans of elements; adjacent short spans combine to longer ones
//
// Devices that share a dimension send no more data for spans than for taps: both extend a shard by the length of a
// window. No value is subtracted again, as in running sums: a NaN or an infinity affects only the windows that contain
// it, and sums are rounded as often as there are span lengths.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/builtins/SlidingWindow.h"

namespace spmdc {

class Pooling {
public:
  /// Reduces by `max` or `sum`; `filler` is the neutral value.
  Pooling(Emitter &e, ReductionKind kind, Scalar filler) : e(e), kind(kind), filler(filler) {}

  /// Reduces the windows over dimensions 1 and the following, one dimension after the other; each is padded when it is
  /// reduced.
  mlir::Value reduce(mlir::Value x, llvm::ArrayRef<SlidingWindow> windows) const;

private:
  mlir::Value apply(mlir::Value a, mlir::Value b) const;
  mlir::Value reduceDim(mlir::Value x, int64_t dim, SlidingWindow window) const;
  mlir::Value reduceTaps(mlir::Value x, int64_t dim, const SlidingWindow &window) const;
  /// A window consists of full blocks of the stride's length and the beginning of another one.
  mlir::Value reduceBlocks(mlir::Value x, int64_t dim, const SlidingWindow &window) const;
  /// Reduces the windows of this size that begin at each element with enough elements after it.
  mlir::Value reduceSpans(mlir::Value x, int64_t dim, int64_t size) const;
  /// For sums: adds `count` adjacent spans of length `span`, beginning at each element; x holds the reduced spans.
  mlir::Value addSpans(mlir::Value x, int64_t dim, int64_t count, int64_t span) const;
  /// The same for any reduction, by element-wise operations, span by span.
  mlir::Value combineSpans(mlir::Value x, int64_t dim, int64_t count, int64_t span) const;

  Emitter &e;
  ReductionKind kind;
  Scalar filler;
};

} // namespace spmdc
