//===- WindowAccess.cpp - windows along one dimension ---------------------===//

#include "frontend/stablehlo/WindowAccess.h"

using namespace mlir;

namespace spmdc::stablehlo {

SmallVector<int64_t> inverseOf(ArrayRef<int64_t> perm) {
  SmallVector<int64_t> inverse(perm.size());
  for (auto [position, dim] : llvm::enumerate(perm))
    inverse[dim] = static_cast<int64_t>(position);
  return inverse;
}

Value isInRange(Translation &t, Value position, int64_t size) {
  Value isHigh = t.compare(position, spmdc::ComparisonDirection::ge, t.splatLike(position, 0));
  Value isLow = t.compare(position, spmdc::ComparisonDirection::lt, t.splatLike(position, static_cast<double>(size)));
  return t.create<spmdc::AndOp>(isHigh, isLow);
}

Positions positionsOf(Translation &t, const Windows &windows, Value indices, bool isGather) {
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
  Value isInside;
  int64_t stride = result.count;
  for (int64_t dim : indexed) {
    Value position = entryOf(t, windows, indices, windows.starts[dim]);
    // Reads clamp the start of a window. `take` clamps positions, which is the same for windows of one element.
    if (isGather && (indexed.size() > 1 || windows.sizes[dim] > 1)) {
      auto last = static_cast<double>(windows.operand[dim] - windows.sizes[dim]);
      position = t.create<spmdc::ClampOp>(plainTypeOf(position), t.splatLike(position, 0), position,
                                          t.splatLike(position, last));
    }
    position = t.broadcast(position, shape, numberDims);
    // Writes of a window that is not completely inside are dropped, as XLA drops them.
    if (!isGather && (indexed.size() > 1 || windows.sizes[dim] > 1)) {
      Value isThis = isInRange(t, position, windows.operand[dim] - windows.sizes[dim] + 1);
      isInside = isInside ? t.create<spmdc::AndOp>(isInside, isThis).getResult() : isThis;
    }
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
  if (isInside)
    result.array = t.select(isInside, result.array, t.splatLike(result.array, static_cast<double>(result.count)));
  return result;
}

/// The dimensions of the windows among `labels` that are no batching ones.
static SmallVector<int64_t> withoutBatching(const Windows &windows, ArrayRef<int64_t> labels) {
  return llvm::to_vector(
      llvm::make_filter_range(labels, [&](int64_t label) { return !llvm::is_contained(windows.batches, label); }));
}

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

Access accessOf(const Windows &windows, const Positions &positions, bool isGrouped) {
  SmallVector<int64_t> indexed = windows.dimsWhere([&](size_t dim) { return windows.isIndexed(dim); });
  Access access;
  access.isAlong = windows.hasBatching();
  if (indexed.size() == 1 && !isGrouped) {
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
    access.transposed.push_back(windows.operand[dim]);
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

Value indicesFor(Translation &t, const Windows &windows, const Positions &positions, const Access &access) {
  if (!access.isAlong)
    return positions.array;
  SmallVector<int64_t> places(access.batching);
  places.push_back(access.dim);
  return t.broadcast(groupByBatches(t, windows, positions), access.taken, places);
}

Value arrange(Translation &t, const Access &access, Value operand) {
  return t.reshape(t.transpose(operand, access.perm), access.shape);
}
Value restore(Translation &t, const Access &access, Value arranged) {
  return t.transpose(t.reshape(arranged, access.transposed), inverseOf(access.perm));
}
Value arrangeUpdates(Translation &t, const Access &access, Value updates) {
  return t.reshape(t.transpose(updates, access.labels), access.taken);
}

Value cropFixedDims(Translation &t, Windows &windows, Value x, bool isGather) {
  for (size_t dim = 0; dim < windows.rank(); ++dim) {
    bool isWhole = windows.sizes[dim] == windows.operand[dim];
    if (windows.isBatching(dim) || (windows.isIndexed(dim) && !(isGather && isWhole)))
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

Value putBack(Translation &t, const Windows &windows, Value x, Value cropped) {
  SmallVector<int64_t> shape(windows.operand);
  for (size_t dim = 0; dim < windows.rank(); ++dim)
    if (!windows.isBatching(dim) && !windows.isIndexed(dim))
      shape[dim] = windows.sizes[dim];
  cropped = t.reshape(cropped, shape);
  if (shape == windows.operand)
    return cropped;
  SmallVector<Value> starts(windows.rank(), t.splat(ArrayType::get({}, t.b.getI64Type()), 0));
  return t.create<spmdc::DynamicUpdateSliceOp>(x, cropped, starts);
}

SmallVector<int64_t> fixedLabels(const Windows &windows) {
  SmallVector<int64_t> labels;
  for (auto [batch, offset] : llvm::zip_equal(windows.batches, windows.offsets))
    labels.push_back(batch >= 0 ? batch : offset);
  return labels;
}

} // namespace spmdc::stablehlo
