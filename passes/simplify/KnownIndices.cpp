//===- KnownIndices.cpp - lookups at compile-time indices -----------------===//
//
// A lookup at run-time indices needs the full array on every device, or a sum of the elements that devices find.
// Compile-time indices are mostly a few runs of positions, and lookups of runs only move elements:
//
//   x[(arange(n) + 1) % n]        all but the first element, then the first: a roll
//   x[arange(n), arange(n)]       every (n + 1)th element of the flat array: a diagonal
//   table[arange(t)]              the first rows
//
//   x.at[stack([1, 1])].set(v)    an update at one place, which JAX reads from an array of two numbers
//
// These become slices, concatenations and updates at constants, which run on shards: devices exchange only the elements
// that they lack, and the derivatives are pads.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/ValueNames.h"
#include "passes/simplify/KnownIntegers.h"
#include "passes/simplify/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

#include <numeric>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_KNOWNINDICESPASS
#include "passes/simplify/Passes.h.inc"

namespace {

/// The largest number of parts that replace a lookup. Each part adds a selection for every element of the result (of a
/// concatenation), and an exchange if devices lack the elements; a lookup is one load.
constexpr size_t kMostParts = 8;

/// Builds a lookup along one dimension at positions that are an affine function of several counters.
class AffineLookup {
public:
  AffineLookup(OpBuilder &builder, Location loc, int64_t dim) : builder(builder), loc(loc), dim(dim) {}

  /// An index 0 to `size - 1`, which advances the position by `stride`.
  struct Counter {
    int64_t size = 1, stride = 0;
  };

  /// Replaces the dimension by one for each counter. Null if that cannot be written with slices.
  Value build(Value x, int64_t base, ArrayRef<Counter> counters) {
    SmallVector<Counter> all(counters);
    SmallVector<int64_t> falling;
    for (auto [place, counter] : llvm::enumerate(all)) {
      if (counter.size == 1)
        counter.stride = 0;
      if (counter.stride >= 0)
        continue;
      base += counter.stride * (counter.size - 1);
      counter.stride = -counter.stride;
      falling.push_back(dim + static_cast<int64_t>(place));
    }
    // Larger strides first; a counter of stride 0 repeats elements (`restore`).
    SmallVector<int64_t> order;
    for (auto [place, counter] : llvm::enumerate(all))
      if (counter.stride > 0)
        order.push_back(place);
    llvm::sort(order,
               [&](int64_t a, int64_t b) { return std::pair(-all[a].stride, a) < std::pair(-all[b].stride, b); });
    SmallVector<Counter> nested;
    for (int64_t place : order)
      nested.push_back(all[place]);
    Value value = buildNested(x, base, nested);
    if (!value)
      return nullptr;
    value = restore(value, typeOf(x), all, order);
    return falling.empty()
               ? value
               : builder.create<ReverseOp>(loc, typeOf(value).withoutSharding(), value, falling).getResult();
  }

private:
  using Shape = SmallVector<int64_t>;

  /// `shape` with `sizes` in place of `count` dimensions from `from` on.
  static Shape replaceDims(ArrayRef<int64_t> shape, int64_t from, int64_t count, ArrayRef<int64_t> sizes) {
    Shape result(shape.take_front(from));
    llvm::append_range(result, sizes);
    llvm::append_range(result, shape.drop_front(from + count));
    return result;
  }

  Value reshape(Value x, ArrayRef<int64_t> shape) {
    return shape == typeOf(x).getShape() ? x
                                         : builder.create<ReshapeOp>(loc, typeOf(x).withShape(shape), x).getResult();
  }

  /// `nested`: counters with descending strides other than 0.
  Value buildNested(Value x, int64_t base, SmallVector<Counter> nested) {
    Shape sizes;
    for (const Counter &counter : nested)
      sizes.push_back(counter.size);
    // A counter that continues where its inner counter ends is merged with it.
    for (size_t i = nested.size(); i-- > 1;)
      if (nested[i - 1].stride == nested[i].stride * nested[i].size) {
        nested[i - 1] = {nested[i - 1].size * nested[i].size, nested[i].stride};
        nested.erase(nested.begin() + i);
      }
    Value value = buildRows(x, base, nested);
    return value ? reshape(value, replaceDims(typeOf(x).getShape(), dim, 1, sizes)) : nullptr;
  }

