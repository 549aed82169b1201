//===- TranslateWindows.cpp - reductions of windows -----------------------===//
//
// A window of w elements along a dimension is combined from windows of powers of two: each step combines arrays with
// themselves, moved. The dimensions of a window are combined one after the other, so the work is the logarithm of each
// size and not their product. Prefix sums are windows as long as the array.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Combiner.h"
#include "frontend/stablehlo/Window.h"

using namespace mlir;

namespace spmdc::stablehlo {

using Arrays = Combiner::Arrays;

namespace {

/// Combines windows of `size` elements, `dilation` apart, along a dimension; one for each first element.
FailureOr<Arrays> combineAlong(Translation &t, const Combiner &combiner, ArrayRef<Value> x, int64_t dim, int64_t size,
                               int64_t dilation) {
  // `power` combines windows of 2^k elements, `result` those of the lower bits of the size, which come first.
  Arrays power(x), result;
  int64_t elements = shapeOf(x.front())[dim], done = 0;
  for (int64_t width = 1; width <= size; width *= 2) {
    if (size & width) {
      int64_t places = elements - (done + width - 1) * dilation;
      Arrays part = sliceAll(t, power, dim, done * dilation, done * dilation + places);
      FailureOr<Arrays> both =
          result.empty() ? FailureOr<Arrays>(part) : combiner.combine(sliceAll(t, result, dim, 0, places), part);
      if (failed(both))
        return failure();
      result = std::move(*both);
      done += width;
    }
    if (2 * width <= size) {
      int64_t places = shapeOf(power.front())[dim] - width * dilation;
      FailureOr<Arrays> both = combiner.combine(sliceAll(t, power, dim, 0, places),
                                                sliceAll(t, power, dim, width * dilation, width * dilation + places));
      if (failed(both))
        return failure();
      power = std::move(*both);
    }
  }
  return result;
}

/// The dimension along which the windows are prefixes (suffixes, if `isReversed`) of the array, and nothing is windowed
/// along the others.
std::optional<int64_t> prefixDim(const Window &window, ArrayRef<int64_t> shape, bool &isReversed) {
  std::optional<int64_t> found;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (window.strides[dim] != 1 || window.baseDilations[dim] != 1 || window.dilations[dim] != 1)
      return std::nullopt;
    if (window.sizes[dim] == 1 && window.low[dim] == 0 && window.high[dim] == 0)
      continue;
    bool isPrefix = window.low[dim] == size - 1 && window.high[dim] == 0;
    bool isSuffix = window.low[dim] == 0 && window.high[dim] == size - 1;
    if (found || window.sizes[dim] != size || (!isPrefix && !isSuffix))
      return std::nullopt;
    found = static_cast<int64_t>(dim);
    isReversed = !isPrefix;
  }
  return found;
}

/// Windows side by side are one reduction over all their dimensions. `isDone` tells these dimensions.
FailureOr<Arrays> reduceAdjacent(Translation &t, const Combiner &combiner, Arrays x, const Window &window,
                                 SmallVectorImpl<bool> &isDone) {
  SmallVector<int64_t> shape, dims;
  for (auto [dim, size] : llvm::enumerate(SmallVector<int64_t>(shapeOf(x.front())))) {
    int64_t places = window.countPlaces(dim, size);
    isDone.push_back(window.sizes[dim] > 1 && window.sizes[dim] == window.strides[dim] && window.dilations[dim] == 1 &&
                     places > 0);
    if (!isDone.back()) {
      shape.push_back(size);
      continue;
    }
    x = sliceAll(t, x, static_cast<int64_t>(dim), 0, places * window.sizes[dim]);
    dims.push_back(static_cast<int64_t>(shape.size()) + 1);
    shape.append({places, window.sizes[dim]});
  }
  return combiner.reduce(llvm::map_to_vector(x, [&](Value array) { return t.reshape(array, shape); }), dims);
}

/// Windows of arrays that have been padded.
FailureOr<Arrays> reduceWindows(Translation &t, const Combiner &combiner, Arrays padded, const Window &window) {
  // They come first, because less is left then.
  SmallVector<bool> isDone;
  FailureOr<Arrays> x = reduceAdjacent(t, combiner, std::move(padded), window, isDone);
  for (size_t dim = isDone.size(); succeeded(x) && dim-- > 0;) {
    if (isDone[dim])
      continue;
    auto along = static_cast<int64_t>(dim);
    SmallVector<int64_t> shape(shapeOf(x->front()));
    int64_t places = window.countPlaces(dim, shape[dim]);
    shape[dim] = 0;
    if (places > 0) {
      x = combineAlong(t, combiner, *x, along, window.sizes[dim], window.dilations[dim]);
      if (succeeded(x))
        x = sliceAll(t, *x, along, 0, (places - 1) * window.strides[dim] + 1, window.strides[dim]);
    } else {
      for (Value &array : *x)
        array = t.splat(plainTypeOf(array).withShape(shape), 0);
    }
  }
  return x;
}

Results reduceWindow(Translation &t, ReduceWindowOp op) {
  Arrays x = t.get(op.getInputs());
  ArrayRef<int64_t> shape = x.empty() ? ArrayRef<int64_t>() : shapeOf(x.front());
  std::optional<Window> window = Window::get(shape.size(), op.getWindowDimensions(), op.getWindowStrides(),
                                             op.getBaseDilations(), op.getWindowDilations(), op.getPadding());
  bool isAlike = llvm::all_of(x, [&](Value array) { return shapeOf(array) == shape; }) &&
                 llvm::all_of(t.get(op.getInitValues()), [](Value init) { return shapeOf(init).empty(); });
  if (x.empty() || !isAlike || !window)
    return refuse(op, "has a window that does not fit its operands");
  FailureOr<Combiner> combiner = Combiner::get(t, op, op.getBody(), op.getInputs());
  if (failed(combiner))
    return failure();
  bool isReversed = false, areNeutral = combiner->areNeutral(op.getInitValues());
  if (std::optional<int64_t> dim = areNeutral ? prefixDim(*window, shape, isReversed) : std::nullopt) {
    for (auto [kind, array] : llvm::zip_equal(combiner->getKinds(), x))
      array = t.create<spmdc::CumulativeOp>(plainTypeOf(array), array, kind, *dim, isReversed);
    return x;
  }
  // Padding is the initial value, and each window is combined with it once more.
  SmallVector<int64_t> interior = llvm::map_to_vector(window->baseDilations, [](int64_t by) { return by - 1; });
  for (auto [array, init] : llvm::zip_equal(x, op.getInitValues())) {
    FailureOr<Value> padded = t.padFor(op, array, t.get(init), window->low, window->high, interior);
    if (failed(padded))
      return failure();
    array = *padded;
  }
  FailureOr<Arrays> results = reduceWindows(t, *combiner, std::move(x), *window);
  return failed(results) ? results : combiner->addInit(op.getInitValues(), *results);
}

} // namespace

void addWindowRules(Rules &rules) { rules.addMany<ReduceWindowOp>(reduceWindow); }

} // namespace spmdc::stablehlo
