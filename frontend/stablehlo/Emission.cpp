//===- Emission.cpp - array operations of a translation -------------------===//

#include "frontend/stablehlo/Translation.h"
#include "runtime/support/ArraySize.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

Value Translation::splat(ArrayType type, double value) {
  bool isFloat = llvm::isa<FloatType>(type.getElementType());
  Scalar scalar = isFloat ? Scalar::ofFloat(value) : Scalar::ofInt(static_cast<int64_t>(value));
  return create<spmdc::ConstantOp>(type, roundTo(scalar, type.getElementType()));
}

Value Translation::iota(ArrayRef<int64_t> shape, int64_t dim) {
  return create<spmdc::IotaOp>(ArrayType::get(shape, b.getI32Type()), dim);
}

Value Translation::convert(Value array, Type elementType) {
  ArrayType type = plainTypeOf(array);
  if (type.getElementType() == elementType)
    return array;
  return create<spmdc::ConvertOp>(type.withElementType(elementType), array);
}

Value Translation::toI64(Value array) {
  ArrayType type = plainTypeOf(array);
  if (type.getElementType().isUnsignedInteger(64))
    array = create<spmdc::MinimumOp>(array, create<spmdc::ConstantOp>(type, Scalar::ofInt(INT64_MAX)));
  return convert(array, b.getI64Type());
}

Value Translation::reshape(Value array, ArrayRef<int64_t> shape) {
  ArrayType type = plainTypeOf(array);
  return type.getShape() == shape ? array : create<spmdc::ReshapeOp>(type.withShape(shape), array).getResult();
}

Value Translation::transpose(Value array, ArrayRef<int64_t> perm) {
  if (llvm::equal(perm, llvm::seq<int64_t>(0, perm.size())))
    return array;
  return create<spmdc::TransposeOp>(array, perm);
}

Value Translation::broadcast(Value array, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  ArrayType type = plainTypeOf(array);
  if (type.getShape() == shape && llvm::equal(dims, llvm::seq<int64_t>(0, dims.size())))
    return array;
  if (!llvm::is_sorted(dims)) { // The array operation wants increasing dimensions.
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, dims.size())), sorted(dims);
    llvm::sort(perm, [&](int64_t i, int64_t j) { return dims[i] < dims[j]; });
    llvm::sort(sorted);
    return broadcast(transpose(array, perm), shape, sorted);
  }
  return create<spmdc::BroadcastInDimOp>(type.withShape(shape), array, dims);
}

Value Translation::slice(Value array, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  ArrayRef<int64_t> shape = shapeOf(array);
  bool isAll = llvm::equal(limits, shape) && llvm::all_of(starts, [](int64_t start) { return start == 0; }) &&
               llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
  return isAll ? array : create<spmdc::SliceOp>(array, starts, limits, strides).getResult();
}

Value Translation::sliceDim(Value array, int64_t dim, int64_t begin, int64_t end, int64_t stride) {
  ArrayRef<int64_t> shape = shapeOf(array);
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape), strides(shape.size(), 1);
  starts[dim] = begin;
  limits[dim] = end;
  strides[dim] = stride;
  return slice(array, starts, limits, strides);
}

Value Translation::pad(Value array, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                       ArrayRef<int64_t> interior) {
  ArrayType type = plainTypeOf(array);
  SmallVector<int64_t> shape;
  bool isNothing = true;
  for (auto [size, before, after, between] : llvm::zip_equal(type.getShape(), low, high, interior)) {
    shape.push_back(std::max<int64_t>(0, before + after + size + std::max<int64_t>(0, size - 1) * between));
    isNothing &= before == 0 && after == 0 && (between == 0 || size < 2);
  }
  return isNothing ? array : create<spmdc::PadOp>(type.withShape(shape), array, value, low, high, interior).getResult();
}

FailureOr<Value> Translation::padFor(Operation *op, Value array, Value value, ArrayRef<int64_t> low,
                                     ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  ArrayType type = plainTypeOf(array);
  SmallVector<int64_t> shape;
  for (auto [size, before, after, between] : llvm::zip_equal(type.getShape(), low, high, interior)) {
    int64_t inside = spmd::addSaturated(size, spmd::multiplySaturated(std::max<int64_t>(0, size - 1), between));
    // Negative padding removes elements.
    int64_t added = spmd::addSaturated(std::max<int64_t>(0, before), std::max<int64_t>(0, after));
    shape.push_back(spmd::addSaturated(inside, added));
  }
  if (!spmd::isAllowedSize(shape, spmd::byteSize(type.getDType())))
    return refuse(op, "pads an array to more elements than any memory holds");
  return pad(array, value, low, high, interior);
}