  Value buildRows(Value x, int64_t base, ArrayRef<Counter> nested) {
    if (nested.size() <= 1) {
      Value taken = nested.empty() ? createSlice(builder, loc, x, dim, base, 1)
                                   : createSlice(builder, loc, x, dim, base, nested[0].size, nested[0].stride);
      return nested.empty() ? reshape(taken, replaceDims(typeOf(x).getShape(), dim, 1, {})) : taken;
    }
    Counter outer = nested.front();
    int64_t span = 1, size = typeOf(x).getDimSize(dim);
    for (const Counter &counter : nested.drop_front())
      span += counter.stride * (counter.size - 1);
    if (span > outer.stride)
      return buildOverlapping(x, base, nested);
    // Rows of `stride` elements. They begin in front of `base` if the last row would be incomplete otherwise.
    int64_t inRow =
        std::clamp<int64_t>(base + outer.size * outer.stride - size, 0, std::min(base, outer.stride - span));
    int64_t missing = base - inRow + outer.size * outer.stride - size;
    if (missing > 0 && isa<KeyType>(typeOf(x).getElementType())) // No padding value exists for keys.
      return nullptr;
    if (missing > 0)
      x = padBehind(x, missing);
    Value rows = createSlice(builder, loc, x, dim, base - inRow, outer.size * outer.stride);
    rows = reshape(rows, replaceDims(typeOf(x).getShape(), dim, 1, {outer.size, outer.stride}));
    AffineLookup inner(builder, loc, dim + 1);
    return inner.buildRows(rows, inRow, nested.drop_front());
  }

  /// Rows that overlap, as windows of a signal: one slice for each position of the shortest counter.
  Value buildOverlapping(Value x, int64_t base, ArrayRef<Counter> nested) {
    const Counter *few = llvm::min_element(nested, [](const Counter &a, const Counter &b) { return a.size < b.size; });
    if (few->size > static_cast<int64_t>(kMostParts))
      return nullptr;
    int64_t place = few - nested.begin(), along = dim + place;
    SmallVector<Counter> others(nested);
    others.erase(others.begin() + place);
    SmallVector<Value> slices;
    for (int64_t i = 0; i < few->size; ++i) {
      Value one = buildNested(x, base + i * few->stride, others);
      if (!one)
        return nullptr;
      slices.push_back(reshape(one, replaceDims(typeOf(one).getShape(), along, 0, {1})));
    }
    Shape shape = replaceDims(typeOf(slices[0]).getShape(), along, 1, few->size);
    return builder.create<ConcatenateOp>(loc, typeOf(x).withShape(shape), slices, along);
  }

  Value padBehind(Value x, int64_t count) {
    ArrayType type = typeOf(x);
    Shape low(type.getRank(), 0), high(low), none(low);
    high[dim] = count;
    Value zero = builder.create<ConstantOp>(loc, type.withShape({}), Scalar());
    Shape shape = replaceDims(type.getShape(), dim, 1, type.getDimSize(dim) + count);
    return builder.create<PadOp>(loc, type.withShape(shape), x, zero, low, high, none);
  }

  /// Restores the original sequence of counters, and broadcasts along those of stride 0.
  Value restore(Value value, ArrayType from, ArrayRef<Counter> all, ArrayRef<int64_t> order) {
    SmallVector<int64_t> perm;
    for (int64_t d = 0; d < typeOf(value).getRank(); ++d)
      perm.push_back(d);
    SmallVector<int64_t> ascending(order);
    llvm::sort(ascending);
    for (auto [to, place] : llvm::enumerate(ascending))
      perm[dim + to] = dim + (llvm::find(order, place) - order.begin());
    if (!llvm::is_sorted(perm))
      value = builder.create<TransposeOp>(loc, value, perm);
    SmallVector<int64_t> sizes, dims;
    for (const Counter &counter : all)
      sizes.push_back(counter.size);
    for (int64_t d = 0; d < dim; ++d)
      dims.push_back(d);
    for (int64_t place : ascending)
      dims.push_back(dim + place);
    for (int64_t d = dim + 1; d < from.getRank(); ++d)
      dims.push_back(d - 1 + static_cast<int64_t>(all.size()));
    Shape shape = replaceDims(from.getShape(), dim, 1, sizes);
    // Without repetition a reshape suffices, and later passes see slices through it.
    if (elementCount(shape) == typeOf(value).getNumElements())
      return reshape(value, shape);
    return builder.create<BroadcastInDimOp>(loc, from.withShape(shape), value, dims);
  }

