//===- TranslateScatter.cpp - scatter -------------------------------------===//
//
// A scatter is brought into the form of array.scatter_add: updates along one dimension of the operand, which may be the
// operand's elements in row-major order. A scatter that sets adds the bits of the updates to zeros, and selects where
// an update has come; of several updates of one element the last one is kept, as XLA has it on a CPU.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/IndexForm.h"

#include "ir/array/Positions.h"
#include "ir/interfaces/Tensor.h"

#include <cmath>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Updates of slices of `operand` along `dim`: one for each of the 1-D `indices`, which stand for `dim` in the shape of
/// the updates. Indices outside are dropped.
struct Updates {
  Value operand, indices, updates;
  int64_t dim = 0;
};

/// As along one dimension, if it is of that form.
std::optional<Updates> alongDim(Translation &t, const IndexForm &form, Value operand, Value updates) {
  std::optional<int64_t> dim = form.takenDim();
  if (!dim)
    return std::nullopt;
  SmallVector<int64_t> starts = form.startDims(), perm, shape(form.operandShape);
  for (int64_t window = 0; window < *dim; ++window)
    perm.push_back(form.windowDims[window]);
  llvm::append_range(perm, starts);
  for (size_t window = *dim; window < form.windowDims.size(); ++window)
    perm.push_back(form.windowDims[window]);
  int64_t count = elementCount(form.startShape());
  shape[*dim] = count;
  return Updates{operand, t.reshape(form.starts(t).front(), {count}), t.reshape(t.transpose(updates, perm), shape),
                 *dim};
}

/// Each element by its number.
Updates byNumber(Translation &t, const IndexForm &form, Value operand, Value updates) {
  int64_t count = elementCount(form.otherShape);
  return {t.reshape(operand, {elementCount(form.operandShape)}), t.reshape(form.numbers(t, /*drops=*/true), {count}),
          t.reshape(updates, {count}), 0};
}

/// The entries in another order.
void reorder(Translation &t, Updates &form, Value order) {
  form.indices = t.create<spmdc::TakeOp>(form.indices, order, 0);
  form.updates = t.create<spmdc::TakeOp>(form.updates, order, form.dim);
}

Value sorted(Translation &t, Value array, bool isDescending) {
  Type type = getPositionType(t.b.getContext(), shapeOf(array)[0]);
  return t.create<spmdc::ArgsortOp>(plainTypeOf(array).withElementType(type), array, 0, isDescending);
}

/// Sorts the entries by index, stable, and gives all but the last of each index one outside.
void keepLast(Translation &t, Updates &form) {
  int64_t count = shapeOf(form.indices)[0];
  if (count < 2)
    return;
  reorder(t, form, sorted(t, form.indices, /*isDescending=*/false));
  Value here = t.sliceDim(form.indices, 0, 0, count - 1), next = t.sliceDim(form.indices, 0, 1, count);
  ArrayType flags = ArrayType::get({1}, t.b.getI1Type());
  Value isLast = t.concatenate({t.compare(here, spmdc::ComparisonDirection::ne, next), t.splat(flags, 1)}, 0);
  Value outside = t.splatLike(form.indices, static_cast<double>(shapeOf(form.operand)[form.dim]));
  form.indices = t.select(isLast, form.indices, outside);
}

/// Adds the updates to zeros of the operand's shape.
Value addToZeros(Translation &t, const Updates &form, Value updates) {
  ArrayType type = plainTypeOf(form.operand).withElementType(typeOf(updates).getElementType());
  return t.create<spmdc::ScatterAddOp>(t.splat(type, 0), form.indices, updates, form.dim);
}

/// Where an update has come.
Value findHits(Translation &t, const Updates &form) {
  Value ones = t.splat(plainTypeOf(form.updates).withElementType(t.b.getI32Type()), 1);
  Value counts = addToZeros(t, form, ones);
  return t.compare(counts, spmdc::ComparisonDirection::gt, t.splatLike(counts, 0));
}