Value Translation::concatenate(ArrayRef<Value> arrays, int64_t dim) {
  if (arrays.size() == 1)
    return arrays.front();
  ArrayType type = plainTypeOf(arrays.front());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 0;
  for (Value array : arrays)
    shape[dim] += shapeOf(array)[dim];
  return create<spmdc::ConcatenateOp>(type.withShape(shape), arrays, dim);
}

Value Translation::compare(Value x, spmdc::ComparisonDirection direction, Value y) {
  ArrayType type = plainTypeOf(x).withElementType(b.getI1Type());
  return create<spmdc::CompareOp>(type, x, y, direction);
}

Value Translation::select(Value predicate, Value onTrue, Value onFalse) {
  Value wide = broadcast(predicate, shapeOf(onTrue), llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(predicate).size())));
  return create<spmdc::SelectOp>(plainTypeOf(onTrue), wide, onTrue, onFalse);
}

Value Translation::odd(Value x, Value size) {
  Value zero = splatLike(x, 0);
  Value result = select(compare(x, ComparisonDirection::lt, zero), create<spmdc::NegateOp>(size), size);
  return select(compare(x, ComparisonDirection::eq, zero), x, result); // Both zeros are equal.
}

Value Translation::combine(ReductionKind kind, Value x, Value y) {
  switch (kind) {
  case ReductionKind::sum:
    return create<spmdc::AddOp>(x, y);
  case ReductionKind::prod:
    return create<spmdc::MultiplyOp>(x, y);
  case ReductionKind::max:
    return create<spmdc::MaximumOp>(x, y);
  case ReductionKind::min:
    return create<spmdc::MinimumOp>(x, y);
  case ReductionKind::and_:
    return create<spmdc::AndOp>(x, y);
  case ReductionKind::or_:
    return create<spmdc::OrOp>(x, y);
  }
  llvm_unreachable("all kinds are handled");
}

/// The neutral element of a reduction for an element type.
static Scalar neutralOf(ReductionKind kind, Type type) {
  bool isFloat = llvm::isa<FloatType>(type);
  unsigned bits = type.getIntOrFloatBitWidth();
  auto largest = [&] {
    return isUnsigned(type) || bits == 1 ? -1 : std::numeric_limits<int64_t>::max() >> (64 - bits);
  };
  switch (kind) {
  case ReductionKind::sum:
  case ReductionKind::or_:
    return isFloat ? Scalar::ofFloat(0) : Scalar::ofInt(0);
  case ReductionKind::prod:
    return isFloat ? Scalar::ofFloat(1) : Scalar::ofInt(1);
  case ReductionKind::and_:
    return Scalar::ofInt(-1);
  case ReductionKind::max:
    if (isFloat)
      return Scalar::ofFloat(-INFINITY);
    return Scalar::ofInt(isUnsigned(type) || bits == 1 ? 0 : -largest() - 1);
  case ReductionKind::min:
    return isFloat ? Scalar::ofFloat(INFINITY) : Scalar::ofInt(largest());
  }
  llvm_unreachable("all kinds are handled");
}

Value Translation::neutral(ReductionKind kind, ArrayType type) {
  return create<spmdc::ConstantOp>(type, roundTo(neutralOf(kind, type.getElementType()), type.getElementType()));
}

bool Translation::isNeutral(ReductionKind kind, Value init) {
  while (auto broadcast = init.getDefiningOp<BroadcastInDimOp>())
    init = broadcast.getOperand();
  auto constant = init.getDefiningOp<ConstantOp>();
  auto value = constant ? llvm::dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!value || !value.isSplat())
    return false;
  Type type = value.getElementType();
  if (auto number = llvm::dyn_cast<FloatType>(type))
    return value.getSplatValue<APFloat>().convertToDouble() == neutralOf(kind, type).f;
  Scalar wanted = roundTo(neutralOf(kind, type), type);
  APInt bits = value.getSplatValue<APInt>();
  return bits.trunc(std::min(64u, bits.getBitWidth())) == APInt(64, wanted.i, true).trunc(bits.getBitWidth());
}

AxesAttr Translation::axesOf(ArrayRef<std::string> names) {
  return AxesAttr::get(b.getContext(), llvm::map_to_vector(names, [&](const std::string &name) {
                         return AxisRefAttr::get(b.getContext(), name);
                       }));
}

} // namespace spmdc::stablehlo
