//===- TranslateScatter.cpp - scatter -------------------------------------===//
//
// A scatter writes windows of its operand. A sum becomes a scatter-add along one dimension (WindowAccess.h). For other
// regions, each position of the operand has at most one update in the end: with several, the last one where the update
// replaces the element, as XLA writes them on a CPU, or the largest (smallest) one.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Evaluation.h"
#include "frontend/stablehlo/WindowAccess.h"

#include "ir/array/Positions.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

/// How a scatter combines an element of one of its operands with one of the updates.
struct Update {
  size_t number;                     ///< Of the operand.
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

/// Nullopt if the result of one of several operands depends on another operand.
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
  if (isNumber && (kind == ReductionKind::and_ || kind == ReductionKind::or_))
    kind = std::nullopt; // A scatter adds bools, which are or-ed, but not the bits of numbers.
  auto difference = llvm::dyn_cast_or_null<SubtractOp>(combine);
  bool isDifference =
      count == 1 && isNumber && difference && difference.getLhs() == element && difference.getRhs() == update;
  if (count > 1 && !kind && result != update)
    return std::nullopt;
  return Update{number, kind, isDifference, result == update || (count == 1 && element.use_empty())};
}

/// The combined elements, for arrays of one shape.
One combine(Translation &t, ScatterOp op, const Update &update, Value x, Value updates) {
  if (op.getInputs().size() > 1)
    return update.kind ? t.combine(*update.kind, x, updates) : updates;
  Results results = t.applyElementwise(op.getUpdateComputation(), {x, updates});
  if (failed(results))
    return failure();
  if (plainTypeOf(results->front()) != plainTypeOf(x))
    return refuse(op, "has a region whose result is not of the type of its operand");
  return results->front();
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
One updateWindow(Translation &t, ScatterOp op, const Update &update, const Windows &windows, Value x, Value indices,
                 Value updates) {
  SmallVector<Value> starts = startsOf(t, windows, indices);
  Value window = t.create<spmdc::DynamicSliceOp>(x, starts, windows.sizes), isInside;
  One written = combine(t, op, update, window, t.reshape(updates, windows.sizes));
  if (failed(written))
    return written;
  for (int64_t dim : uncertainDims(windows, indices)) {
    Value isThis = isInRange(t, starts[dim], windows.operand[dim] - windows.sizes[dim] + 1);
    isInside = isInside ? t.create<spmdc::AndOp>(isInside, isThis).getResult() : isThis;
  }
  if (isInside)
    written = t.select(t.broadcast(isInside, windows.sizes), *written, window);
  return t.create<spmdc::DynamicUpdateSliceOp>(x, *written, starts).getResult();
}

Value add(Translation &t, const Windows &windows, Value x, Value indices, Value updates) {
  Positions positions = positionsOf(t, windows, indices, false);
  Access access = accessOf(windows, positions, false);
  Value sum = arrange(t, access, x), parts = arrangeUpdates(t, access, updates);
  Value at = indicesFor(t, windows, positions, access);
  if (access.isAlong)
    sum = t.create<spmdc::ScatterAddAlongOp>(sum, at, parts, access.dim);
  else
    sum = t.create<spmdc::ScatterAddOp>(sum, at, parts, access.dim);
  return restore(t, access, sum);
}

/// For each position of the operand, the update that is written there.
struct Winners {
  Value isHit, value; ///< As the operand is arranged by `access`.
  Access access;
};

/// `numbers`: from 1, for each entry of `targets`, whose positions differ where they are inside. Gives the number at
/// each of `count` positions, and 0 where none is.
Value invert(Translation &t, Value targets, Value numbers, int64_t dim, int64_t count) {
  ArrayType type = plainTypeOf(numbers);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  Value zero = t.splat(type.withShape(shape), 0);
  if (shape.size() == 1)
    return t.create<spmdc::ScatterAddOp>(zero, targets, numbers, dim);
  return t.create<spmdc::ScatterAddAlongOp>(zero, targets, numbers, dim);
}

/// Sorted positions, but for each run of equal ones all but the last replaced by `count`, which is outside.
Value keepLast(Translation &t, Value sorted, int64_t dim, int64_t count) {
  int64_t size = shapeOf(sorted)[dim];
  SmallVector<int64_t> one(shapeOf(sorted));
  one[dim] = 1;
  Value outside = t.splat(plainTypeOf(sorted).withShape(one), -1); // No position.
  Value next = t.concatenate({t.sliceDim(sorted, dim, 1, size), outside}, dim);
  Value isLast = t.compare(sorted, spmdc::ComparisonDirection::ne, next);
  return t.select(isLast, sorted, t.splatLike(sorted, static_cast<double>(count)));
}

Value addOne(Translation &t, Value x) { return t.create<spmdc::AddOp>(x, t.splatLike(x, 1)); }
Value subtractOne(Translation &t, Value x) { return t.create<spmdc::SubtractOp>(x, t.splatLike(x, 1)); }

Value countFromOne(Translation &t, ArrayRef<int64_t> shape, int64_t dim) {
  IntegerType type = getPositionType(t.b.getContext(), shape[dim]);
  return addOne(t, t.create<spmdc::IotaOp>(ArrayType::get(shape, type), dim));
}

/// The last of the updates of each position. Updates are not moved, but their numbers: the updates at a position are
/// then taken, so that their bits do not change.
Winners lastOf(Translation &t, const Windows &windows, const Positions &positions, Value updates, bool isUnique) {
  Access access = accessOf(windows, positions, true);
  Value targets = groupByBatches(t, windows, positions), numbers;
  int64_t dim = access.dim;
  if (isUnique) {
    numbers = countFromOne(t, shapeOf(targets), dim);
  } else { // XLA writes in row-major order of the indices, which a stable sort keeps.
    Value order = t.create<spmdc::ArgsortOp>(targets, dim, false);
    targets = keepLast(t, t.create<spmdc::TakeAlongOp>(targets, order, dim), dim, positions.count);
    numbers = addOne(t, order);
  }
  Value number = invert(t, targets, numbers, dim, positions.count);
  Value isHit = t.compare(number, spmdc::ComparisonDirection::gt, t.splatLike(number, 0));
  Value source = subtractOne(t, number); // -1 is clamped, and not used.
  SmallVector<int64_t> leading = llvm::to_vector(llvm::seq<int64_t>(0, dim + 1));
  // The updates as [batching dimensions, number, the operand's other dimensions].
  SmallVector<int64_t> grouped(access.shape);
  grouped[dim] = shapeOf(targets).back();
  Value sources = t.reshape(arrangeUpdates(t, access, updates), grouped), value;
  if (access.isAlong)
    value = t.create<spmdc::TakeAlongOp>(sources, t.broadcast(source, access.shape, leading), dim);
  else
    value = t.create<spmdc::TakeOp>(sources, source, dim);
  return {t.broadcast(isHit, access.shape, leading), value, access};
}

/// The largest of the updates of each position, where one of them that is NaN is the largest: the last in the order by
/// position and value.
Winners largestOf(Translation &t, const Windows &windows, const Positions &positions, Value updates) {
  Access access = accessOf(windows, positions, true);
  SmallVector<int64_t> grouped(access.shape);
  Value targets = groupByBatches(t, windows, positions);
  int64_t dim = access.dim;
  grouped[dim] = shapeOf(targets).back();
  targets = t.broadcast(targets, grouped, llvm::to_vector(llvm::seq<int64_t>(0, dim + 1)));
  Value values = t.reshape(arrangeUpdates(t, access, updates), grouped);
  auto takeAlong = [&](Value x, Value order) -> Value { return t.create<spmdc::TakeAlongOp>(x, order, dim); };
  for (bool isByValue : {true, false}) {
    Value order = t.create<spmdc::ArgsortOp>(isByValue ? values : targets, dim, false);
    targets = takeAlong(targets, order);
    values = takeAlong(values, order);
  }
  Value number =
      invert(t, keepLast(t, targets, dim, positions.count), countFromOne(t, grouped, dim), dim, positions.count);
  Value isHit = t.compare(number, spmdc::ComparisonDirection::gt, t.splatLike(number, 0));
  return {isHit, takeAlong(values, subtractOne(t, number)), access};
}

/// For floats -x, for integers the complement: both reverse the order, and twice is the identity.
Value reverseOrder(Translation &t, Value x) {
  if (llvm::isa<FloatType>(spmdc::typeOf(x).getElementType()))
    return t.create<spmdc::NegateOp>(x);
  return t.create<spmdc::NotOp>(x);
}

/// Updates of all of the operand, one of each batch.
One updateAll(Translation &t, ScatterOp op, const Update &update, const Windows &windows, Value x, Value updates) {
  SmallVector<int64_t> perm = fixedLabels(windows);
  for (int64_t number : windows.numbers)
    if (!llvm::is_contained(perm, number))
      perm.push_back(number);
  if (spmdc::typeOf(updates).getNumElements() != spmdc::typeOf(x).getNumElements())
    return refuse(op, "updates all of its operand several times; combine the updates first, as in x + y.sum(0)");
  return combine(t, op, update, x, t.reshape(t.transpose(updates, perm), windows.operand));
}

/// The result for one operand, whose dimensions without starts have been cropped.
One scatterOne(Translation &t, ScatterOp op, Update update, const Windows &windows, Value x, Value indices,
               Value updates) {
  if (windows.dimsWhere([&](size_t dim) { return windows.isIndexed(dim); }).empty())
    return updateAll(t, op, update, windows, x, updates);
  if (windows.isSingle() && !windows.hasBatching())
    return updateWindow(t, op, update, windows, x, indices, updates);
  if (update.isDifference)
    return add(t, windows, x, indices, t.create<spmdc::NegateOp>(updates));
  if (update.kind == ReductionKind::sum || update.kind == ReductionKind::or_)
    return add(t, windows, x, indices, updates);
  if (update.kind == ReductionKind::and_)
    return reverseOrder(t, add(t, windows, reverseOrder(t, x), indices, reverseOrder(t, updates)));
  // The elements of one window differ.
  bool isUnique = op.getUniqueIndices() || windows.isSingle();
  bool isMin = update.kind == ReductionKind::min, isMax = update.kind == ReductionKind::max;
  if (!isUnique && update.kind == ReductionKind::prod)
    return refuse(op, "multiplies elements at indices that may repeat; if they differ, say so, as in "
                      "x.at[i].multiply(y, unique_indices=True)");
  if (!isUnique && !update.isReplacement && !isMin && !isMax)
    return refuse(op, "changes elements at indices that may repeat, by a region that is neither a sum, a maximum, a "
                      "minimum nor the update; if they differ, say so by unique_indices=True");
  Positions positions = positionsOf(t, windows, indices, false);
  Winners winners;
  if (isUnique || update.isReplacement) {
    winners = lastOf(t, windows, positions, updates, isUnique);
  } else {
    winners = largestOf(t, windows, positions, isMin ? reverseOrder(t, updates) : updates);
    winners.value = isMin ? reverseOrder(t, winners.value) : winners.value;
  }
  One combined = combine(t, op, update, x, restore(t, winners.access, winners.value));
  if (failed(combined))
    return combined;
  return t.select(restore(t, winners.access, winners.isHit), *combined, x);
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
  SmallVector<Value> results;
  for (size_t i = 0; i < count; ++i) {
    std::optional<Update> update = updateOf(op, i);
    if (!update)
      return refuse(op, "has several operands whose results depend on each other; scatter one array at a time");
    Windows cropped = *windows;
    Value part = cropFixedDims(t, cropped, inputs[i], false);
    One result = scatterOne(t, op, *update, cropped, part, *indices, updates[i]);
    if (failed(result))
      return failure();
    results.push_back(putBack(t, *windows, inputs[i], *result));
  }
  return results;
}

} // namespace

void addScatterRules(Rules &rules) { rules.addMany<ScatterOp>(scatter); }

} // namespace spmdc::stablehlo
