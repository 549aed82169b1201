//===- TranslateSelectAndScatter.cpp - gradients of pools -----------------===//
//
// The taps of all windows are compared one after the other, and the source is combined where a tap was selected.
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

/// `isInside`: where `x` is no padding, which is never selected; null if its elements are not selected either.
Taps chooseTaps(Translation &t, Value x, Value isInside, const Window &window, ArrayRef<int64_t> places,
                spmdc::ComparisonDirection keeps) {
  Taps taps;
  Value best, isBestInside;
  SmallVector<int64_t> tap(places.size(), 0);
  do {
    SmallVector<int64_t> limits;
    for (auto [start, count, stride] : llvm::zip_equal(tap, places, window.strides))
      limits.push_back(start + (count - 1) * stride + 1);
    Value value = t.slice(x, tap, limits, window.strides), isValueInside;
    if (isInside)
      isValueInside = t.slice(isInside, tap, limits, window.strides);
    Value number = t.splat(ArrayType::get(places, t.b.getI32Type()), static_cast<double>(taps.offsets.size()));
    if (best) {
      Value isKept = t.compare(best, keeps, value);
      if (isInside) {
        Value isOutside = t.create<spmdc::NotOp>(isValueInside);
        isKept = t.create<spmdc::AndOp>(isBestInside, t.create<spmdc::OrOp>(isOutside, isKept));
        isBestInside = t.create<spmdc::OrOp>(isBestInside, isValueInside);
      }
      best = t.select(isKept, best, value);
      taps.chosen = t.select(isKept, taps.chosen, number);
    } else {
      best = value;
      isBestInside = isValueInside;
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
  if (!kind || !keeps)
    return refuse(op, "is supported where a comparison selects and one operation combines the scattered values, as in "
                      "the gradient of jax.lax.reduce_window");
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
  // Padding of floats is infinite. Integers and bools have no number that all others are preferred to.
  ReductionKind order = isMax ? ReductionKind::max : ReductionKind::min;
  FailureOr<Value> around = t.padFor(op, x, t.neutral(order, scalar), window->low, window->high, none);
  if (failed(around))
    return failure();
  Value wide = *around, isInside;
  if (!llvm::isa<FloatType>(scalar.getElementType()) && wide != x) {
    ArrayType bools = plainTypeOf(x).withElementType(t.b.getI1Type());
    isInside = t.pad(t.splat(bools, 1), t.splat(bools.withShape({}), 0), window->low, window->high, none);
  }
  Taps taps = chooseTaps(t, wide, isInside, *window, places, *keeps);
  Value unchanged = t.neutral(*kind, scalar), result = t.broadcast(init, padded);
  for (auto [number, tap] : llvm::enumerate(taps.offsets)) {
    Value isChosen =
        t.compare(taps.chosen, spmdc::ComparisonDirection::eq, t.splatLike(taps.chosen, static_cast<double>(number)));
    Value part = t.select(isChosen, source, t.neutral(*kind, plainTypeOf(source)));
    SmallVector<int64_t> high, interior;
    for (size_t dim = 0; dim < rank; ++dim) {
      interior.push_back(window->strides[dim] - 1);
      high.push_back(padded[dim] - tap[dim] - ((places[dim] - 1) * window->strides[dim] + 1));
    }
    result = t.combine(*kind, result, t.pad(part, unchanged, tap, high, interior));
  }
  SmallVector<int64_t> ends;
  for (size_t dim = 0; dim < rank; ++dim)
    ends.push_back(window->low[dim] + shapeOf(x)[dim]);
  return t.slice(result, window->low, ends, SmallVector<int64_t>(rank, 1));
}

} // namespace

void addSelectAndScatterRules(Rules &rules) { rules.add<SelectAndScatterOp>(selectAndScatter); }

} // namespace spmdc::stablehlo
