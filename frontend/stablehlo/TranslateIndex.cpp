//===- TranslateIndex.cpp - gather ----------------------------------------===//
//
// A gather reads windows of its operand. It becomes a take along one dimension: the dimensions with run-time starts are
// flattened to one, if there are several, and all others stay, so that they keep their shardings. Batching dimensions
// stay, too: then it is a take_along.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include "ir/array/Positions.h"
#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

//===- Dimensions ---------------------------------------------------------===//

bool areDims(ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallDenseSet<int64_t> seen;
  return llvm::all_of(dims, [&](int64_t dim) { return dim >= 0 && dim < rank && seen.insert(dim).second; });
}

/// The attributes of a gather.
struct Numbers {
  ArrayRef<int64_t> offsetDims, collapsedDims, batchingDims, indicesBatchingDims, startIndexMap;
  int64_t vectorDim;
};

/// The meaning of the dimensions of a gather. Its windows are its result. Lists have an entry for each dimension of the
/// operand.
struct Windows {
  SmallVector<int64_t> operand; ///< The operand's shape.
  SmallVector<int64_t> sizes;   ///< The shape of a window.
  SmallVector<int64_t> starts;  ///< The place of the window's start in an index vector; -1 if it starts at 0.
  SmallVector<int64_t> batches; ///< The batching dimension of the windows; -1 if the dimension is no batching one.
  SmallVector<int64_t> offsets; ///< The dimension of the windows that counts elements; -1 if there is one element.
  SmallVector<int64_t> shape;   ///< Of all windows.
  SmallVector<int64_t> numbers; ///< The dimensions of the windows that number them, one for each of the indices.
  int64_t vectorDim;            ///< The dimension of the indices that holds an index vector, or their rank.

  size_t rank() const { return operand.size(); }
  bool isBatching(size_t dim) const { return batches[dim] >= 0; }
  bool isIndexed(size_t dim) const { return !isBatching(dim) && starts[dim] >= 0; }
  SmallVector<int64_t> dimsWhere(llvm::function_ref<bool(size_t)> holds) const {
    return llvm::to_vector(llvm::make_filter_range(llvm::seq<int64_t>(0, rank()), holds));
  }
  bool hasBatching() const {
    return llvm::any_of(batches, [](int64_t dim) { return dim >= 0; });
  }
  SmallVector<int64_t> shapeOfDims(ArrayRef<int64_t> dims) const {
    return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
  }
  bool isSingle() const { return elementCount(shapeOfDims(numbers)) == 1; }
  void erase(size_t dim) {
    for (SmallVector<int64_t> *list : {&operand, &sizes, &starts, &batches, &offsets})
      list->erase(list->begin() + dim);
  }
};

/// Nullopt if the attributes and the shapes do not fit.
std::optional<Windows> windowsOf(const Numbers &of, ArrayRef<int64_t> operand, ArrayRef<int64_t> indices,
                                 ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes) {
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
  if (sizes.size() != operand.size())
    return std::nullopt;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (sizes[dim] != windows.sizes[dim] && !windows.isBatching(dim))
      return std::nullopt;
  return windows;
}

//===- Indices ------------------------------------------------------------===//

/// The integers of indices, i32 or i64, as positions in an array of `count` elements.
One indicesOf(Translation &t, Operation *op, Value source, int64_t count) {
  Value indices = t.get(source);
  auto type = llvm::dyn_cast<IntegerType>(spmdc::typeOf(indices).getElementType());
  if (!type || type.isInteger(1))
    return refuse(op, "has indices that are not integers");
  bool isWide = Translation::isWide(llvm::cast<RankedTensorType>(source.getType()).getElementType());
  bool isNarrow = count <= kMaxNarrowSize && (type.isSignlessInteger(32) || type.getWidth() == 8);
  indices = t.convert(indices, isNarrow ? t.b.getI32Type() : t.b.getI64Type());
  if (!isWide)
    return indices;
  // As a signed number, the upper half of u64 is negative: it stays outside at the other end.
  Value isLarge = t.compare(indices, spmdc::ComparisonDirection::lt, t.splatLike(indices, 0));
  return t.select(isLarge, t.splatLike(indices, static_cast<double>(int64_t(1) << 62)), indices);
}

/// One entry of each index vector: an array with a dimension for each of `windows.numbers`.
Value entryOf(Translation &t, const Windows &windows, Value indices, int64_t place) {
  if (windows.vectorDim < static_cast<int64_t>(shapeOf(indices).size()))
    indices = t.sliceDim(indices, windows.vectorDim, place, place + 1);
  return t.reshape(indices, windows.shapeOfDims(windows.numbers));
}

