//===- IndexForm.cpp - the dimensions of gathers and scatters -------------===//

#include "frontend/stablehlo/IndexForm.h"

#include "ir/array/Positions.h"
#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// Different dimensions of an array of this rank.
static bool areDims(ArrayRef<int64_t> dims, size_t rank) {
  llvm::SmallDenseSet<int64_t> seen;
  return llvm::all_of(
      dims, [&](int64_t dim) { return dim >= 0 && dim < static_cast<int64_t>(rank) && seen.insert(dim).second; });
}

/// The indices with a dimension for the vector, and whether their types can be indices.
static Value withVector(Translation &t, Value indices, int64_t vectorDim) {
  Type type = typeOf(indices).getElementType();
  if (!llvm::isa<IntegerType>(type) || vectorDim < 0 || vectorDim > static_cast<int64_t>(shapeOf(indices).size()))
    return {};
  if (!isPositionType(type))
    indices = t.convert(indices, t.b.getI64Type());
  SmallVector<int64_t> shape(shapeOf(indices));
  if (vectorDim == static_cast<int64_t>(shape.size()))
    shape.push_back(1);
  return t.reshape(indices, shape);
}

std::optional<IndexForm> IndexForm::of(Translation &t, GatherOp op) {
  GatherDimsAttr dims = op.getDimensionNumbers();
  IndexForm form;
  form.operandShape = shapeOf(t.get(op.getOperand()));
  form.vectorDim = dims.getIndexVectorDim();
  form.indices = withVector(t, t.get(op.getStartIndices()), form.vectorDim);
  form.otherShape = llvm::to_vector(llvm::cast<RankedTensorType>(op.getType()).getShape());
  form.windowSizes = llvm::to_vector(op.getSliceSizes());
  form.windowDims = llvm::to_vector(dims.getOffsetDims());
  form.droppedDims = llvm::to_vector(dims.getCollapsedSliceDims());
  form.operandBatching = llvm::to_vector(dims.getOperandBatchingDims());
  form.indicesBatching = llvm::to_vector(dims.getStartIndicesBatchingDims());
  form.map = llvm::to_vector(dims.getStartIndexMap());
  return form.isValid() ? std::optional(form) : std::nullopt;
}

std::optional<IndexForm> IndexForm::of(Translation &t, ScatterOp op, unsigned input) {
  ScatterDimsAttr dims = op.getScatterDimensionNumbers();
  IndexForm form;
  form.operandShape = shapeOf(t.get(op.getInputs()[input]));
  form.vectorDim = dims.getIndexVectorDim();
  form.indices = withVector(t, t.get(op.getScatterIndices()), form.vectorDim);
  form.otherShape = llvm::to_vector(shapeOf(t.get(op.getUpdates()[input])));
  form.windowDims = llvm::to_vector(dims.getUpdateWindowDims());
  form.droppedDims = llvm::to_vector(dims.getInsertedWindowDims());
  form.operandBatching = llvm::to_vector(dims.getInputBatchingDims());
  form.indicesBatching = llvm::to_vector(dims.getScatterIndicesBatchingDims());
  form.map = llvm::to_vector(dims.getScatterDimsToOperandDims());
  form.windowSizes.assign(form.operandShape.size(), 1);
  if (!areDims(form.windowDims, form.otherShape.size()) || form.keptDims().size() != form.windowDims.size())
    return std::nullopt;
  for (auto [dim, window] : llvm::zip_equal(form.keptDims(), form.windowDims))
    form.windowSizes[dim] = form.otherShape[window];
  return form.isValid() ? std::optional(form) : std::nullopt;
}

bool IndexForm::isValid() const {
  size_t rank = operandShape.size();
  if (!indices)
    return false;
  ArrayRef<int64_t> shape = shapeOf(indices);
  if (windowSizes.size() != rank || !areDims(windowDims, otherShape.size()) || !llvm::is_sorted(windowDims) ||
      !areDims(droppedDims, rank) || !areDims(operandBatching, rank) || !areDims(indicesBatching, shape.size()) ||
      operandBatching.size() != indicesBatching.size() || !areDims(map, rank) ||
      static_cast<int64_t>(map.size()) != shape[vectorDim] || llvm::is_contained(indicesBatching, vectorDim) ||
      llvm::any_of(operandBatching,
                   [&](int64_t dim) { return llvm::is_contained(droppedDims, dim) || llvm::is_contained(map, dim); }))
    return false;
  for (int64_t dim = 0; dim < static_cast<int64_t>(rank); ++dim) {
    bool isDropped = llvm::is_contained(droppedDims, dim) || llvm::is_contained(operandBatching, dim);
    if (windowSizes[dim] < 0 || windowSizes[dim] > operandShape[dim] || (isDropped && windowSizes[dim] != 1))
      return false;
  }
  SmallVector<int64_t> kept = keptDims(), starts = startShape(), startPlaces = startDims();
  if (kept.size() != windowDims.size() || starts.size() != startPlaces.size())
    return false;
  for (auto [dim, window] : llvm::zip_equal(kept, windowDims))
    if (otherShape[window] != windowSizes[dim])
      return false;
  for (auto [size, place] : llvm::zip_equal(starts, startPlaces))
    if (otherShape[place] != size)
      return false;
  for (auto [dim, other] : llvm::zip_equal(operandBatching, indicesBatching))
    if (operandShape[dim] != shape[other])
      return false;
  return true;
}

