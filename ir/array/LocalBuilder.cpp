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

} // namespace spmdc
