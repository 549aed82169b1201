//===- EmitIndex.cpp - x[...] ---------------------------------------------===//
//
// NumPy's basic indexing: integers select one position and drop the dimension, slices select a range, `None` adds a
// dimension of size 1, `...` stands for all dimensions that are not named. An integer known only at run time counts
// from the end if it is negative, and is clamped. Advanced indexing: arrays of integers are taken together, element by
// element; an integer next to them counts as an array of one element. Their dimensions take the position of the
// indices, or come first if other items separate the indices.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

/// One dimension's part of an index: elements start, start + step, ... (count of them).
struct DimSlice {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

/// Python's rule for a bound of a slice: from the end if negative, then clipped.
int64_t clipBound(int64_t bound, int64_t size, bool isBackwards) {
  if (bound < 0)
    bound += size;
  return std::clamp<int64_t>(bound, isBackwards ? -1 : 0, isBackwards ? size - 1 : size);
}

/// An index known at run time: the dimension of the array that it picks from, and the positions in there.
struct Lookup {
  int64_t dim = 0, size = 0;
  mlir::Value positions;
};

/// Merges several indices into one: the indexed dimensions of the array are merged at the position of the first.
Lookup mergeLookups(Emitter &e, mlir::Value &array, llvm::ArrayRef<Lookup> lookups, llvm::ArrayRef<int64_t> shape) {
  llvm::ArrayRef<int64_t> sizes = plainTypeOf(array).getShape();
  int64_t first = lookups.front().dim, rank = static_cast<int64_t>(sizes.size());
  Lookup merged{first, 1, {}};
  llvm::SmallVector<int64_t> perm, whole;
  auto isIndexed = [&](int64_t dim) {
    return llvm::any_of(lookups, [&](const Lookup &lookup) { return lookup.dim == dim; });
  };
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim == first) {
      for (const Lookup &lookup : lookups) {
        perm.push_back(lookup.dim);
        merged.size *= lookup.size;
      }
      whole.push_back(merged.size);
    }
    if (!isIndexed(dim)) {
      perm.push_back(dim);
      whole.push_back(sizes[dim]);
    }
  }
  array = e.reshape(e.transpose(array, perm), whole);
  for (const Lookup &lookup : lookups) {
    ArrayType type = plainTypeOf(lookup.positions);
    auto splat = [&](int64_t value) { return e.splat(type, Scalar::ofInt(value)); };
    mlir::Value inside = e.create<ClampOp>(type, splat(0), lookup.positions, splat(lookup.size - 1));
    inside = e.broadcastTo(e.convert(inside, positionDType(merged.size)), shape);
    ArrayType wide = plainTypeOf(inside);
    if (merged.positions)
      inside = e.apply<AddOp>(e.apply<MultiplyOp>(merged.positions, e.splat(wide, Scalar::ofInt(lookup.size))), inside);
    merged.positions = inside;
  }
  return merged;
}

} // namespace

