//===- TranslateScatter.cpp - scatter -------------------------------------===//
//
// A scatter writes windows of its operand. A sum, another reduction, or a replacement becomes a scatter along one
// dimension (WindowAccess.h); the last of several updates replaces an element, as on XLA's CPUs. For other regions,
// each position of the operand has at most one update in the end (ScatterWinners.h): with several, what an associative
// region combines them to.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Evaluation.h"
#include "frontend/stablehlo/ScatterWinners.h"

#include "ir/array/ScatterOp.h"

#include <cmath>
#include <random>

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

/// How a scatter combines elements of its operands with the updates.
struct Update {
  std::optional<size_t> number;      ///< Of the operand; all of them together if results depend on other operands.
  std::optional<ReductionKind> kind; ///< If it is a reduction.
  bool isDifference;                 ///< Whether the update is subtracted.
  bool isReplacement;                ///< Whether the operand's element does not matter.
};

/// Whether the region is scalar code that takes these types.
bool takes(Region &body, ArrayRef<Type> types) {
  return isScalarCode(body) && llvm::equal(body.getArgumentTypes(), types, [](Type argument, Type type) {
           return Translation::typeOf(argument).getElementType() == type;
         });
}

/// Of one operand. Nullopt if the result of one of several operands depends on another operand.
std::optional<Update> updateOf(ScatterOp op, size_t number) {
  Block &block = op.getUpdateComputation().front();
  size_t count = op.getInputs().size();
  BlockArgument element = block.getArgument(number), update = block.getArgument(count + number);
  Value result = block.getTerminator()->getOperand(number);
  Operation *combine = result.getDefiningOp();
  std::optional<ReductionKind> kind;
  if (count == 1)
    kind = Translation::getReductionKind(op.getUpdateComputation());
  else if (combine)
    kind = Translation::getReductionKind(combine, element, update);
  bool isNumber = !llvm::cast<RankedTensorType>(element.getType()).getElementType().isInteger(1);
  auto difference = llvm::dyn_cast_or_null<SubtractOp>(combine);
  bool isDifference =
      count == 1 && isNumber && difference && difference.getLhs() == element && difference.getRhs() == update;
  if (count > 1 && !kind && result != update)
    return std::nullopt;
  return Update{number, kind, isDifference, result == update || (count == 1 && element.use_empty())};
}

/// One for each operand, or one for all.
SmallVector<Update> updatesOf(ScatterOp op) {
  SmallVector<Update> updates;
  for (size_t number = 0; number < op.getInputs().size(); ++number) {
    std::optional<Update> update = updateOf(op, number);
    if (!update)
      return {Update{std::nullopt, std::nullopt, false, false}};
    updates.push_back(*update);
  }
  return updates;
}

/// The combined elements, for arrays of one shape.
FailureOr<Arrays> combine(Translation &t, ScatterOp op, const Update &update, ArrayRef<Value> x,
                          ArrayRef<Value> updates) {
  if (update.number && op.getInputs().size() > 1)
    return Arrays{update.kind ? t.combine(*update.kind, x.front(), updates.front()) : updates.front()};
  Results results =
      t.applyElementwise(op.getUpdateComputation(), llvm::to_vector(llvm::concat<const Value>(x, updates)));
  if (failed(results))
    return failure();
  for (auto [result, array] : llvm::zip_equal(*results, x))
    if (plainTypeOf(result) != plainTypeOf(array))
      return refuse(op, "has a region whose result is not of the type of its operand");
  return results;
}

