//===- LocalBuilder.cpp - index arithmetic of one device ------------------===//

#include "ir/array/LocalBuilder.h"

using namespace mlir;

namespace spmdc {

Value createCombination(OpBuilder &b, Location loc, ReductionKind kind, Value x, Value y) {
  switch (kind) {
  case ReductionKind::sum:
    return b.create<AddOp>(loc, x, y);
  case ReductionKind::prod:
    return b.create<MultiplyOp>(loc, x, y);
  case ReductionKind::max:
    return b.create<MaximumOp>(loc, x, y);
  case ReductionKind::min:
    return b.create<MinimumOp>(loc, x, y);
  case ReductionKind::and_:
    return b.create<AndOp>(loc, x, y);
  case ReductionKind::or_:
    return b.create<OrOp>(loc, x, y);
  }
  llvm_unreachable("unknown reduction");
}

Value createReduce(OpBuilder &b, Location loc, Value operand, ReductionKind kind, ArrayRef<int64_t> dims) {
  auto type = cast<ArrayType>(operand.getType());
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(d)))
      shape.push_back(size);
  return b.create<ReduceOp>(loc, type.withShape(shape), operand, kind, dims);
}

Value createSlice(OpBuilder &b, Location loc, Value operand, int64_t dim, int64_t begin, int64_t count,
                  int64_t stride) {
  auto type = cast<ArrayType>(operand.getType());
  if (begin == 0 && count == type.getDimSize(dim) && stride == 1)
    return operand;
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1);
  starts[dim] = begin;
  limits[dim] = begin + (count - 1) * stride + 1;
  strides[dim] = count == 1 ? 1 : stride;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  return b.create<SliceOp>(loc, type.withShape(shape), operand, starts, limits, strides);
}

} // namespace spmdc
