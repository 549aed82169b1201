//===- IndexWindows.cpp - the windows of a gather or scatter --------------===//

#include "frontend/stablehlo/IndexWindows.h"

#include "ir/array/Positions.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

std::optional<Windows> windowsOf(const Numbers &of, ArrayRef<int64_t> operand, ArrayRef<int64_t> indices,
                                 ArrayRef<int64_t> shape, std::optional<ArrayRef<int64_t>> sizes) {
  auto rank = static_cast<int64_t>(operand.size()), indexRank = static_cast<int64_t>(indices.size());
  auto windowRank = static_cast<int64_t>(shape.size());
  if (of.vectorDim < 0 || of.vectorDim > indexRank || !areDims(of.offsetDims, windowRank) ||
      !llvm::is_sorted(of.offsetDims) || !areDims(of.startIndexMap, rank) ||
      !areDims(of.indicesBatchingDims, indexRank) || of.indicesBatchingDims.size() != of.batchingDims.size() ||
      llvm::is_contained(of.indicesBatchingDims, of.vectorDim))
    return std::nullopt;
  SmallVector<int64_t> absent(of.collapsedDims), notStarted(of.startIndexMap);
  llvm::append_range(absent, of.batchingDims);
  llvm::append_range(notStarted, of.batchingDims);
  int64_t vectorSize = of.vectorDim == indexRank ? 1 : indices[of.vectorDim];
  if (!areDims(absent, rank) || !areDims(notStarted, rank) ||
      static_cast<int64_t>(of.startIndexMap.size()) != vectorSize ||
      of.offsetDims.size() + absent.size() != operand.size())
    return std::nullopt;
  Windows windows{SmallVector<int64_t>(operand),
                  SmallVector<int64_t>(rank, 1),
                  SmallVector<int64_t>(rank, -1),
                  SmallVector<int64_t>(rank, -1),
                  SmallVector<int64_t>(rank, -1),
                  SmallVector<int64_t>(shape),
                  {},
                  of.vectorDim};
  SmallVector<int64_t> numberShape(indices);
  if (of.vectorDim < indexRank)
    numberShape.erase(numberShape.begin() + of.vectorDim);
  for (int64_t dim = 0; dim < windowRank; ++dim)
    if (!llvm::is_contained(of.offsetDims, dim))
      windows.numbers.push_back(dim);
  if (windows.shapeOfDims(windows.numbers) != numberShape)
    return std::nullopt;
  for (auto [place, dim] : llvm::enumerate(of.startIndexMap))
    windows.starts[dim] = static_cast<int64_t>(place);
  for (auto [dim, indexDim] : llvm::zip_equal(of.batchingDims, of.indicesBatchingDims)) {
    if (operand[dim] != indices[indexDim])
      return std::nullopt;
    windows.batches[dim] = windows.numbers[indexDim - (indexDim > of.vectorDim ? 1 : 0)];
  }
  const int64_t *offset = of.offsetDims.begin();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(absent, dim)) {
      windows.offsets[dim] = *offset++;
      windows.sizes[dim] = shape[windows.offsets[dim]];
      if (windows.sizes[dim] > operand[dim])
        return std::nullopt;
    }
  if (!sizes)
    return windows;
  if (sizes->size() != operand.size())
    return std::nullopt;
  for (int64_t dim = 0; dim < rank; ++dim)
    if ((*sizes)[dim] != windows.sizes[dim] && !windows.isBatching(dim))
      return std::nullopt;
  return windows;
}

One indicesOf(Translation &t, Operation *op, Value source, int64_t count) {
  Value indices = t.get(source);
  auto type = llvm::dyn_cast<IntegerType>(spmdc::typeOf(indices).getElementType());
  if (!type || type.isInteger(1))
    return refuse(op, "has indices that are not integers");
  bool isNarrow = count <= kMaxNarrowSize && (type.isSignlessInteger(32) || type.getWidth() < 32);
  return isNarrow ? t.convert(indices, t.b.getI32Type()) : t.toI64(indices);
}

Value entryOf(Translation &t, const Windows &windows, Value indices, int64_t place) {
  if (windows.vectorDim < static_cast<int64_t>(shapeOf(indices).size()))
    indices = t.sliceDim(indices, windows.vectorDim, place, place + 1);
  return t.reshape(indices, windows.shapeOfDims(windows.numbers));
}

std::optional<int64_t> knownElement(Value array, int64_t position) {
  while (Operation *op = array.getDefiningOp()) {
    if (auto constant = llvm::dyn_cast<spmdc::ConstantOp>(op)) {
      auto value = llvm::dyn_cast<DenseElementsAttr>(constant.getValue());
      bool isInteger = value && llvm::isa<IntegerType>(value.getElementType());
      return isInteger ? std::optional(Tensor::fromAttr(value).elements[position].i) : std::nullopt;
    }
    if (auto reshape = llvm::dyn_cast<spmdc::ReshapeOp>(op)) {
      array = reshape.getOperand();
    } else if (auto broadcast = llvm::dyn_cast<spmdc::BroadcastInDimOp>(op)) {
      array = broadcast.getOperand();
      position = 0;
      if (elementCount(shapeOf(array)) != 1)
        return std::nullopt;
    } else if (auto concatenate = llvm::dyn_cast<spmdc::ConcatenateOp>(op)) {
      if (elementCount(shapeOf(array)) != shapeOf(array)[concatenate.getDim()]) // Of vectors.
        return std::nullopt;
      for (Value part : concatenate->getOperands()) {
        array = part;
        if (position < elementCount(shapeOf(part)))
          break;
        position -= elementCount(shapeOf(part));
      }
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

SmallVector<Value> startsOf(Translation &t, const Windows &windows, Value indices) {
  ArrayType scalar = ArrayType::get({}, spmdc::typeOf(indices).getElementType());
  return llvm::map_to_vector(windows.starts, [&](int64_t place) {
    return place < 0 ? t.splat(scalar, 0) : t.reshape(entryOf(t, windows, indices, place), {});
  });
}

} // namespace spmdc::stablehlo
