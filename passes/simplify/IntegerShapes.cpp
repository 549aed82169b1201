//===- IntegerShapes.cpp - known integers at other positions --------------===//

#include "passes/simplify/IntegerFunctions.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {

using Part = KnownIntegers::Part;

MaybeKnown broadcast(const KnownIntegers &array, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  KnownIntegers result{SmallVector<int64_t>(shape), 0, {}};
  bool isSplit = array.parts.size() > 1;
  if (isSplit)
    result.dim = dims[array.dim];
  for (const Part &part : array.parts) {
    AffineIndex value = constantOf(result, part.value.base);
    for (auto [from, to] : llvm::enumerate(dims))
      value.strides[to] = array.shape[from] == 1 ? 0 : part.value.strides[from];
    result.parts.push_back(
        {isSplit ? part.begin : 0, isSplit ? part.end : (result.shape.empty() ? 1 : result.shape[0]), value});
  }
  return result;
}

MaybeKnown reshape(const KnownIntegers &array, ArrayRef<int64_t> shape) {
  KnownIntegers result{SmallVector<int64_t>(shape), 0, {}};
  bool isSplit = array.parts.size() > 1;
  for (const Part &part : array.parts)
    result.parts.push_back({part.begin, part.end, constantOf(result, part.value.base)});
  if (!isSplit) {
    result.parts[0].begin = 0;
    result.parts[0].end = (result.shape.empty() ? 1 : result.shape[0]);
  }
  size_t from = 0, to = 0;
  while (from < array.shape.size() || to < result.shape.size()) {
    // Groups of dimensions on both sides with the same number of elements.
    size_t fromEnd = from, toEnd = to;
    int64_t before = 1, behind = 1;
    do {
      bool takesFrom = fromEnd < array.shape.size() && (before <= behind || toEnd == result.shape.size());
      (takesFrom ? before : behind) *= takesFrom ? array.shape[fromEnd++] : result.shape[toEnd++];
    } while (before != behind);
    SmallVector<size_t> sources, targets;
    for (size_t d = from; d < fromEnd; ++d)
      if (array.shape[d] != 1)
        sources.push_back(d);
    for (size_t d = to; d < toEnd; ++d)
      if (result.shape[d] != 1)
        targets.push_back(d);
    bool hasParts = isSplit && array.dim >= static_cast<int64_t>(from) && array.dim < static_cast<int64_t>(fromEnd);
    if (hasParts && (sources.size() != 1 || targets.size() != 1))
      return std::nullopt;
    if (hasParts)
      result.dim = targets.front();
    for (auto [part, made] : llvm::zip(array.parts, result.parts)) {
      for (size_t k = 1; k < sources.size(); ++k)
        if (part.value.strides[sources[k - 1]] != part.value.strides[sources[k]] * array.shape[sources[k]])
          return std::nullopt;
      int64_t stride = sources.empty() ? 0 : part.value.strides[sources.back()];
      for (size_t target : llvm::reverse(targets)) {
        made.value.strides[target] = stride;
        stride *= result.shape[target];
      }
    }
    from = fromEnd;
    to = toEnd;
  }
  return result;
}

MaybeKnown concatenate(ArrayRef<const KnownIntegers *> operands, int64_t dim) {
  KnownIntegers result{operands.front()->shape, dim, {}};
  int64_t offset = 0;
  for (const KnownIntegers *operand : operands) {
    if (operand->parts.size() > 1 && operand->dim != result.dim)
      return std::nullopt;
    for (Part part : operand->parts) {
      if (operand->parts.size() == 1) {
        part.begin = 0;
        part.end = operand->shape[result.dim];
      }
      part.value.base -= part.value.strides[result.dim] * offset;
      part.begin += offset;
      part.end += offset;
      result.parts.push_back(part);
    }
    offset += operand->shape[result.dim];
  }
  result.shape[dim] = offset;
  return result;
}

KnownIntegers slice(const KnownIntegers &array, ArrayRef<int64_t> shape, ArrayRef<int64_t> first,
                    ArrayRef<int64_t> step) {
  KnownIntegers result{SmallVector<int64_t>(shape), array.dim, {}};
  for (const Part &part : array.parts) {
    AffineIndex value = part.value;
    for (size_t d = 0; d < shape.size(); ++d) {
      value.base += value.strides[d] * first[d];
      value.strides[d] *= step[d];
    }
    int64_t begin = 0, end = shape.empty() ? 1 : shape[array.dim];
    if (array.parts.size() > 1) { // first + step * i is in [begin, end).
      int64_t start = first[array.dim], by = step[array.dim];
      int64_t low = by > 0 ? part.begin : part.end - 1, high = by > 0 ? part.end - 1 : part.begin;
      begin = std::max(begin, llvm::divideCeilSigned(low - start, by));
      end = std::min(end, llvm::divideFloorSigned(high - start, by) + 1);
    }
    if (begin < end)
      result.parts.push_back({begin, end, value});
  }
  llvm::sort(result.parts, [](const Part &a, const Part &b) { return a.begin < b.begin; });
  return result;
}

MaybeKnown transpose(const KnownIntegers &array, ArrayRef<int64_t> perm) {
  KnownIntegers result;
  for (int64_t dim : perm)
    result.shape.push_back(array.shape[dim]);
  result.dim = llvm::find(perm, array.dim) - perm.begin();
  for (const Part &part : array.parts) {
    Part made = part;
    for (auto [to, from] : llvm::enumerate(perm))
      made.value.strides[to] = part.value.strides[from];
    result.parts.push_back(made);
  }
  return result;
}

} // namespace spmdc