/// Whether a region combines three elements to the same in both orders. It is evaluated, as JAX writes one in several
/// ways: as parts of complex numbers, as logaddexp. Numbers are small, so that most results are exact; those of other
/// functions differ by rounding errors.
bool isAssociative(Translation &t, ScatterOp op) {
  constexpr size_t kTriples = 64;
  size_t count = op.getInputs().size();
  std::minstd_rand random(1);
  SmallVector<Points> points[3];
  for (SmallVector<Points> &elements : points)
    for (Value input : op.getInputs()) {
      Points &own = elements.emplace_back(Points{Translation::typeOf(input.getType()).getElementType(), {}});
      for (size_t i = 0; i < kTriples; ++i) {
        auto number = static_cast<int64_t>(random() % 17) - 8;
        own.values.push_back(llvm::isa<FloatType>(own.elementType) ? Scalar::ofFloat(static_cast<double>(number) / 4)
                                                                   : roundTo(Scalar::ofInt(number), own.elementType));
      }
    }
  auto apply = [&](ArrayRef<Points> x, ArrayRef<Points> y) -> SmallVector<Points> {
    auto results = evaluateElementwise(t, op.getUpdateComputation(), llvm::to_vector(llvm::concat<const Points>(x, y)));
    if (failed(results) || results->size() != count)
      return {};
    return llvm::map_to_vector(*results, [](Tensor &result) { return Points{result.elementType, result.elements}; });
  };
  SmallVector<Points> first = apply(points[0], points[1]), second = apply(points[1], points[2]);
  if (first.empty() || second.empty())
    return false;
  SmallVector<Points> left = apply(first, points[2]), right = apply(points[0], second);
  for (auto [x, y] : llvm::zip(left, right)) {
    auto type = llvm::dyn_cast<FloatType>(x.elementType);
    double tolerance = type ? std::ldexp(64, -static_cast<int>(type.getFPMantissaWidth())) : 0;
    for (auto [a, b] : llvm::zip_equal(x.values, y.values))
      if (type ? !(std::abs(a.f - b.f) <= tolerance * (1 + std::abs(a.f))) : a.i != b.i)
        return false;
  }
  return !left.empty() && !right.empty();
}

/// The dimensions in which a single window may be outside.
SmallVector<int64_t> uncertainDims(const Windows &windows, Value indices) {
  SmallVector<int64_t> dims;
  for (auto [dim, place] : llvm::enumerate(windows.starts)) {
    std::optional<int64_t> known = place < 0 ? 0 : knownElement(indices, place);
    if (!known || *known < 0 || *known > windows.operand[dim] - windows.sizes[dim])
      dims.push_back(static_cast<int64_t>(dim));
  }
  return dims;
}

/// A scatter of one window. One that is not completely inside is dropped: its start is clamped, and what is there is
/// written again.
FailureOr<Arrays> updateWindow(Translation &t, ScatterOp op, const Update &update, const Windows &windows,
                               ArrayRef<Value> x, Value indices, ArrayRef<Value> updates) {
  SmallVector<Value> starts = startsOf(t, windows, indices);
  auto read = [&](Value array) -> Value { return t.create<spmdc::DynamicSliceOp>(array, starts, windows.sizes); };
  Arrays old = llvm::map_to_vector(x, read);
  Value isInside;
  FailureOr<Arrays> written =
      combine(t, op, update, old, llvm::map_to_vector(updates, [&](Value y) { return t.reshape(y, windows.sizes); }));
  if (failed(written))
    return written;
  for (int64_t dim : uncertainDims(windows, indices)) {
    Value isThis = isInRange(t, starts[dim], windows.operand[dim] - windows.sizes[dim] + 1);
    isInside = isInside ? t.create<spmdc::AndOp>(isInside, isThis).getResult() : isThis;
  }
  for (auto [array, before, after] : llvm::zip_equal(x, old, *written)) {
    if (isInside)
      after = t.select(t.broadcast(isInside, windows.sizes), after, before);
    after = t.create<spmdc::DynamicUpdateSliceOp>(array, after, starts);
  }
  return written;
}

/// A scatter that combines by `make`, a function of the operand, the indices, the updates, and the access.
Value scatterAlong(Translation &t, const Windows &windows, Value x, Value indices, Value updates,
                   llvm::function_ref<Value(Value, Value, Value, const Access &)> make) {
  Positions positions = positionsOf(t, windows, indices, false);
  Access access = accessOf(windows, positions, false);
  Value arranged = arrange(t, access, x), at = indicesFor(t, windows, positions, access);
  return restore(t, access, make(arranged, at, arrangeUpdates(t, access, updates), access));
}

Value add(Translation &t, const Windows &windows, Value x, Value indices, Value updates) {
  return scatterAlong(t, windows, x, indices, updates,
                      [&](Value sum, Value at, Value parts, const Access &access) -> Value {
                        if (access.isAlong)
                          return t.create<spmdc::ScatterAddAlongOp>(sum, at, parts, access.dim);
                        return t.create<spmdc::ScatterAddOp>(sum, at, parts, access.dim);
                      });
}

/// Another reduction, or a replacement. `isUnique`: no position has several updates.
Value combineAt(Translation &t, ScatterKind kind, bool isUnique, const Windows &windows, Value x, Value indices,
                Value updates) {
  return scatterAlong(t, windows, x, indices, updates,
                      [&](Value array, Value at, Value parts, const Access &access) -> Value {
                        return t.create<spmdc::ScatterOp>(plainTypeOf(array), array, at, parts, kind, access.dim,
                                                          access.isAlong, isUnique);
                      });
}

