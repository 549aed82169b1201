//===- EmitIndex.cpp - x[...] with positions known while compiling --------===//
//
// NumPy's basic indexing: integers take one position and drop the dimension, slices cut, `None` adds a dimension of
// size 1, `...` stands for all dimensions that are not named.
//
//===----------------------------------------------------------------------===//

#include "frontend/Emitter.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

/// One dimension's part of an index: elements start, start + step, ... (count of them).
struct DimCut {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

/// Python's rule for a bound of a slice: from the end where negative, then clipped.
int64_t clipBound(int64_t bound, int64_t size, bool isBackwards) {
  if (bound < 0)
    bound += size;
  return std::clamp<int64_t>(bound, isBackwards ? -1 : 0, isBackwards ? size - 1 : size);
}

} // namespace

static DimCut cutOf(Emitter &e, const SliceExpr &slice, int64_t size) {
  auto bound = [&](const Expr *expr) -> std::optional<int64_t> {
    if (!expr)
      return std::nullopt;
    Value value = e.need(*expr);
    if (value.kind == ValueKind::None)
      return std::nullopt;
    if (value.isArray())
      e.failUnsupported(expr->range, "a slice with a bound known only at run time");
    if (!value.isInt())
      e.fail(expr->range, "a slice's bound is an integer, not " + value.describe());
    return value.constant.i;
  };
  std::optional<int64_t> low = bound(slice.low), high = bound(slice.high), step = bound(slice.step);
  DimCut cut;
  cut.step = step.value_or(1);
  if (cut.step == 0)
    e.fail(slice.step->range, "a slice's step cannot be 0");
  bool isBackwards = cut.step < 0;
  cut.start = low ? clipBound(*low, size, isBackwards) : isBackwards ? size - 1 : 0;
  int64_t stop = high ? clipBound(*high, size, isBackwards) : isBackwards ? -1 : size;
  int64_t span = isBackwards ? cut.start - stop : stop - cut.start;
  uint64_t stride = isBackwards ? 0 - static_cast<uint64_t>(cut.step) : cut.step;
  cut.count = span <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride + 1);
  return cut;
}

Value Emitter::index(const SubscriptExpr &e) {
  Value base = need(*e.base);
  if (!base.isSequence())
    return indexArray(base, e);
  return indexSequence(base, e);
}

/// A tuple or a list: one position, or a part of it.
Value Emitter::indexSequence(const Value &base, const SubscriptExpr &e) {
  std::string what = base.describe();
  if (e.indices.size() != 1)
    fail(e.range, what + " is indexed with one integer or slice");
  int64_t size = base.elements.size();
  if (const auto *slice = dynAs<SliceExpr>(*e.indices[0])) {
    DimCut cut = cutOf(*this, *slice, size);
    Value part = base;
    part.range = part.origin = e.range;
    part.elements.clear();
    for (int64_t i = 0; i < cut.count; ++i)
      part.elements.push_back(base.elements[cut.start + i * cut.step]);
    return part;
  }
  Value position = need(*e.indices[0]);
  if (!position.isInt())
    fail(position.range, what + " is indexed with an integer known while compiling, not " + position.describe());
  int64_t i = position.constant.i;
  if (i < -size || i >= size)
    fail(position.range, "index " + std::to_string(i) + " is outside of " + what + " of " + std::to_string(size));
  Value element = base.elements[i < 0 ? i + size : i];
  element.range = element.origin = e.range;
  return element;
}

Value Emitter::indexArray(const Value &base, const SubscriptExpr &e) {
  if (!base.isNumeric())
    fail(e.base->range, base.describe() + " cannot be indexed");
  int64_t rank = base.rank();
  int64_t named = 0, ellipses = 0;
  for (const Expr *item : e.indices) {
    ellipses += item->kind == ExprKind::Ellipsis;
    named += item->kind != ExprKind::Ellipsis && item->kind != ExprKind::None;
    if (ellipses > 1 && item->kind == ExprKind::Ellipsis)
      fail(item->range, "an index has at most one '...'");
  }
  if (named > rank)
    fail(e.range,
         "too many indices: " + std::to_string(named) + " for " + base.describe() + " of rank " + std::to_string(rank));

  llvm::SmallVector<int64_t> starts(rank, 0), limits(base.shape()), strides(rank, 1), reversed;
  llvm::SmallVector<int64_t> shape; // With dropped and added dimensions.
  int64_t dim = 0;
  auto keep = [&](int64_t count) {
    for (; count > 0; --count)
      shape.push_back(base.shape()[dim++]);
  };
  for (const Expr *item : e.indices) {
    if (item->kind == ExprKind::None) {
      shape.push_back(1);
      continue;
    }
    if (item->kind == ExprKind::Ellipsis) {
      keep(rank - named);
      continue;
    }
    int64_t size = base.shape()[dim];
    if (const auto *slice = dynAs<SliceExpr>(*item)) {
      DimCut cut = cutOf(*this, *slice, size);
      // A backwards cut is a forwards one from its last element, reversed.
      int64_t last = cut.start + (cut.count - 1) * cut.step;
      int64_t first = cut.step < 0 ? last : cut.start;
      starts[dim] = cut.count == 0 ? 0 : first;
      strides[dim] = cut.count <= 1 ? 1 : std::abs(cut.step);
      limits[dim] = cut.count == 0 ? 0 : (cut.step < 0 ? cut.start : last) + 1;
      if (cut.step < 0 && cut.count > 1)
        reversed.push_back(dim);
      shape.push_back(cut.count);
      ++dim;
      continue;
    }
    Value position = need(*item);
    if (position.isArray())
      failUnsupported(position.range, "an index known only at run time");
    if (position.isSequence())
      failUnsupported(position.range, "a list as an index");
    if (!position.isInt())
      fail(position.range, "an index is an integer, a slice, None or '...', not " + position.describe());
    int64_t i = position.constant.i;
    if (i < -size || i >= size)
      fail(position.range,
           "index " + std::to_string(i) + " is outside of dimension " + std::to_string(dim) + " of " + base.describe());
    starts[dim] = i < 0 ? i + size : i;
    limits[dim] = starts[dim] + 1;
    ++dim;
  }
  keep(rank - dim);
  mlir::Value result = reverse(slice(materialize(base), starts, limits, strides), reversed);
  return Value::ofArray(reshape(result, shape), base.dtypeClass().isWeak, e.range);
}

} // namespace spmdc