SmallVector<int64_t> IndexForm::keptDims() const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(operandShape.size()); ++dim)
    if (!llvm::is_contained(droppedDims, dim) && !llvm::is_contained(operandBatching, dim))
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> IndexForm::startShape() const {
  SmallVector<int64_t> shape(shapeOf(indices));
  shape.erase(shape.begin() + vectorDim);
  return shape;
}

SmallVector<int64_t> IndexForm::startDims() const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(otherShape.size()); ++dim)
    if (!llvm::is_contained(windowDims, dim))
      dims.push_back(dim);
  return dims;
}

std::optional<int64_t> IndexForm::takenDim() const {
  if (map.size() != 1 || droppedDims.size() != 1 || droppedDims[0] != map[0] || !operandBatching.empty())
    return std::nullopt;
  for (auto [dim, size] : llvm::enumerate(windowSizes))
    if (static_cast<int64_t>(dim) != map[0] && size != operandShape[dim])
      return std::nullopt;
  return map[0];
}

std::optional<int64_t> IndexForm::takenAlongDim() const {
  bool isAlong = map.size() == 1 && droppedDims.size() == 1 && droppedDims[0] == map[0] &&
                 operandBatching.size() + 1 == operandShape.size();
  return isAlong ? std::optional(map[0]) : std::nullopt;
}

SmallVector<Value> IndexForm::starts(Translation &t) const {
  SmallVector<Value> starts;
  for (int64_t entry = 0; entry < static_cast<int64_t>(map.size()); ++entry)
    starts.push_back(t.reshape(t.sliceDim(indices, vectorDim, entry, entry + 1), startShape()));
  return starts;
}

Value IndexForm::numbers(Translation &t, bool drops) const {
  int64_t count = elementCount(operandShape);
  Type type = getPositionType(t.b.getContext(), count), indexType = typeOf(indices).getElementType();
  // The arithmetic is that of the wider type; clamped starts fit in both.
  Type wide = indexType.isInteger(64) ? indexType : type;
  ArrayType array = ArrayType::get(otherShape, type);
  auto iota = [&](int64_t dim) { return t.create<spmdc::IotaOp>(array, dim).getResult(); };
  SmallVector<Value> begin = starts(t);
  SmallVector<int64_t> kept = keptDims(), places = startDims();
  Value number = t.splat(array, 0), isInside;
  int64_t stride = count;
  for (int64_t dim = 0; dim < static_cast<int64_t>(operandShape.size()); ++dim) {
    int64_t size = operandShape[dim];
    stride = size == 0 ? 0 : stride / size;
    Value coordinate;
    auto add = [&](Value part) {
      coordinate = coordinate ? t.create<spmdc::AddOp>(coordinate, part).getResult() : part;
    };
    if (const int64_t *window = llvm::find(kept, dim); window != kept.end() && windowSizes[dim] > 1)
      add(iota(windowDims[window - kept.begin()]));
    if (const int64_t *batch = llvm::find(operandBatching, dim); batch != operandBatching.end()) {
      int64_t other = indicesBatching[batch - operandBatching.begin()];
      add(iota(places[other - (other > vectorDim ? 1 : 0)]));
    }
    const int64_t *entry = llvm::find(map, dim);
    if (entry != map.end()) {
      // A window that begins this far outside has no element in the operand, wherever it begins exactly.
      int64_t low = drops ? -windowSizes[dim] : 0, high = drops ? size : size - windowSizes[dim];
      Value start = t.convert(begin[entry - map.begin()], wide);
      start = t.create<spmdc::ClampOp>(plainTypeOf(start), t.splatLike(start, static_cast<double>(low)), start,
                                       t.splatLike(start, static_cast<double>(high)));
      add(t.broadcast(t.convert(start, type), otherShape, places));
      if (drops) {
        Value fits = t.create<spmdc::AndOp>(
            t.compare(coordinate, spmdc::ComparisonDirection::ge, t.splat(array, 0)),
            t.compare(coordinate, spmdc::ComparisonDirection::lt, t.splat(array, static_cast<double>(size))));
        isInside = isInside ? t.create<spmdc::AndOp>(isInside, fits).getResult() : fits;
      }
    }
    if (coordinate)
      number = t.create<spmdc::AddOp>(
          number, t.create<spmdc::MultiplyOp>(coordinate, t.splat(array, static_cast<double>(stride))));
  }
  return isInside ? t.select(isInside, number, t.splat(array, static_cast<double>(count))) : number;
}

} // namespace spmdc::stablehlo