/// Whether a region computes its results from the elements alone, as `x.at[i].apply(f)` does.
bool ignoresUpdates(ScatterOp op) {
  auto arguments = op.getUpdateComputation().getArguments();
  return llvm::all_of(arguments.drop_front(op.getInputs().size()),
                      [](BlockArgument update) { return update.use_empty(); });
}

/// A function of the elements, applied to each of them as often as it is updated.
FailureOr<Arrays> applyRepeatedly(Translation &t, ScatterOp op, const Update &update, const Windows &windows,
                                  ArrayRef<Value> x, Value indices, ArrayRef<Value> updates) {
  Type i32 = t.b.getI32Type();
  Value none = t.splat(plainTypeOf(x[0]).withElementType(i32), 0);
  Value counts = add(t, windows, none, indices, t.splat(plainTypeOf(updates[0]).withElementType(i32), 1));
  // The carries: how often each element is still to be updated, and the elements.
  SmallVector<Value> initials{counts};
  llvm::append_range(initials, x);
  SmallVector<Type> types = llvm::map_to_vector(initials, [](Value value) -> Type { return plainTypeOf(value); });
  Location loc = t.loc;
  auto loop = t.create<spmdc::WhileOp>(types, initials);
  auto isLeft = [&](Value left) { return t.compare(left, spmdc::ComparisonDirection::gt, t.splatLike(left, 0)); };
  OpBuilder::InsertionGuard guard(t.b);
  SmallVector<Location> locs(types.size(), loc);
  Block &condition = loop.getCondition().emplaceBlock(), &body = loop.getBody().emplaceBlock();
  condition.addArguments(types, locs);
  t.b.setInsertionPointToStart(&condition);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(counts).size()));
  t.create<YieldOp>(t.create<spmdc::ReduceOp>(isLeft(condition.getArgument(0)), ReductionKind::or_, dims).getResult());
  body.addArguments(types, locs);
  t.b.setInsertionPointToStart(&body);
  Value left = body.getArgument(0);
  SmallVector<Value> elements = llvm::to_vector_of<Value>(body.getArguments().drop_front());
  FailureOr<Arrays> next = combine(t, op, update, elements, elements);
  if (failed(next))
    return failure();
  t.loc = loc;
  SmallVector<Value> yielded{t.create<spmdc::SubtractOp>(left, t.splatLike(left, 1))};
  for (auto [before, after] : llvm::zip_equal(elements, *next))
    yielded.push_back(t.select(isLeft(left), after, before));
  t.create<YieldOp>(yielded);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front());
}

/// Updates of all of the operand, one of each batch.
FailureOr<Arrays> updateAll(Translation &t, ScatterOp op, const Update &update, const Windows &windows,
                            ArrayRef<Value> x, ArrayRef<Value> updates) {
  SmallVector<int64_t> perm = fixedLabels(windows);
  for (int64_t number : windows.numbers)
    if (!llvm::is_contained(perm, number))
      perm.push_back(number);
  if (elementCount(windows.shape) != elementCount(windows.operand))
    return refuse(op, "updates all of its operand several times; combine the updates first, as in x + y.sum(0)");
  auto arranged = [&](Value y) { return t.reshape(t.transpose(y, perm), windows.operand); };
  return combine(t, op, update, x, llvm::map_to_vector(updates, arranged));
}

