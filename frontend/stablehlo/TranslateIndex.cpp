//===- TranslateIndex.cpp - gather ----------------------------------------===//
//
// A gather reads windows of its operand. It becomes a take along one dimension: the dimensions with run-time starts are
// flattened to one, if there are several, and all others stay, so that they keep their shardings. Batching dimensions
// stay, too: then it is a take_along.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/WindowAccess.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

One gather(Translation &t, GatherOp op) {
  Value x = t.get(op.getOperand());
  GatherDimsAttr dims = op.getDimensionNumbers();
  ArrayType type = Translation::typeOf(op.getType());
  std::optional<Windows> windows =
      windowsOf({dims.getOffsetDims(), dims.getCollapsedSliceDims(), dims.getOperandBatchingDims(),
                 dims.getStartIndicesBatchingDims(), dims.getStartIndexMap(), dims.getIndexVectorDim()},
                shapeOf(x), shapeOf(t.get(op.getStartIndices())), type.getShape(), op.getSliceSizes());
  if (!windows || type.getElementType() != spmdc::typeOf(x).getElementType())
    return refuse(op, "has dimension numbers or slice sizes that do not fit its operands and its result");
  One indices = indicesOf(t, op, op.getStartIndices(), elementCount(shapeOf(x)));
  if (failed(indices))
    return failure();
  if (type.getNumElements() == 0)
    return t.splat(type, 0);
  if (llvm::any_of(llvm::zip_equal(windows->sizes, windows->operand),
                   [](auto pair) { return std::get<0>(pair) > std::get<1>(pair); }))
    return refuse(op, "takes windows from a dimension without elements");
  x = cropFixedDims(t, *windows, x, true);
  SmallVector<int64_t> indexed = windows->dimsWhere([&](size_t dim) { return windows->isIndexed(dim); });
  if (indexed.empty())
    return t.broadcast(x, windows->shape, fixedLabels(*windows));
  bool isOneElement = indexed.size() == 1 && windows->sizes[indexed.front()] == 1;
  if (windows->isSingle() && !windows->hasBatching() && !isOneElement) {
    Value window = t.create<spmdc::DynamicSliceOp>(x, startsOf(t, *windows, *indices), windows->sizes);
    return t.reshape(window, windows->shape);
  }
  Positions positions = positionsOf(t, *windows, *indices, true);
  Access access = accessOf(*windows, positions, false);
  Value arranged = arrange(t, access, x), taken, at = indicesFor(t, *windows, positions, access);
  if (access.isAlong)
    taken = t.create<spmdc::TakeAlongOp>(arranged, at, access.dim);
  else
    taken = t.create<spmdc::TakeOp>(arranged, at, access.dim);
  return t.transpose(t.reshape(taken, access.expanded), inverseOf(access.labels));
}

} // namespace

void addIndexRules(Rules &rules) { rules.add<GatherOp>(gather); }

} // namespace spmdc::stablehlo
