//===- TranslateWindows.cpp - reductions of windows -----------------------===//
//
// A window of w elements along a dimension is combined from windows of powers of two: each step combines an array with
// itself, moved. The dimensions of a window are combined one after the other, so the work is the logarithm of each size
// and not their product. Prefix sums are windows as long as the array.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The window of an operation, with the defaults of absent attributes.
struct Window {
  SmallVector<int64_t> sizes, strides, baseDilations, dilations, low, high;
};

/// Nullopt if the attributes do not fit the rank.
std::optional<Window> windowOf(size_t rank, std::optional<ArrayRef<int64_t>> sizes,
                               std::optional<ArrayRef<int64_t>> strides, std::optional<ArrayRef<int64_t>> baseDilations,
                               std::optional<ArrayRef<int64_t>> dilations,
                               std::optional<DenseIntElementsAttr> padding) {
  auto listOf = [&](std::optional<ArrayRef<int64_t>> list) {
    return list ? SmallVector<int64_t>(*list) : SmallVector<int64_t>(rank, 1);
  };
  Window window{listOf(sizes), listOf(strides), listOf(baseDilations), listOf(dilations), {}, {}};
  for (const SmallVector<int64_t> *list : {&window.sizes, &window.strides, &window.baseDilations, &window.dilations})
    if (list->size() != rank || llvm::any_of(*list, [](int64_t number) { return number < 1; }))
      return std::nullopt;
  if (padding && padding->getNumElements() != static_cast<int64_t>(2 * rank))
    return std::nullopt;
  for (size_t dim = 0; dim < rank; ++dim) {
    auto at = [&](size_t i) { return padding ? padding->getValues<APInt>()[i].getSExtValue() : 0; };
    window.low.push_back(at(2 * dim));
    window.high.push_back(at(2 * dim + 1));
  }
  return window;
}