/// The update of each element that has one, bit by bit: sums of floats would lose the sign of -0.
Value placeUpdates(Translation &t, const Updates &form) {
  Type type = typeOf(form.updates).getElementType();
  if (!llvm::isa<FloatType>(type))
    return addToZeros(t, form, form.updates);
  Type wide = type.isF64() ? type : t.b.getF32Type(), bits = type.isF64() ? t.b.getI64Type() : t.b.getI32Type();
  Value updates = t.convert(form.updates, wide);
  updates = t.create<spmdc::BitcastConvertOp>(plainTypeOf(updates).withElementType(bits), updates);
  Value placed = addToZeros(t, form, updates);
  return t.convert(t.create<spmdc::BitcastConvertOp>(plainTypeOf(placed).withElementType(wide), placed), type);
}

Value set(Translation &t, Updates form, bool isUnique) {
  if (!isUnique)
    keepLast(t, form);
  return t.select(findHits(t, form), placeUpdates(t, form), form.operand);
}

/// The largest (smallest) update of each element is the last of its index in the order of the values; NaN wins over
/// any.
Value combineExtreme(Translation &t, Updates form, ReductionKind kind) {
  Updates all = form;
  reorder(t, form, sorted(t, form.updates, /*isDescending=*/kind == ReductionKind::min));
  keepLast(t, form);
  Value best = placeUpdates(t, form);
  if (llvm::isa<FloatType>(typeOf(best).getElementType()) && kind == ReductionKind::min) {
    Value isNan = t.compare(all.updates, spmdc::ComparisonDirection::ne, all.updates);
    Value counts = addToZeros(t, all, t.convert(isNan, t.b.getI32Type()));
    Value hasNan = t.compare(counts, spmdc::ComparisonDirection::gt, t.splatLike(counts, 0));
    best = t.select(hasNan, t.splatLike(best, NAN), best);
  }
  return t.select(findHits(t, form), t.combine(kind, form.operand, best), form.operand);
}

/// Whether the region returns the update.
bool setsUpdate(Region &body) {
  Block &block = body.front();
  return block.getTerminator()->getNumOperands() == 1 && block.getTerminator()->getOperand(0) == block.getArgument(1);
}

Results scatter(Translation &t, ScatterOp op) {
  Region &body = op.getUpdateComputation();
  if (op.getInputs().size() != 1 || op.getUpdates().size() != 1 || body.getNumArguments() != 2)
    return refuse(op, "updates several arrays at once, which is not supported; update one after the other");
  Value operand = t.get(op.getInputs()[0]), updates = t.get(op.getUpdates()[0]);
  std::optional<IndexForm> form = IndexForm::of(t, op, 0);
  if (!form || typeOf(operand).getElementType() != typeOf(updates).getElementType())
    return refuse(op, "has dimension numbers or types that do not fit its operands");
  std::optional<ReductionKind> kind = Translation::getReductionKind(body);
  bool isSet = setsUpdate(body), isExtreme = kind == ReductionKind::max || kind == ReductionKind::min;
  if (!isSet && !isExtreme && kind != ReductionKind::sum && kind != ReductionKind::or_)
    return refuse(op, "combines by a region that is neither set, add, max nor min; use one of those, or segment the "
                      "updates by jnp.sort and multiply them in a loop");
  if (elementCount(form->otherShape) == 0 || spmdc::typeOf(operand).getNumElements() == 0)
    return SmallVector<Value>{operand};
  // An extreme is chosen element by element.
  std::optional<Updates> slices = isExtreme ? std::nullopt : alongDim(t, *form, operand, updates);
  Updates entries = slices ? *slices : byNumber(t, *form, operand, updates);
  Value result;
  if (isSet)
    result = set(t, entries, op.getUniqueIndices());
  else if (isExtreme)
    result = combineExtreme(t, entries, *kind);
  else
    result = t.create<spmdc::ScatterAddOp>(entries.operand, entries.indices, entries.updates, entries.dim);
  return SmallVector<Value>{t.reshape(result, form->operandShape)};
}

} // namespace

void addScatterRules(Rules &rules) { rules.addMany<ScatterOp>(scatter); }

} // namespace spmdc::stablehlo
