//===- TranslateMovement.cpp - creation, shapes, slices -------------------===//

#include "frontend/stablehlo/Translation.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

One constant(Translation &t, ConstantOp op) {
  auto value = llvm::dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value)
    return refuse(op, "has no dense value in the text; export with the constants written out");
  return t.create<spmdc::ConstantOp>(value).getResult();
}

One iota(Translation &t, IotaOp op) {
  ArrayType type = Translation::typeOf(op.getType());
  if (op.getIotaDimension() >= static_cast<uint64_t>(type.getRank()))
    return refuse(op, "counts along a dimension that its result does not have");
  return t.create<spmdc::IotaOp>(type, op.getIotaDimension()).getResult();
}

One broadcast(Translation &t, BroadcastInDimOp op) {
  Value x = t.get(op.getOperand());
  ArrayType type = Translation::typeOf(op.getType());
  ArrayRef<int64_t> dims = op.getBroadcastDimensions();
  if (dims.size() != shapeOf(x).size() || !areDims(dims, type.getRank()))
    return refuse(op, "names other dimensions than its types have");
  for (auto [size, dim] : llvm::zip_equal(shapeOf(x), dims))
    if (size != 1 && size != type.getDimSize(dim))
      return refuse(op, "repeats a dimension of " + Twine(size) + " elements to " + Twine(type.getDimSize(dim)));
  return t.broadcast(x, type.getShape(), dims);
}

One transpose(Translation &t, TransposeOp op) {
  Value x = t.get(op.getOperand());
  if (op.getPermutation().size() != shapeOf(x).size() || !areDims(op.getPermutation(), spmdc::typeOf(x).getRank()))
    return refuse(op, "has no permutation of its operand's dimensions");
  return t.transpose(x, op.getPermutation());
}

One reverse(Translation &t, ReverseOp op) {
  Value x = t.get(op.getOperand());
  if (!areDims(op.getDimensions(), spmdc::typeOf(x).getRank()))
    return refuse(op, "names other dimensions than its operand has");
  return t.create<spmdc::ReverseOp>(plainTypeOf(x), x, op.getDimensions()).getResult();
}

One slice(Translation &t, SliceOp op) {
  Value x = t.get(op.getOperand());
  ArrayRef<int64_t> shape = shapeOf(x), starts = op.getStartIndices(), limits = op.getLimitIndices();
  ArrayRef<int64_t> strides = op.getStrides();
  if (starts.size() != shape.size() || limits.size() != shape.size() || strides.size() != shape.size())
    return refuse(op, "has another number of ranges than its operand has dimensions");
  for (auto [size, start, limit, stride] : llvm::zip(shape, starts, limits, strides))
    if (start < 0 || start > limit || limit > size || stride < 1)
      return refuse(op, "takes " + Twine(start) + " to " + Twine(limit) + " of " + Twine(size) + " elements");
  return t.slice(x, starts, limits, strides);
}

One pad(Translation &t, PadOp op) {
  Value x = t.get(op.getOperand()), value = t.get(op.getPaddingValue());
  size_t rank = shapeOf(x).size();
  ArrayRef<int64_t> interior = op.getInteriorPadding();
  if (op.getEdgePaddingLow().size() != rank || op.getEdgePaddingHigh().size() != rank || interior.size() != rank ||
      llvm::any_of(interior, [](int64_t between) { return between < 0; }) || !shapeOf(value).empty())
    return refuse(op, "has other paddings than its operand has dimensions");
  return t.padFor(op, x, value, op.getEdgePaddingLow(), op.getEdgePaddingHigh(), interior);
}

One concatenate(Translation &t, ConcatenateOp op) {
  SmallVector<Value> parts = t.get(op.getInputs());
  if (parts.empty() || op.getDimension() >= shapeOf(parts.front()).size())
    return refuse(op, "has no operands, or no such dimension");
  auto dim = static_cast<int64_t>(op.getDimension());
  for (Value part : parts)
    for (auto [index, sizes] : llvm::enumerate(llvm::zip_longest(shapeOf(part), shapeOf(parts.front()))))
      if (static_cast<int64_t>(index) != dim && std::get<0>(sizes) != std::get<1>(sizes))
        return refuse(op, "has operands of different shapes");
  return t.concatenate(parts, dim);
}

/// Starts as i32 or i64; unsigned ones keep their value.
SmallVector<Value> startsOf(Translation &t, ValueRange starts) {
  return llvm::map_to_vector(t.get(starts), [&](Value start) {
    Type type = spmdc::typeOf(start).getElementType();
    bool isIndex = type.isSignlessInteger(32) || type.isSignlessInteger(64);
    return isIndex ? start : t.toI64(start);
  });
}

bool areStarts(Translation &t, ValueRange starts, size_t rank) {
  return starts.size() == rank && llvm::all_of(starts, [&](Value start) {
           return shapeOf(t.get(start)).empty() && llvm::isa<IntegerType>(spmdc::typeOf(t.get(start)).getElementType());
         });
}

/// Whether a window of these sizes fits into the shape.
bool fits(ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
  return sizes.size() == shape.size() && llvm::all_of(llvm::zip(sizes, shape), [](auto pair) {
           return std::get<0>(pair) >= 0 && std::get<0>(pair) <= std::get<1>(pair);
         });
}

One dynamicSlice(Translation &t, DynamicSliceOp op) {
  Value x = t.get(op.getOperand());
  if (!areStarts(t, op.getStartIndices(), shapeOf(x).size()) || !fits(op.getSliceSizes(), shapeOf(x)))
    return refuse(op, "has other starts or sizes than its operand has dimensions");
  return t.create<spmdc::DynamicSliceOp>(x, startsOf(t, op.getStartIndices()), op.getSliceSizes()).getResult();
}

One dynamicUpdateSlice(Translation &t, DynamicUpdateSliceOp op) {
  Value x = t.get(op.getOperand()), update = t.get(op.getUpdate());
  if (!areStarts(t, op.getStartIndices(), shapeOf(x).size()) || !fits(shapeOf(update), shapeOf(x)))
    return refuse(op, "has an update or starts that do not fit its operand");
  return t.create<spmdc::DynamicUpdateSliceOp>(x, update, startsOf(t, op.getStartIndices())).getResult();
}

} // namespace

void addMovementRules(Rules &rules) {
  rules.add<ConstantOp>(constant);
  rules.add<IotaOp>(iota);
  rules.add<BroadcastInDimOp>(broadcast);
  rules.add<TransposeOp>(transpose);
  rules.add<ReverseOp>(reverse);
  rules.add<SliceOp>(slice);
  rules.add<PadOp>(pad);
  rules.add<ConcatenateOp>(concatenate);
  rules.add<DynamicSliceOp>(dynamicSlice);
  rules.add<DynamicUpdateSliceOp>(dynamicUpdateSlice);
}

} // namespace spmdc::stablehlo
