//===- Contraction.cpp - products of arrays with labels -------------------===//

#include "ir/array/Contraction.h"

using namespace mlir;

namespace spmdc {

int64_t Labelled::sizeOf(int64_t label) const {
  auto dim = llvm::find(labels, label) - labels.begin();
  return cast<ArrayType>(array.getType()).getDimSize(dim);
}

SmallVector<int64_t> labelsOfPair(ArrayRef<int64_t> x, ArrayRef<int64_t> y, function_ref<bool(int64_t)> isNeeded) {
  // An element-wise product has the order of the side with all dimensions: only the other side is transposed.
  bool isSum = llvm::any_of(x, [&](int64_t label) { return llvm::is_contained(y, label) && !isNeeded(label); });
  auto hasAllOf = [](ArrayRef<int64_t> all, ArrayRef<int64_t> some) {
    return llvm::all_of(some, [&](int64_t label) { return llvm::is_contained(all, label); });
  };
  if (!isSum && (hasAllOf(x, y) || hasAllOf(y, x)))
    return SmallVector<int64_t>(hasAllOf(x, y) ? x : y);
  SmallVector<int64_t> result, free;
  for (int64_t label : x) {
    if (!llvm::is_contained(y, label))
      free.push_back(label);
    else if (isNeeded(label))
      result.push_back(label);
  }
  for (int64_t label : y)
    if (!llvm::is_contained(x, label))
      free.push_back(label);
  result.append(free);
  return result;
}

Value transposeTo(OpBuilder &builder, Location loc, const Labelled &x, ArrayRef<int64_t> order, TypeOfLabels typeOf) {
  if (ArrayRef<int64_t>(x.labels) == order)
    return x.array;
  SmallVector<int64_t> perm;
  for (int64_t label : order)
    perm.push_back(llvm::find(x.labels, label) - x.labels.begin());
  return builder.create<TransposeOp>(loc, typeOf(order), x.array, perm);
}

/// The array with the dimensions of `target` in its order, broadcast along those that it lacks.
static Value spreadTo(OpBuilder &builder, Location loc, const Labelled &x, ArrayRef<int64_t> target,
                      TypeOfLabels typeOf) {
  SmallVector<int64_t> order, dims;
  for (auto [dim, label] : llvm::enumerate(target))
    if (x.has(label)) {
      order.push_back(label);
      dims.push_back(static_cast<int64_t>(dim));
    }
  Value transposed = transposeTo(builder, loc, x, order, typeOf);
  if (order.size() == target.size())
    return transposed;
  return builder.create<BroadcastInDimOp>(loc, typeOf(target), transposed, dims);
}

Labelled contractPair(OpBuilder &builder, Location loc, const Labelled &x, const Labelled &y,
                      function_ref<bool(int64_t)> isNeeded, TypeOfLabels typeOf) {
  SmallVector<int64_t> labels = labelsOfPair(x.labels, y.labels, isNeeded);
  SmallVector<int64_t> xContract, yContract, xBatch, yBatch;
  for (auto [dim, label] : llvm::enumerate(x.labels)) {
    const auto *twin = llvm::find(y.labels, label);
    if (twin == y.labels.end())
      continue;
    bool isBatch = isNeeded(label);
    (isBatch ? xBatch : xContract).push_back(static_cast<int64_t>(dim));
    (isBatch ? yBatch : yContract).push_back(twin - y.labels.begin());
  }
  ArrayType type = typeOf(labels);
  if (xContract.empty()) {
    Value left = spreadTo(builder, loc, x, labels, typeOf), right = spreadTo(builder, loc, y, labels, typeOf);
    return {builder.create<MultiplyOp>(loc, type, left, right), labels};
  }
  return {builder.create<DotGeneralOp>(loc, type, x.array, y.array, xContract, yContract, xBatch, yBatch), labels};
}

} // namespace spmdc
