//===- TranslateSelectAndScatter.cpp - gradients of pools -----------------===//
//
// The taps of all windows are compared one after the other, and the source is added where a tap was selected.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Window.h"

#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

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
      Window::get(rank, op.getWindowDimensions(), op.getWindowStrides(), std::nullopt, std::nullopt, op.getPadding());
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
    places.push_back(window->countPlaces(dim, padded[dim]));
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

void addSelectAndScatterRules(Rules &rules) { rules.add<SelectAndScatterOp>(selectAndScatter); }

} // namespace spmdc::stablehlo
