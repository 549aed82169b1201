//===- ExportReduction.cpp - reductions and scans -------------------------===//
//
// Sums and products of bf16 and f16 are accumulated in f32 and rounded once here, so they are written in f32, as
// jnp.sum writes them.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "ir/array/ScalarEvaluation.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The neutral element as a scalar.
Value identityOf(Exporter &e, ReductionKind kind, Type element) {
  return e.splat(RankedTensorType::get({}, element), getReductionIdentity(element, kind));
}

Value reduce(Exporter &e, spmdc::ReduceOp op) {
  RankedTensorType type = Exporter::typeOf(op.getResult());
  Type element = e.accumulatorOf(op.getKind(), type.getElementType());
  Value x = e.convert(e.get(op.getOperand()), element), init = identityOf(e, op.getKind(), element);
  auto made = e.create<ReduceOp>(TypeRange{type.clone(element)}, x, init, op.getDims());
  e.fillCombiner(made.getBody(), op.getKind(), element);
  return e.convert(made.getResult(0), type.getElementType());
}

/// The region of values and positions is the one that JAX writes.
Value argReduce(Exporter &e, spmdc::ArgReduceOp op) {
  Value x = e.get(op.getOperand());
  auto type = llvm::cast<RankedTensorType>(x.getType());
  RankedTensorType positionType = Exporter::typeOf(op.getResult());
  Type element = type.getElementType(), index = positionType.getElementType();
  ReductionKind kind = op.getIsMax() ? ReductionKind::max : ReductionKind::min;
  Value positions = e.create<IotaOp>(type.clone(index), op.getDim());
  Value inits[] = {identityOf(e, kind, element), e.integer(index, 0)};
  auto made = e.create<ReduceOp>(TypeRange{positionType.clone(element), positionType}, ValueRange{x, positions},
                                 ValueRange(inits), ArrayRef<int64_t>{static_cast<int64_t>(op.getDim())});
  Type scalar = RankedTensorType::get({}, element), position = RankedTensorType::get({}, index);
  e.fill(made.getBody(), {scalar, position, scalar, position}, [&](auto arguments) {
    Value left = arguments[0], leftAt = arguments[1], right = arguments[2], rightAt = arguments[3];
    Value isChosen = e.compare(left, op.getIsMax() ? "GT" : "LT", right);
    auto either = [&](Value p, Value q) -> Value { return e.create<OrOp>(p.getType(), p, q); };
    if (llvm::isa<FloatType>(element)) // The first NaN is the answer.
      isChosen = either(isChosen, e.compare(left, "NE", left));
    Value isEqual = e.compare(left, "EQ", right), isBefore = e.compare(leftAt, "LT", rightAt);
    Value isFirst = either(isChosen, e.create<AndOp>(isEqual.getType(), isEqual, isBefore));
    return SmallVector<Value>{e.select(isChosen, left, right), e.select(isFirst, leftAt, rightAt)};
  });
  return made.getResult(1);
}

/// A window as long as the array, of which all but the last (first) element is padding.
Value cumulative(Exporter &e, spmdc::CumulativeOp op) {
  RankedTensorType result = Exporter::typeOf(op.getResult()), type = result;
  auto dim = static_cast<size_t>(op.getDim());
  if (type.getNumElements() == 0)
    return e.get(op.getOperand());
  Value x = e.get(op.getOperand());
  if (op.getContinued()) {
    type = RankedTensorType::get(op.getJoinedType().getShape(), type.getElementType());
    x = e.create<ReshapeOp>(type, x);
    --dim;
  }
  auto rank = static_cast<size_t>(type.getRank());
  Type element = e.accumulatorOf(op.getKind(), type.getElementType());
  x = e.convert(x, element);
  Value init = identityOf(e, op.getKind(), element);
  SmallVector<int64_t> window(rank, 1), padding(2 * rank, 0), ones(rank, 1);
  window[dim] = type.getDimSize(static_cast<unsigned>(dim));
  padding[2 * dim + (op.getReversed() ? 1 : 0)] = window[dim] - 1;
  auto paddingType = RankedTensorType::get({static_cast<int64_t>(rank), 2}, e.b.getI64Type());
  auto list = [&](ArrayRef<int64_t> numbers) { return e.b.getDenseI64ArrayAttr(numbers); };
  auto made = e.create<ReduceWindowOp>(TypeRange{type.clone(element)}, x, init, list(window), list(ones), list(ones),
                                       list(ones), DenseIntElementsAttr::get(paddingType, padding));
  e.fillCombiner(made.getBody(), op.getKind(), element);
  Value scanned = e.convert(made.getResult(0), type.getElementType());
  return op.getContinued() ? e.create<ReshapeOp>(result, scanned).getResult() : scanned;
}

} // namespace

void addReductionExports(ExportRules &rules) {
  rules.add<spmdc::ArgReduceOp>(argReduce);
  rules.add<spmdc::CumulativeOp>(cumulative);
  rules.add<spmdc::ReduceOp>(reduce);
}

} // namespace spmdc::stablehlo
