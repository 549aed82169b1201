//===- Real.cpp - formulas over arrays of floats --------------------------===//

#include "frontend/stablehlo/complex/Real.h"

#include <cmath>

using namespace mlir;

namespace spmdc::stablehlo {

Real Real::isNegative() const {
  Type integers = withElement(type(), b->getIntegerType(type().getElementTypeBitWidth()));
  Real bits(*b, loc, b->create<BitcastConvertOp>(loc, integers, value));
  auto zero = DenseElementsAttr::get(bits.type(), b->getIntegerAttr(bits.type().getElementType(), 0));
  return bits.compare("LT", {*b, loc, b->create<ConstantOp>(loc, bits.type(), zero)});
}

Real Real::withSignOf(Real other) const {
  Real size = abs(*this);
  return other.isNegative().select(-size, size);
}

//===- Movement and products ----------------------------------------------===//

Real Real::reshape(ArrayRef<int64_t> shape) const {
  auto result = RankedTensorType::get(shape, type().getElementType());
  return result == type() ? *this : Real(*b, loc, b->create<ReshapeOp>(loc, result, value));
}

Real Real::transpose(ArrayRef<int64_t> perm) const {
  if (llvm::equal(perm, llvm::seq<int64_t>(0, perm.size())))
    return *this;
  auto sizes = llvm::map_to_vector(perm, [&](int64_t dim) { return shape()[dim]; });
  return {*b, loc, b->create<TransposeOp>(loc, RankedTensorType::get(sizes, type().getElementType()), value, perm)};
}

Real Real::broadcast(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) const {
  auto result = RankedTensorType::get(shape, type().getElementType());
  return {*b, loc, b->create<BroadcastInDimOp>(loc, result, value, dims)};
}

Real Real::slice(int64_t dim, int64_t begin, int64_t end) const {
  if (begin == 0 && end == shape()[dim])
    return *this;
  SmallVector<int64_t> starts(shape().size(), 0), limits(shape()), strides(shape().size(), 1), sizes(shape());
  starts[dim] = begin;
  limits[dim] = end;
  sizes[dim] = end - begin;
  auto result = RankedTensorType::get(sizes, type().getElementType());
  return {*b, loc, b->create<SliceOp>(loc, result, value, starts, limits, strides)};
}

Real Real::concatenate(Real other, int64_t dim) const {
  SmallVector<int64_t> sizes(shape());
  sizes[dim] += other.shape()[dim];
  auto result = RankedTensorType::get(sizes, type().getElementType());
  return {*b, loc, b->create<ConcatenateOp>(loc, result, ValueRange{value, other.value}, dim)};
}

Real Real::pad(int64_t dim, int64_t size) const {
  if (size == shape()[dim])
    return *this;
  SmallVector<int64_t> none(shape().size(), 0), high(none), sizes(shape());
  high[dim] = size - shape()[dim];
  sizes[dim] = size;
  auto result = RankedTensorType::get(sizes, type().getElementType());
  return {*b, loc, b->create<PadOp>(loc, result, value, constant({}, {0.0}).value, none, high, none)};
}

Real Real::contract(int64_t dim, Real matrix) const {
  SmallVector<int64_t> sizes(shape());
  sizes.erase(sizes.begin() + dim);
  sizes.push_back(matrix.shape()[1]);
  auto result = RankedTensorType::get(sizes, type().getElementType());
  return {*b, loc,
          b->create<DotGeneralOp>(loc, result, value, matrix.value, ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                                  ArrayRef<int64_t>{dim}, ArrayRef<int64_t>{0}, ArrayAttr())};
}

Real Real::constant(ArrayRef<int64_t> shape, ArrayRef<double> numbers) const {
  auto result = RankedTensorType::get(shape, type().getElementType());
  DenseElementsAttr value;
  if (isDouble())
    value = DenseElementsAttr::get(result, numbers);
  else
    value = DenseElementsAttr::get(
        result, ArrayRef<float>(llvm::map_to_vector(numbers, [](double number) { return float(number); })));
  return {*b, loc, b->create<ConstantOp>(loc, result, value)};
}

Real isInfinite(Real x) { return abs(x) == INFINITY; }
Real isFinite(Real x) { return abs(x) < INFINITY; }

} // namespace spmdc::stablehlo