/// The scalar starts of a single window, in all dimensions of the operand.
SmallVector<Value> startsOf(Translation &t, const Windows &windows, Value indices) {
  ArrayType scalar = ArrayType::get({}, spmdc::typeOf(indices).getElementType());
  return llvm::map_to_vector(windows.starts, [&](int64_t place) {
    return place < 0 ? t.splat(scalar, 0) : t.reshape(entryOf(t, windows, indices, place), {});
  });
}

//===- Access along one dimension -----------------------------------------===//

/// Windows read along one dimension of the operand, after a transpose and a reshape of it. The dimension is that of the
/// starts, or all of them flattened.
struct Access {
  SmallVector<int64_t> perm;     ///< Of the operand.
  SmallVector<int64_t> shape;    ///< With the dimensions of the starts flattened.
  int64_t dim;                   ///< That dimension.
  bool isAlong;                  ///< Whether there are batching dimensions.
  SmallVector<int64_t> batching; ///< These, by their places in `shape`.
  SmallVector<int64_t> labels;   ///< The dimensions of the windows in the order of what is taken.
  SmallVector<int64_t> expanded; ///< Their sizes.
  SmallVector<int64_t> taken;    ///< The shape of what is taken.
};

SmallVector<int64_t> inverseOf(ArrayRef<int64_t> perm) {
  SmallVector<int64_t> inverse(perm.size());
  for (auto [position, dim] : llvm::enumerate(perm))
    inverse[dim] = static_cast<int64_t>(position);
  return inverse;
}

/// Positions along the flattened dimensions of the starts, by the dimensions of the windows.
struct Positions {
  Value array;
  SmallVector<int64_t> labels; ///< The dimensions of the windows that they have.
  int64_t count;               ///< The number of elements of the flattened dimensions.
};

Positions positionsOf(Translation &t, const Windows &windows, Value indices) {
  SmallVector<int64_t> indexed = windows.dimsWhere([&](size_t dim) { return windows.isIndexed(dim); });
  Positions result{{}, windows.numbers, 1};
  for (int64_t dim : indexed) {
    result.count *= windows.operand[dim];
    if (windows.offsets[dim] >= 0)
      result.labels.push_back(windows.offsets[dim]);
  }
  SmallVector<int64_t> shape = windows.shapeOfDims(result.labels);
  SmallVector<int64_t> numberDims = llvm::to_vector(llvm::seq<int64_t>(0, windows.numbers.size()));
  Type type = spmdc::typeOf(indices).getElementType();
  int64_t stride = result.count;
  for (int64_t dim : indexed) {
    Value position = entryOf(t, windows, indices, windows.starts[dim]);
    // The start of a window is clamped. `take` clamps positions, which is the same for windows of one element.
    if (indexed.size() > 1 || windows.sizes[dim] > 1) {
      auto last = static_cast<double>(windows.operand[dim] - windows.sizes[dim]);
      position = t.create<spmdc::ClampOp>(plainTypeOf(position), t.splatLike(position, 0), position,
                                          t.splatLike(position, last));
    }
    position = t.broadcast(position, shape, numberDims);
    if (windows.sizes[dim] > 1) {
      auto place = llvm::find(result.labels, windows.offsets[dim]) - result.labels.begin();
      Value offset = t.create<spmdc::IotaOp>(ArrayType::get(shape, type), place);
      position = t.create<spmdc::AddOp>(position, offset);
    }
    stride /= windows.operand[dim];
    if (stride != 1)
      position = t.create<spmdc::MultiplyOp>(position, t.splatLike(position, static_cast<double>(stride)));
    result.array = result.array ? t.create<spmdc::AddOp>(result.array, position).getResult() : position;
  }
  return result;
}

/// The dimensions of the windows among `labels` that are no batching ones.
SmallVector<int64_t> withoutBatching(const Windows &windows, ArrayRef<int64_t> labels) {
  return llvm::to_vector(
      llvm::make_filter_range(labels, [&](int64_t label) { return !llvm::is_contained(windows.batches, label); }));
}

/// Positions as [batching dimensions in the operand's order, all others flattened].
Value groupByBatches(Translation &t, const Windows &windows, const Positions &positions) {
  SmallVector<int64_t> labels =
      llvm::to_vector(llvm::make_filter_range(windows.batches, [](int64_t batch) { return batch >= 0; }));
  SmallVector<int64_t> shape = windows.shapeOfDims(labels), others = withoutBatching(windows, positions.labels);
  shape.push_back(elementCount(windows.shapeOfDims(others)));
  llvm::append_range(labels, others);
  SmallVector<int64_t> perm = llvm::map_to_vector(
      labels, [&](int64_t label) -> int64_t { return llvm::find(positions.labels, label) - positions.labels.begin(); });
  return t.reshape(t.transpose(positions.array, perm), shape);
}

