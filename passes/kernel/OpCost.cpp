//===- OpCost.cpp - costs of operations in a kernel -----------------------===//

#include "passes/kernel/OpCost.h"

#include "passes/kernel/IndexMaps.h"

using namespace mlir;

namespace spmdc {

/// Larger arrays are read from memory, smaller ones from a cache.
static constexpr int64_t kCachedBytes = 1 << 20;

double getStoreCost(Value value) {
  auto type = cast<ArrayType>(value.getType());
  double width = static_cast<double>(spmd::byteSize(type.getDType())) / 4;
  return (type.getBytes() > kCachedBytes ? 4 : 1) * std::max(0.5, width);
}

double getOpCost(Value value, bool isLoad) {
  if (isLoad)
    return getStoreCost(value);
  Operation *op = value.getDefiningOp();
  auto type = cast<ArrayType>(value.getType());
  bool isWide = type.getElementType().isF64() || type.getElementType().isInteger(64);
  double width = isWide ? 2 : 1;
  if (isa<Threefry2x32Op>(op)) // The cost of the rounds; both words share them.
    return 40;
  if (isa<ConstantOp, IotaOp, ShardStartOp, ShardSizeOp, AxisIndexOp>(op) || isIndexOp(op))
    return 0.25;
  if (isa<ConcatenateOp>(op))
    return 1;
  if (op->hasTrait<MathFunction>())
    return 15 * width;
  if (op->hasTrait<Division>() || isa<SqrtOp, RsqrtOp>(op))
    return 4 * width;
  if (isa<CumulativeOp>(op))
    return 4 * width;
  return width;
}

} // namespace spmdc