/// The number of places of a window along a dimension of `size` elements, already padded.
int64_t countPlaces(int64_t size, int64_t window, int64_t dilation, int64_t stride) {
  int64_t room = size - ((window - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

/// Combines windows of `size` elements, `dilation` apart, along a dimension; one for each first element.
Value combineAlong(Translation &t, ReductionKind kind, Value x, int64_t dim, int64_t size, int64_t dilation) {
  // `power` combines windows of 2^k elements, `result` those of the lower bits of the size, which come first.
  Value power = x, result;
  int64_t done = 0;
  for (int64_t width = 1; width <= size; width *= 2) {
    if (size & width) {
      int64_t places = shapeOf(x)[dim] - (done + width - 1) * dilation;
      Value part = t.sliceDim(power, dim, done * dilation, done * dilation + places);
      result = result ? t.combine(kind, t.sliceDim(result, dim, 0, places), part) : part;
      done += width;
    }
    if (2 * width <= size) {
      int64_t places = shapeOf(power)[dim] - width * dilation;
      power = t.combine(kind, t.sliceDim(power, dim, 0, places),
                        t.sliceDim(power, dim, width * dilation, width * dilation + places));
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

Value reduceWindows(Translation &t, ReductionKind kind, Value x, Value padding, const Window &window) {
  size_t rank = shapeOf(x).size();
  SmallVector<int64_t> interior;
  for (int64_t dilation : window.baseDilations)
    interior.push_back(dilation - 1);
  x = t.pad(x, padding, window.low, window.high, interior);
  auto placesAlong = [&](size_t dim) {
    return countPlaces(shapeOf(x)[dim], window.sizes[dim], window.dilations[dim], window.strides[dim]);
  };
  // Windows side by side are one reduction over all their dimensions. They come first, because less is left then.
  SmallVector<int64_t> shape, dims;
  SmallVector<bool> isDone(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t places = placesAlong(dim);
    isDone[dim] =
        window.sizes[dim] > 1 && window.sizes[dim] == window.strides[dim] && window.dilations[dim] == 1 && places > 0;
    if (!isDone[dim]) {
      shape.push_back(shapeOf(x)[dim]);
      continue;
    }
    x = t.sliceDim(x, static_cast<int64_t>(dim), 0, places * window.sizes[dim]);
    dims.push_back(static_cast<int64_t>(shape.size()) + 1);
    shape.append({places, window.sizes[dim]});
  }
  if (!dims.empty())
    x = t.create<spmdc::ReduceOp>(t.reshape(x, shape), kind, dims);
  for (size_t dim = 0; dim < rank; ++dim) {
    if (isDone[dim])
      continue;
    int64_t places = placesAlong(dim);
    if (places == 0) {
      SmallVector<int64_t> none(shapeOf(x));
      none[dim] = 0;
      x = t.splat(plainTypeOf(x).withShape(none), 0);
    } else {
      x = combineAlong(t, kind, x, static_cast<int64_t>(dim), window.sizes[dim], window.dilations[dim]);
      x = t.sliceDim(x, static_cast<int64_t>(dim), 0, (places - 1) * window.strides[dim] + 1, window.strides[dim]);
    }
  }
  return x;
}

Results reduceWindow(Translation &t, ReduceWindowOp op) {
  size_t rank = op.getInputs().empty() ? 0 : shapeOf(t.get(op.getInputs()[0])).size();
  std::optional<Window> window = windowOf(rank, op.getWindowDimensions(), op.getWindowStrides(), op.getBaseDilations(),
                                          op.getWindowDilations(), op.getPadding());
  if (op.getInputs().size() != 1 || !shapeOf(t.get(op.getInitValues()[0])).empty() ||
      op.getBody().getNumArguments() != 2 || !window)
    return refuse(op, "has several arrays, or a window that does not fit its operand; reduce one array at a time");
  std::optional<ReductionKind> kind = Translation::getReductionKind(op.getBody());
  if (!kind)
    return refuse(op, "combines elements by a region that is neither a sum, product, maximum, minimum, and, nor or");
  Value x = t.get(op.getInputs()[0]), init = op.getInitValues()[0];
  bool isReversed = false, isNeutral = Translation::isNeutral(*kind, init);
  std::optional<int64_t> dim = isNeutral ? prefixDim(*window, shapeOf(x), isReversed) : std::nullopt;
  if (dim)
    return SmallVector<Value>{t.create<spmdc::CumulativeOp>(plainTypeOf(x), x, *kind, *dim, isReversed)};
  // Padding is the initial value, and each window is combined with it once more.
  Value padding = isNeutral ? t.neutral(*kind, ArrayType::get({}, spmdc::typeOf(x).getElementType())) : t.get(init);
  Value result = reduceWindows(t, *kind, x, padding, *window);
  if (!isNeutral)
    result = t.combine(*kind, t.broadcast(t.get(init), shapeOf(result)), result);
  return SmallVector<Value>{result};
}

//===- select_and_scatter -------------------------------------------------===//

/// The most taps of a window here: a program grows with their number.
constexpr int64_t kMaxTaps = 1024;

/// The comparison by which a region of two elements selects; nullopt for anything else.
std::optional<spmdc::ComparisonDirection> selectionOf(Region &body) {
  Block &block = body.front();
  auto compare = llvm::dyn_cast<CompareOp>(block.front());
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2 || !compare ||
      compare.getLhs() != block.getArgument(0) || compare.getRhs() != block.getArgument(1) ||
      block.getTerminator()->getNumOperands() != 1 || block.getTerminator()->getOperand(0) != compare.getResult())
    return std::nullopt;
  return symbolizeComparisonDirection(compare.getComparisonDirection().getValue().lower());
}

/// For each window, the number of the tap that is selected: the first tap, until the region prefers a later one to it.
struct Taps {
  SmallVector<SmallVector<int64_t>> offsets;
  Value chosen; ///< i32, one for each window.
};

Taps chooseTaps(Translation &t, Value x, const Window &window, ArrayRef<int64_t> places,
                spmdc::ComparisonDirection keeps) {
  Taps taps;
  Value best;
  SmallVector<int64_t> tap(places.size(), 0);
  do {
    SmallVector<int64_t> limits;
    for (auto [start, count, stride] : llvm::zip_equal(tap, places, window.strides))
      limits.push_back(start + (count - 1) * stride + 1);
    Value value = t.slice(x, tap, limits, window.strides);
    Value number = t.splat(ArrayType::get(places, t.b.getI32Type()), static_cast<double>(taps.offsets.size()));
    if (best) {
      Value isKept = t.compare(best, keeps, value);
      best = t.select(isKept, best, value);
      taps.chosen = t.select(isKept, taps.chosen, number);
    } else {
      best = value;
      taps.chosen = number;
    }
    taps.offsets.push_back(tap);
  } while (nextIndex(tap, window.sizes));
  return taps;
}

FailureOr<Value> selectAndScatter(Translation &t, SelectAndScatterOp op) {
  Value x = t.get(op.getOperand()), source = t.get(op.getSource()), init = t.get(op.getInitValue());
  size_t rank = shapeOf(x).size();
  std::optional<Window> window =
      windowOf(rank, op.getWindowDimensions(), op.getWindowStrides(), std::nullopt, std::nullopt, op.getPadding());
  std::optional<spmdc::ComparisonDirection> keeps = selectionOf(op.getSelect());
  std::optional<ReductionKind> kind = Translation::getReductionKind(op.getScatter());
  if (!window || !shapeOf(init).empty() || elementCount(window->sizes) > kMaxTaps ||
      llvm::any_of(llvm::concat<int64_t>(window->low, window->high), [](int64_t padding) { return padding < 0; }))
    return refuse(op, "has a window that does not fit its operand");
  if (kind != ReductionKind::sum || !keeps)
    return refuse(op,
                  "is supported where a comparison selects and the scattered values are added, as in the gradient of "
                  "jax.lax.reduce_window");
  bool isMax = *keeps == spmdc::ComparisonDirection::ge || *keeps == spmdc::ComparisonDirection::gt;
  ArrayType scalar = ArrayType::get({}, spmdc::typeOf(x).getElementType());
  SmallVector<int64_t> none(rank, 0), padded, places;
  for (size_t dim = 0; dim < rank; ++dim) {
    padded.push_back(shapeOf(x)[dim] + window->low[dim] + window->high[dim]);
    places.push_back(countPlaces(padded[dim], window->sizes[dim], 1, window->strides[dim]));
  }
  if (shapeOf(source) != ArrayRef<int64_t>(places))
    return refuse(op, "has a source of another shape than its windows");
  if (llvm::is_contained(places, 0))
    return t.broadcast(init, shapeOf(x));
  // Padding is never selected: it is the least element for max, and the largest for min.
  Value wide =
      t.pad(x, t.neutral(isMax ? ReductionKind::max : ReductionKind::min, scalar), window->low, window->high, none);
  Taps taps = chooseTaps(t, wide, *window, places, *keeps);
  Value zero = t.splat(scalar, 0), result = t.broadcast(init, padded);
  for (auto [number, tap] : llvm::enumerate(taps.offsets)) {
    Value isChosen =
        t.compare(taps.chosen, spmdc::ComparisonDirection::eq, t.splatLike(taps.chosen, static_cast<double>(number)));
    Value part = t.select(isChosen, source, t.splatLike(source, 0));
    SmallVector<int64_t> high, interior;
    for (size_t dim = 0; dim < rank; ++dim) {
      interior.push_back(window->strides[dim] - 1);
      high.push_back(padded[dim] - tap[dim] - ((places[dim] - 1) * window->strides[dim] + 1));
    }
    result = t.combine(ReductionKind::sum, result, t.pad(part, zero, tap, high, interior));
  }
  SmallVector<int64_t> ends;
  for (size_t dim = 0; dim < rank; ++dim)
    ends.push_back(window->low[dim] + shapeOf(x)[dim]);
  return t.slice(result, window->low, ends, SmallVector<int64_t>(rank, 1));
}

} // namespace

void addWindowRules(Rules &rules) {
  rules.addMany<ReduceWindowOp>(reduceWindow);
  rules.add<SelectAndScatterOp>(selectAndScatter);
}

} // namespace spmdc::stablehlo
