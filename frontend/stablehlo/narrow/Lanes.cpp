//===- Lanes.cpp - formulas over the bits of numbers ----------------------===//

#include "frontend/stablehlo/narrow/Lanes.h"

using namespace mlir;

namespace spmdc::stablehlo {

Lanes Lanes::like(int64_t number) const {
  auto element = llvm::cast<IntegerType>(type().getElementType());
  APInt bits(element.getWidth(), static_cast<uint64_t>(number), /*isSigned=*/true);
  return {*b, loc, b->create<ConstantOp>(loc, type(), DenseElementsAttr::get(type(), bits))};
}

Lanes Lanes::iotaOfLast(ArrayRef<int64_t> shape) const {
  auto result = RankedTensorType::get(shape, type().getElementType());
  return {*b, loc, b->create<IotaOp>(loc, result, b->getI64IntegerAttr(static_cast<int64_t>(shape.size()) - 1))};
}

Lanes Lanes::repeat(int64_t times) const {
  SmallVector<int64_t> sizes(shape());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(sizes.size())));
  sizes.push_back(times);
  auto result = RankedTensorType::get(sizes, type().getElementType());
  return {*b, loc, b->create<BroadcastInDimOp>(loc, result, value, dims)};
}

Lanes Lanes::dropLast(int64_t index) const {
  SmallVector<int64_t> starts(shape().size(), 0), limits(shape()), strides(shape().size(), 1), sizes(shape());
  starts.back() = index;
  limits.back() = index + 1;
  sizes.back() = 1;
  auto slice = RankedTensorType::get(sizes, type().getElementType());
  auto result = RankedTensorType::get(shape().drop_back(), type().getElementType());
  Value part = b->create<SliceOp>(loc, slice, value, starts, limits, strides);
  return {*b, loc, b->create<ReshapeOp>(loc, result, part)};
}

} // namespace spmdc::stablehlo
