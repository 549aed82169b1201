//===- ArrayEvaluation.cpp - reference evaluation of array ops ------------===//
//
// The reference for compiled code: each function is the definition of its operation, element by element, in double
// precision rounded once to the result's type.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/ScalarEvaluation.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

/// The result of an operation, element by element: `element(index)`.
Tensor generate(ArrayType type, function_ref<Scalar(ArrayRef<int64_t>)> element) {
  Tensor result(type.getShape(), type.getElementType());
  if (result.elements.empty())
    return result;
  SmallVector<int64_t> index(type.getRank());
  size_t position = 0;
  do
    result.elements[position++] = element(index);
  while (nextIndex(index, type.getShape()));
  return result;
}

/// Sums of half precision stay in f32; every other type accumulates in itself (floats: in double, rounded once).
Scalar finish(Type type, Scalar value) { return roundTo(value, type); }

} // namespace

Tensor ConstantOp::evaluate(ArrayRef<Tensor>) { return Tensor::fromAttr(cast<DenseElementsAttr>(getValue())); }

Tensor IotaOp::evaluate(ArrayRef<Tensor>) {
  Type elementType = getType().getElementType();
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    int64_t value = index[getDim()];
    return roundTo(isa<FloatType>(elementType) ? Scalar::ofFloat(static_cast<double>(value)) : Scalar::ofInt(value),
                   elementType);
  });
}

Tensor BroadcastInDimOp::evaluate(ArrayRef<Tensor> operands) {
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source;
    for (auto [d, dim] : llvm::enumerate(getDims()))
      source.push_back(operands[0].shape[d] == 1 ? 0 : index[dim]);
    return operands[0].at(source);
  });
}

Tensor ReshapeOp::evaluate(ArrayRef<Tensor> operands) {
  Tensor result = operands[0];
  result.shape.assign(getType().getShape().begin(), getType().getShape().end());
  return result;
}

Tensor TransposeOp::evaluate(ArrayRef<Tensor> operands) {
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index.size());
    for (auto [d, dim] : llvm::enumerate(getPerm()))
      source[dim] = index[d];
    return operands[0].at(source);
  });
}

Tensor SliceOp::evaluate(ArrayRef<Tensor> operands) {
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source;
    for (auto [d, position] : llvm::enumerate(index))
      source.push_back(getStarts()[d] + position * getStrides()[d]);
    return operands[0].at(source);
  });
}

Tensor PadOp::evaluate(ArrayRef<Tensor> operands) {
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source;
    for (auto [d, position] : llvm::enumerate(index)) {
      int64_t offset = position - getLow()[d], pitch = getInterior()[d] + 1;
      if (offset < 0 || offset % pitch || offset / pitch >= operands[0].shape[d])
        return operands[1].elements[0];
      source.push_back(offset / pitch);
    }
    return operands[0].at(source);
  });
}

Tensor ConcatenateOp::evaluate(ArrayRef<Tensor> operands) {
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    size_t part = 0;
    while (source[getDim()] >= operands[part].shape[getDim()])
      source[getDim()] -= operands[part++].shape[getDim()];
    return operands[part].at(source);
  });
}

Tensor ReverseOp::evaluate(ArrayRef<Tensor> operands) {
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    for (int64_t dim : getDims())
      source[dim] = operands[0].shape[dim] - 1 - source[dim];
    return operands[0].at(source);
  });
}

Tensor DotGeneralOp::evaluate(ArrayRef<Tensor> operands) {
  const Tensor &lhs = operands[0], &rhs = operands[1];
  SmallVector<int64_t> lhsFree = getLhsFreeDims(), rhsFree = getRhsFreeDims();
  SmallVector<int64_t> contracted;
  for (int64_t dim : getLhsContract())
    contracted.push_back(lhs.shape[dim]);
  Type type = getType().getElementType();
  bool isEmpty = elementCount(contracted) == 0;
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> left(lhs.shape.size()), right(rhs.shape.size());
    size_t next = 0;
    for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch()))
      left[l] = right[r] = index[next++];
    for (int64_t dim : lhsFree)
      left[dim] = index[next++];
    for (int64_t dim : rhsFree)
      right[dim] = index[next++];
    Scalar sum;
    if (isEmpty)
      return sum;
    SmallVector<int64_t> k(contracted.size());
    do {
      for (auto [position, l, r] : llvm::zip(k, getLhsContract(), getRhsContract()))
        left[l] = right[r] = position;
      sum = evaluateAdd(type, sum, evaluateMultiply(type, lhs.at(left), rhs.at(right)));
    } while (nextIndex(k, contracted));
    return finish(type, sum);
  });
}

Tensor ReduceOp::evaluate(ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0];
  Type type = getType().getElementType();
  Tensor result(getType().getShape(), type, getReductionIdentity(type, getKind()));
  if (x.elements.empty())
    return result;
  SmallVector<int64_t> index(x.shape.size());
  size_t position = 0;
  do {
    SmallVector<int64_t> target;
    for (auto [d, i] : llvm::enumerate(index))
      if (!llvm::is_contained(getDims(), static_cast<int64_t>(d)))
        target.push_back(i);
    Scalar &sum = result.at(target);
    sum = evaluateReduction(type, getKind(), sum, x.elements[position++]);
    if (!isa<FloatType>(type))
      sum = roundTo(sum, type);
  } while (nextIndex(index, x.shape));
  for (Scalar &element : result.elements)
    element = finish(type, element);
  return result;
}

Tensor ArgReduceOp::evaluate(ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0];
  bool isFloat = isa<FloatType>(x.elementType);
  auto wins = [&](Scalar candidate, Scalar best) {
    if (!isFloat)
      return getIsMax() ? isLessInteger(best, candidate, x.elementType) : isLessInteger(candidate, best, x.elementType);
    if (std::isnan(best.f))
      return false;
    if (std::isnan(candidate.f))
      return true;
    return getIsMax() ? candidate.f > best.f : candidate.f < best.f;
  };
  return generate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    source.insert(source.begin() + getDim(), 0);
    int64_t best = 0;
    Scalar bestValue = x.at(source);
    for (int64_t i = 1; i < x.shape[getDim()]; ++i) {
      source[getDim()] = i;
      if (wins(x.at(source), bestValue)) {
        best = i;
        bestValue = x.at(source);
      }
    }
    return Scalar::ofInt(best);
  });
}

Tensor CumulativeOp::evaluate(ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0];
  Type type = getType().getElementType();
  auto dim = static_cast<size_t>(getDim());
  ArrayRef<int64_t> shape = getType().getShape();
  int64_t size = shape[dim] * (getContinued() ? shape[dim - 1] : 1), inner = 1;
  for (int64_t after : shape.drop_front(dim + 1))
    inner *= after;
  // Row-major positions, line after line: each element is combined once.
  std::vector<Scalar> sums(x.elements.size());
  for (int64_t begin = 0; begin < x.size(); begin += size * inner)
    for (int64_t line = begin; line < begin + inner; ++line) {
      Scalar sum = getReductionIdentity(type, getKind());
      for (int64_t i = 0; i < size; ++i) {
        int64_t position = line + (getReversed() ? size - 1 - i : i) * inner;
        sum = evaluateReduction(type, getKind(), sum, x.elements[position]);
        sums[position] = finish(type, sum);
      }
    }
  int64_t next = 0;
  return generate(getType(), [&](ArrayRef<int64_t>) { return sums[next++]; });
}

} // namespace spmdc
