//===- IndexEvaluation.cpp - reference evaluation of indexing -------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/ScalarEvaluation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

using namespace mlir;

namespace spmdc {
namespace {

/// Calls `visit` with every index of the shape, in row-major order.
void forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> visit) {
  if (elementCount(shape) == 0)
    return;
  SmallVector<int64_t> index(shape.size());
  do
    visit(index);
  while (nextIndex(index, shape));
}

/// The clamped start of a window of shape `window` in an array of this shape.
SmallVector<int64_t> clampStarts(ArrayRef<Tensor> starts, ArrayRef<int64_t> shape, ArrayRef<int64_t> window) {
  SmallVector<int64_t> result;
  for (auto [start, size, extent] : llvm::zip(starts, shape, window))
    result.push_back(std::clamp<int64_t>(start.elements[0].i, 0, size - extent));
  return result;
}

SmallVector<int64_t> sum(ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
  SmallVector<int64_t> result(x);
  for (size_t d = 0; d < y.size(); ++d)
    result[d] += y[d];
  return result;
}

/// The index into the array of indices that belongs to an index of take's result.
ArrayRef<int64_t> indexPart(ArrayRef<int64_t> index, int64_t dim, const Tensor &indices) {
  return index.slice(dim, indices.shape.size());
}

/// The index into the operand of a take for an index of its result, at `position` along `dim`.
SmallVector<int64_t> takenIndex(ArrayRef<int64_t> index, int64_t dim, const Tensor &indices, int64_t position) {
  SmallVector<int64_t> result(index.take_front(dim));
  result.push_back(position);
  llvm::append_range(result, index.drop_front(dim + indices.shape.size()));
  return result;
}

/// Adds each update at `target`, if that is in range; sums are in double precision, rounded once.
Tensor scatterAdd(ArrayRef<Tensor> operands, int64_t dim,
                  function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)> targetOf) {
  Tensor result = operands[0];
  Type type = result.elementType;
  forEachIndex(operands[2].shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> target = targetOf(index);
    if (target[dim] < 0 || target[dim] >= result.shape[dim])
      return;
    Scalar &element = result.at(target);
    element = evaluateAdd(type, element, operands[2].at(index));
    if (!isa<FloatType>(type))
      element = roundTo(element, type);
  });
  for (Scalar &element : result.elements)
    element = roundTo(element, type);
  return result;
}

} // namespace

Tensor DynamicSliceOp::evaluate(ArrayRef<Tensor> operands) {
  Tensor result(getType().getShape(), getType().getElementType());
  SmallVector<int64_t> starts = clampStarts(operands.drop_front(), operands[0].shape, result.shape);
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) { result.at(index) = operands[0].at(sum(starts, index)); });
  return result;
}

Tensor DynamicUpdateSliceOp::evaluate(ArrayRef<Tensor> operands) {
  Tensor result = operands[0];
  SmallVector<int64_t> starts = clampStarts(operands.drop_front(2), result.shape, operands[1].shape);
  forEachIndex(operands[1].shape,
               [&](ArrayRef<int64_t> index) { result.at(sum(starts, index)) = operands[1].at(index); });
  return result;
}

Tensor TakeOp::evaluate(ArrayRef<Tensor> operands) {
  Tensor result(getType().getShape(), getType().getElementType());
  auto dim = static_cast<int64_t>(getDim());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    int64_t position = operands[1].at(indexPart(index, dim, operands[1])).i;
    position = std::clamp<int64_t>(position, 0, operands[0].shape[dim] - 1);
    result.at(index) = operands[0].at(takenIndex(index, dim, operands[1], position));
  });
  return result;
}

Tensor TakeAlongOp::evaluate(ArrayRef<Tensor> operands) {
  Tensor result(getType().getShape(), getType().getElementType());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    source[getDim()] = std::clamp<int64_t>(operands[1].at(index).i, 0, operands[0].shape[getDim()] - 1);
    result.at(index) = operands[0].at(source);
  });
  return result;
}

Tensor ScatterAddOp::evaluate(ArrayRef<Tensor> operands) {
  auto dim = static_cast<int64_t>(getDim());
  return scatterAdd(operands, dim, [&](ArrayRef<int64_t> index) {
    return takenIndex(index, dim, operands[1], operands[1].at(indexPart(index, dim, operands[1])).i);
  });
}

Tensor ScatterAddAlongOp::evaluate(ArrayRef<Tensor> operands) {
  auto dim = static_cast<int64_t>(getDim());
  return scatterAdd(operands, dim, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> target(index);
    target[dim] = operands[1].at(index).i;
    return target;
  });
}

std::vector<int64_t> evaluateOrder(Type elementType, ArrayRef<Scalar> line, bool isDescending) {
  bool isFloat = isa<FloatType>(elementType);
  auto rank = [](double x) { return !std::isnan(x) ? 0 : std::signbit(x) ? -1 : 1; };
  auto isLess = [&](Scalar a, Scalar b) {
    if (!isFloat)
      return isLessInteger(a, b, elementType);
    if (!isDescending)
      return std::isnan(b.f) ? !std::isnan(a.f) : a.f < b.f;
    if (rank(a.f) != 0 || rank(b.f) != 0)
      return rank(a.f) < rank(b.f);
    return a.f < b.f || (a.f == b.f && std::signbit(a.f) && !std::signbit(b.f));
  };
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  // By value, then by position, for a stable sort.
  llvm::sort(order, [&](int64_t a, int64_t b) {
    Scalar x = isDescending ? line[b] : line[a], y = isDescending ? line[a] : line[b];
    return isLess(x, y) || (!isLess(y, x) && a < b);
  });
  return order;
}

Tensor ArgsortOp::evaluate(ArrayRef<Tensor> operands) {
  const Tensor &operand = operands[0];
  Tensor result(getType().getShape(), getType().getElementType());
  SmallVector<int64_t> lines(ArrayRef<int64_t>(operand.shape));
  auto dim = static_cast<int64_t>(getDim());
  lines[dim] = std::min<int64_t>(1, lines[dim]);
  std::vector<Scalar> elements(operand.shape[dim]);
  forEachIndex(lines, [&](ArrayRef<int64_t> line) {
    SmallVector<int64_t> index(line);
    for (auto [position, element] : llvm::enumerate(elements)) {
      index[dim] = static_cast<int64_t>(position);
      element = operand.at(index);
    }
    for (auto [position, source] : llvm::enumerate(evaluateOrder(operand.elementType, elements, getDescending()))) {
      index[dim] = static_cast<int64_t>(position);
      result.at(index) = Scalar::ofInt(source);
    }
  });
  return result;
}

Scalar evaluateThreefry(ArrayRef<Scalar> operands, int64_t word) {
  // Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t key[3], x[2];
  for (int i = 0; i < 2; ++i) {
    key[i] = static_cast<uint32_t>(operands[i].i);
    x[i] = static_cast<uint32_t>(operands[2 + i].i) + key[i];
  }
  key[2] = key[0] ^ key[1] ^ 0x1BD11BDAu;
  for (uint32_t round = 0; round < 5; ++round) {
    for (int rotation : kRotations[round % 2]) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], rotation) ^ x[0];
    }
    x[0] += key[(round + 1) % 3];
    x[1] += key[(round + 2) % 3] + round + 1;
  }
  return Scalar::ofInt(x[word]);
}

} // namespace spmdc