/// An access in the place of a single dimension with a start. With several, it is one to [batching dimensions, those
/// with a start, all others].
Access accessOf(const Windows &windows, const Positions &positions) {
  SmallVector<int64_t> indexed = windows.dimsWhere([&](size_t dim) { return windows.isIndexed(dim); });
  Access access;
  access.isAlong = windows.hasBatching();
  if (indexed.size() == 1) {
    access.perm = llvm::to_vector(llvm::seq<int64_t>(0, windows.rank()));
    access.dim = indexed.front();
  } else {
    access.perm = windows.dimsWhere([&](size_t dim) { return windows.isBatching(dim); });
    access.dim = static_cast<int64_t>(access.perm.size());
    llvm::append_range(access.perm, indexed);
    llvm::append_range(access.perm, windows.dimsWhere([&](size_t dim) {
      return !windows.isBatching(dim) && !windows.isIndexed(dim);
    }));
  }
  SmallVector<int64_t> others = withoutBatching(windows, positions.labels);
  for (int64_t dim : access.perm) {
    auto place = static_cast<int64_t>(access.shape.size());
    if (!windows.isIndexed(dim)) {
      if (windows.isBatching(dim))
        access.batching.push_back(place);
      access.shape.push_back(windows.operand[dim]);
      access.labels.push_back(windows.isBatching(dim) ? windows.batches[dim] : windows.offsets[dim]);
    } else if (place == access.dim) { // The first of them.
      access.shape.push_back(positions.count);
      llvm::append_range(access.labels, others);
    }
  }
  access.expanded = access.taken = windows.shapeOfDims(access.labels);
  if (access.isAlong) {
    access.taken = access.shape;
    access.taken[access.dim] = elementCount(windows.shapeOfDims(others));
  }
  return access;
}

/// Indices of `take`, or of `take_along`.
Value indicesFor(Translation &t, const Windows &windows, const Positions &positions, const Access &access) {
  if (!access.isAlong)
    return positions.array;
  SmallVector<int64_t> places(access.batching);
  places.push_back(access.dim);
  return t.broadcast(groupByBatches(t, windows, positions), access.taken, places);
}

//===- gather -------------------------------------------------------------===//

/// Dimensions in which all windows start at 0 become those of the window, and those of one element that windows do not
/// have vanish. Starts are clamped: they are 0 where the window is the whole dimension.
Value cropFixedDims(Translation &t, Windows &windows, Value x) {
  for (size_t dim = 0; dim < windows.rank(); ++dim) {
    if (windows.isBatching(dim) || (windows.isIndexed(dim) && windows.sizes[dim] < windows.operand[dim]))
      continue;
    windows.starts[dim] = -1;
    x = t.sliceDim(x, static_cast<int64_t>(dim), 0, windows.sizes[dim]);
    windows.operand[dim] = windows.sizes[dim];
  }
  for (size_t dim = windows.rank(); dim-- > 0;)
    if (windows.starts[dim] < 0 && windows.offsets[dim] < 0 && !windows.isBatching(dim))
      windows.erase(dim);
  return t.reshape(x, windows.operand);
}

/// For each dimension of the operand that has no start, the dimension of the windows that counts along it.
SmallVector<int64_t> fixedLabels(const Windows &windows) {
  SmallVector<int64_t> labels;
  for (auto [batch, offset] : llvm::zip_equal(windows.batches, windows.offsets))
    labels.push_back(batch >= 0 ? batch : offset);
  return labels;
}

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
  x = cropFixedDims(t, *windows, x);
  SmallVector<int64_t> indexed = windows->dimsWhere([&](size_t dim) { return windows->isIndexed(dim); });
  if (indexed.empty())
    return t.broadcast(x, windows->shape, fixedLabels(*windows));
  bool isOneElement = indexed.size() == 1 && windows->sizes[indexed.front()] == 1;
  if (windows->isSingle() && !windows->hasBatching() && !isOneElement) {
    Value window = t.create<spmdc::DynamicSliceOp>(x, startsOf(t, *windows, *indices), windows->sizes);
    return t.reshape(window, windows->shape);
  }
  Positions positions = positionsOf(t, *windows, *indices);
  Access access = accessOf(*windows, positions);
  Value arranged = t.reshape(t.transpose(x, access.perm), access.shape), taken,
        at = indicesFor(t, *windows, positions, access);
  if (access.isAlong)
    taken = t.create<spmdc::TakeAlongOp>(arranged, at, access.dim);
  else
    taken = t.create<spmdc::TakeOp>(arranged, at, access.dim);
  return t.transpose(t.reshape(taken, access.expanded), inverseOf(access.labels));
}

} // namespace

void addIndexRules(Rules &rules) { rules.add<GatherOp>(gather); }

} // namespace spmdc::stablehlo