/// The results for the operands of an update, whose dimensions without starts have been cropped.
FailureOr<Arrays> scatterTogether(Translation &t, ScatterOp op, const Update &update, const Windows &windows,
                                  ArrayRef<Value> x, Value indices, ArrayRef<Value> updates) {
  if (windows.dimsWhere([&](size_t dim) { return windows.isIndexed(dim); }).empty())
    return updateAll(t, op, update, windows, x, updates);
  if (windows.isSingle() && !windows.hasBatching())
    return updateWindow(t, op, update, windows, x, indices, updates);
  if (update.isDifference)
    return Arrays{add(t, windows, x[0], indices, t.create<spmdc::NegateOp>(updates[0]))};
  bool isBool = plainTypeOf(x[0]).getElementType().isInteger(1);
  if (update.kind == ReductionKind::sum || (isBool && update.kind == ReductionKind::or_))
    return Arrays{add(t, windows, x[0], indices, updates[0])};
  if (isBool && update.kind == ReductionKind::and_) // The complement of the complements' or.
    return Arrays{t.create<spmdc::NotOp>(
        add(t, windows, t.create<spmdc::NotOp>(x[0]), indices, t.create<spmdc::NotOp>(updates[0])))};
  // The elements of one window differ.
  bool isUnique = op.getUniqueIndices() || windows.isSingle();
  if (update.isReplacement) {
    // The region may compute what it writes, of the update alone.
    FailureOr<Arrays> written = combine(t, op, update, updates, updates);
    if (failed(written))
      return written;
    return Arrays{combineAt(t, ScatterKind::replace, isUnique, windows, x[0], indices, written->front())};
  }
  if (update.kind)
    return Arrays{combineAt(t, *getScatterKind(*update.kind), isUnique, windows, x[0], indices, updates[0])};
  if (!isUnique && ignoresUpdates(op))
    return applyRepeatedly(t, op, update, windows, x, indices, updates);
  if (!isUnique && !isAssociative(t, op))
    return refuse(op, "changes elements at indices that may repeat, by a region that combines updates to other values "
                      "in another order; if the indices differ, say so by unique_indices=True");
  Positions positions = positionsOf(t, windows, indices, false);
  FailureOr<Winners> winners =
      isUnique ? FailureOr<Winners>(onlyOf(t, windows, positions, updates))
               : combinedOf(t, windows, positions, updates, [&](ArrayRef<Value> earlier, ArrayRef<Value> later) {
                   return combine(t, op, update, earlier, later);
                 });
  if (failed(winners))
    return failure();
  auto restored = [&](Value value) { return restore(t, winners->access, value); };
  FailureOr<Arrays> combined = combine(t, op, update, x, llvm::map_to_vector(winners->values, restored));
  if (failed(combined))
    return combined;
  for (auto [array, own] : llvm::zip_equal(*combined, x))
    array = t.select(restored(winners->isHit), array, own);
  return combined;
}

Results scatter(Translation &t, ScatterOp op) {
  SmallVector<Value> inputs = t.get(op.getInputs()), updates = t.get(op.getUpdates());
  Block &block = op.getUpdateComputation().front();
  ScatterDimsAttr dims = op.getScatterDimensionNumbers();
  size_t count = inputs.size();
  SmallVector<Type> types;
  for (ArrayRef<Value> arrays : {ArrayRef<Value>(inputs), ArrayRef<Value>(updates)})
    for (Value array : arrays) {
      types.push_back(spmdc::typeOf(array).getElementType());
      if (shapeOf(array) != shapeOf(arrays.front()))
        return refuse(op, "has operands or updates of different shapes");
    }
  bool isTyped = count > 0 && updates.size() == count && op.getNumResults() == count;
  for (size_t i = 0; isTyped && i < count; ++i)
    isTyped =
        types[i] == types[count + i] && Translation::typeOf(op.getResult(i).getType()).getElementType() == types[i];
  if (!isTyped || block.getTerminator()->getNumOperands() != count || !takes(op.getUpdateComputation(), types))
    return refuse(op, "has updates, results or a region that do not fit its operands");
  std::optional<Windows> windows = windowsOf(
      {dims.getUpdateWindowDims(), dims.getInsertedWindowDims(), dims.getInputBatchingDims(),
       dims.getScatterIndicesBatchingDims(), dims.getScatterDimsToOperandDims(), dims.getIndexVectorDim()},
      shapeOf(inputs.front()), shapeOf(t.get(op.getScatterIndices())), shapeOf(updates.front()), std::nullopt);
  if (!windows)
    return refuse(op, "has dimension numbers that do not fit its operands and updates");
  One indices = indicesOf(t, op, op.getScatterIndices(), elementCount(windows->operand));
  if (failed(indices))
    return failure();
  if (elementCount(windows->operand) == 0 || elementCount(windows->shape) == 0)
    return inputs;
  Arrays results;
  for (const Update &update : updatesOf(op)) {
    size_t first = update.number.value_or(0), size = update.number ? 1 : count;
    ArrayRef<Value> own = ArrayRef(inputs).slice(first, size);
    Windows cropped;
    Arrays parts = llvm::map_to_vector(own, [&](Value input) {
      cropped = *windows; // All are of one shape.
      return cropFixedDims(t, cropped, input, false);
    });
    FailureOr<Arrays> changed =
        scatterTogether(t, op, update, cropped, parts, *indices, ArrayRef(updates).slice(first, size));
    if (failed(changed))
      return failure();
    for (auto [input, part] : llvm::zip_equal(own, *changed))
      results.push_back(putBack(t, *windows, input, part));
  }
  return results;
}

} // namespace

void addScatterRules(Rules &rules) { rules.addMany<ScatterOp>(scatter); }

} // namespace spmdc::stablehlo