  OpBuilder &builder;
  Location loc;
  int64_t dim;
};

/// A lookup in `array`, whose dimension `dim` is replaced by the dimensions of the indices.
struct KnownLookup {
  Value array;
  int64_t dim = 0;
  KnownIntegers indices;
};

std::optional<KnownLookup> findKnownLookup(Operation *op, IntegerKnowledge &knowledge) {
  Value array = op->getOperand(0), indices = op->getOperand(1);
  ArrayType type = typeOf(array);
  const KnownIntegers *known = knowledge.find(indices);
  if (!known || type.getNumElements() == 0)
    return std::nullopt;
  auto dim = static_cast<int64_t>(isa<TakeOp>(op) ? cast<TakeOp>(op).getDim() : cast<TakeAlongOp>(op).getDim());
  std::optional<KnownIntegers> inside = IntegerKnowledge::clamp(*known, 0, type.getDimSize(dim) - 1);
  if (!inside || inside->parts.size() > kMostParts)
    return std::nullopt;
  if (isa<TakeOp>(op))
    return KnownLookup{array, dim, *inside};
  // The indices have to be the same along other dimensions.
  KnownIntegers line{{inside->shape[dim]}, 0, inside->parts};
  if (inside->parts.size() > 1 && inside->dim != dim)
    return std::nullopt;
  for (KnownIntegers::Part &part : line.parts) {
    int64_t stride = part.value.strides[dim];
    part.value.strides[dim] = 0;
    if (!part.value.isConstant())
      return std::nullopt;
    part.value.strides = {stride};
    if (line.parts.size() == 1) {
      part.begin = 0;
      part.end = line.shape[0];
    }
  }
  return KnownLookup{array, dim, line};
}

/// Null if a lookup is better.
Value buildLookup(OpBuilder &builder, Location loc, const KnownLookup &lookup, ArrayType result) {
  const KnownIntegers &indices = lookup.indices;
  SmallVector<Value> parts;
  for (const KnownIntegers::Part &part : indices.parts) {
    SmallVector<AffineLookup::Counter> counters;
    for (auto [size, stride] : llvm::zip(indices.shape, part.value.strides))
      counters.push_back({size, stride});
    int64_t base = part.value.base;
    if (!counters.empty()) {
      counters[indices.dim].size = part.end - part.begin;
      base += counters[indices.dim].stride * part.begin;
    }
    Value made = AffineLookup(builder, loc, lookup.dim).build(lookup.array, base, counters);
    if (!made)
      return nullptr;
    parts.push_back(made);
  }
  if (parts.size() == 1 && typeOf(parts[0]) != result) // The array itself, which has a sharding.
    return builder.create<ReshapeOp>(loc, result, parts[0]);
  if (parts.size() == 1)
    return parts[0];
  return builder.create<ConcatenateOp>(loc, result, parts, lookup.dim + indices.dim);
}

/// Replaces computed starts that are known by constants: a slice or an update at constants moves elements.
void makeStartsConstant(MutableOperandRange starts, IntegerKnowledge &knowledge) {
  OpBuilder builder(starts.getOwner());
  for (OpOperand &start : starts) {
    const KnownIntegers *known = start.get().getDefiningOp<ConstantOp>() ? nullptr : knowledge.find(start.get());
    if (!known)
      continue;
    auto number = Scalar::ofInt(known->parts[0].value.base);
    start.set(builder.create<ConstantOp>(start.get().getLoc(), typeOf(start.get()), number));
  }
}

class KnownIndicesPass : public impl::KnownIndicesPassBase<KnownIndicesPass> {
  void runOnOperation() override {
    IntegerKnowledge knowledge;
    SmallVector<Operation *> lookups;
    SmallVector<SelectOp> selections;
    getOperation().walk([&](Operation *op) {
      if (isa<TakeOp, TakeAlongOp>(op))
        lookups.push_back(op);
      else if (auto select = dyn_cast<SelectOp>(op))
        selections.push_back(select);
      else if (auto slice = dyn_cast<DynamicSliceOp>(op))
        makeStartsConstant(slice.getStartsMutable(), knowledge);
      else if (auto update = dyn_cast<DynamicUpdateSliceOp>(op))
        makeStartsConstant(update.getStartsMutable(), knowledge);
    });
    for (Operation *op : lookups) {
      auto type = typeOf(op->getResult(0));
      std::optional<KnownLookup> lookup = type.getNumElements() == 0 ? std::nullopt : findKnownLookup(op, knowledge);
      OpBuilder builder(op);
      Value value = lookup ? buildLookup(builder, op->getLoc(), *lookup, type) : Value();
      if (!value)
        continue;
      moveValueNames(op->getResult(0), value);
      op->getResult(0).replaceAllUsesWith(value);
    }
    // Predicates that test whether an index is in range are known, too.
    for (SelectOp select : selections) {
      const KnownIntegers *inside = knowledge.find(select.getPredicate());
      if (!inside || inside->parts.size() != 1 || !inside->parts[0].value.isConstant())
        continue;
      Value chosen = inside->parts[0].value.base ? select.getOnTrue() : select.getOnFalse();
      if (chosen.getType() != select.getType())
        continue;
      moveValueNames(select, chosen);
      select.getResult().replaceAllUsesWith(chosen);
    }
    // Erased last: `knowledge` is keyed by value, and a new value may have the address of an erased one.
    for (Operation *op : lookups)
      if (op->use_empty())
        op->erase();
  }
};

} // namespace
} // namespace spmdc