static DimSlice sliceOf(Emitter &e, const SliceExpr &slice, int64_t size) {
  auto bound = [&](const Expr *expr) -> std::optional<int64_t> {
    if (!expr)
      return std::nullopt;
    Value value = e.need(*expr);
    if (value.kind == ValueKind::None)
      return std::nullopt;
    if (value.isArray())
      e.fail(expr->range,
             "a slice's bound must be known while compiling; take(x, start + arange(n), axis=) gives n elements "
             "from a start known only at run time");
    if (!value.isInt())
      e.fail(expr->range, "a slice's bound must be an integer, not " + value.describe());
    return value.constant.i;
  };
  std::optional<int64_t> low = bound(slice.low), high = bound(slice.high), step = bound(slice.step);
  DimSlice cut;
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

/// Indexes a tuple or a list: one position, or a slice.
Value Emitter::indexSequence(const Value &base, const SubscriptExpr &e) {
  std::string what = base.describe();
  if (e.indices.size() != 1)
    fail(e.range, what + " must be indexed with one integer or slice");
  int64_t size = base.elements.size();
  if (const auto *slice = dynAs<SliceExpr>(*e.indices[0])) {
    DimSlice cut = sliceOf(*this, *slice, size);
    Value part = base;
    part.range = part.origin = e.range;
    part.elements.clear();
    for (int64_t i = 0; i < cut.count; ++i)
      part.elements.push_back(base.elements[cut.start + i * cut.step]);
    return part;
  }
  Value position = need(*e.indices[0]);
  if (base.kind == ValueKind::List && position.isArray() && position.rank() == 0 && spmd::isInteger(position.dtype()))
    return stackedElement(base, position, e.range);
  if (!position.isInt())
    fail(position.range, what + " must be indexed with " +
                             (base.kind == ValueKind::List ? "one integer" : "an integer known while compiling") +
                             ", not " + position.describe());
  int64_t i = position.constant.i;
  if (i < -size || i >= size)
    fail(position.range, "index " + std::to_string(i) + " is outside of " + what + " of " + std::to_string(size));
  Value element = base.elements[i < 0 ? i + size : i];
  element.range = element.origin = e.range;
  return element;
}

Value Emitter::keyRow(const Value &keys, int64_t row) {
  llvm::ArrayRef<int64_t> shape = plainTypeOf(keys.array).getShape();
  return Value::ofKey(reshape(sliceDim(keys.array, 0, row, row + 1), shape.drop_front()), keys.range);
}

/// The elements at run-time indices. `places` are the positions of all integers of the index.
static mlir::Value lookUp(Emitter &e, mlir::Value array, llvm::ArrayRef<Lookup> lookups, llvm::ArrayRef<Value> integers,
                          llvm::ArrayRef<int64_t> places, Range range) {
  auto take = [&](const Lookup &lookup) {
    ArrayType type = plainTypeOf(array), indices = plainTypeOf(lookup.positions);
    array = e.create<TakeOp>(type.withShape(TakeOp::inferShape(type, indices, lookup.dim)), array, lookup.positions,
                             lookup.dim);
  };
  llvm::SmallVector<int64_t> shape = e.commonShape(integers, range, "the indices");
  if (shape.empty()) {
    for (const Lookup &lookup : llvm::reverse(lookups))
      take(lookup);
    return array;
  }
  Lookup all = lookups.size() == 1 ? lookups.front() : mergeLookups(e, array, lookups, shape);
  take(all);
  if (places.back() - places.front() + 1 == static_cast<int64_t>(places.size()))
    return array;
  // Indices that are not adjacent have no common position: their dimensions come first.
  llvm::SmallVector<int64_t> perm;
  auto count = static_cast<int64_t>(shape.size()), rank = plainTypeOf(array).getRank();
  for (int64_t d = 0; d < count; ++d)
    perm.push_back(all.dim + d);
  for (int64_t d = 0; d < rank; ++d)
    if (d < all.dim || d >= all.dim + count)
      perm.push_back(d);
  return e.transpose(array, perm);
}

Value Emitter::indexArray(const Value &base, const SubscriptExpr &e) {
  if (!base.isNumeric() && !base.isKey())
    fail(e.base->range, base.describe() + " cannot be indexed");
  int64_t rank = base.rank();
  int64_t named = 0, ellipses = 0;
  for (const Expr *item : e.indices) {
    ellipses += item->kind == ExprKind::Ellipsis;
    named += item->kind != ExprKind::Ellipsis && item->kind != ExprKind::None;
    if (ellipses > 1 && item->kind == ExprKind::Ellipsis)
      fail(item->range, "an index may have at most one '...'");
  }
  if (named > rank)
    fail(e.range,
         "too many indices: " + std::to_string(named) + " for " + base.describe() + " of rank " + std::to_string(rank));

  mlir::Value array = elements(base);
  llvm::ArrayRef<int64_t> whole = plainTypeOf(array).getShape();
  llvm::SmallVector<int64_t> starts(whole.size(), 0), limits(whole), strides(whole.size(), 1), reversed;
  llvm::SmallVector<int64_t> shape; // With dropped and added dimensions.
  std::vector<Lookup> lookups;
  std::vector<Value> positions;      // All integers; those known at run time are the lookups.
  llvm::SmallVector<int64_t> places; // Their positions among the dimensions, None counted.
  int64_t dim = 0, place = 0;
  auto keep = [&](int64_t count) {
    for (; count > 0; --count, ++place)
      shape.push_back(base.shape()[dim++]);
  };
  for (const Expr *item : e.indices) {
    if (item->kind == ExprKind::None) {
      shape.push_back(1);
      ++place;
      continue;
    }
    if (item->kind == ExprKind::Ellipsis) {
      keep(rank - named);
      continue;
    }
    int64_t size = base.shape()[dim];
    if (const auto *slice = dynAs<SliceExpr>(*item)) {
      DimSlice cut = sliceOf(*this, *slice, size);
      // A slice with a negative step is a forward slice from its last element, reversed.
      int64_t last = cut.start + (cut.count - 1) * cut.step;
      int64_t first = cut.step < 0 ? last : cut.start;
      starts[dim] = cut.count == 0 ? 0 : first;
      strides[dim] = cut.count <= 1 ? 1 : std::abs(cut.step);
      limits[dim] = cut.count == 0 ? 0 : (cut.step < 0 ? cut.start : last) + 1;
      if (cut.step < 0 && cut.count > 1)
        reversed.push_back(dim);
      shape.push_back(cut.count);
      ++dim;
      ++place;
      continue;
    }
    Value position = need(*item);
    positions.push_back(position);
    places.push_back(place++);
    if (position.isArray()) {
      if (!spmd::isInteger(position.dtype()))
        fail(position.range,
             "an index must be an integer, a slice, None or '...', not " + position.describe() +
                 (position.dtype() == spmd::DType::Bool ? "; where(mask, x, y) selects element by element" : ""));
      if (size == 0)
        fail(position.range, "dimension " + std::to_string(dim) + " of " + base.describe() + " is empty");
      lookups.push_back({static_cast<int64_t>(shape.size()), size, indicesOf(*this, position, size)});
      shape.push_back(size);
      ++dim;
      continue;
    }
    if (position.isSequence())
      fail(position.range, "a list is not an index; stack([..]) turns it into an array of integers");
    if (!position.isInt())
      fail(position.range, "an index must be an integer, a slice, None or '...', not " + position.describe());
    int64_t i = position.constant.i;
    if (i < -size || i >= size)
      fail(position.range,
           "index " + std::to_string(i) + " is outside of dimension " + std::to_string(dim) + " of " + base.describe());
    starts[dim] = i < 0 ? i + size : i;
    limits[dim] = starts[dim] + 1;
    ++dim;
  }
  keep(rank - dim);
  llvm::append_range(shape, whole.drop_front(rank));
  mlir::Value result = reverse(slice(array, starts, limits, strides), reversed);
  result = reshape(result, shape);
  if (!lookups.empty())
    result = lookUp(*this, result, lookups, positions, places, e.range);
  return Value::ofSameKind(base, result, base.dtypeClass().isWeak, e.range);
}

} // namespace spmdc
