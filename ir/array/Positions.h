//===- Positions.h - the integer type of positions --------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace spmdc {

/// The largest dimension whose positions are i32. Index arithmetic adds a size to a position (an index that
/// counts from the end, the padding of the last shard), so twice the size has to fit as well.
constexpr int64_t kMaxNarrowSize = int64_t(1) << 30;

/// The element type of positions along a dimension of `size` elements: i32, or i64 if arithmetic on them could exceed
/// 32 bits.
inline mlir::IntegerType getPositionType(mlir::MLIRContext *context, int64_t size) {
  return mlir::IntegerType::get(context, size <= kMaxNarrowSize ? 32 : 64);
}

/// True if positions may have this type.
inline bool isPositionType(mlir::Type type) { return type.isSignlessInteger(32) || type.isSignlessInteger(64); }

/// True if every position along a dimension of `size` elements is a value of this position type.
inline bool holdsPositions(mlir::Type type, int64_t size) {
  return type.isSignlessInteger(64) || size - 1 <= std::numeric_limits<int32_t>::max();
}

} // namespace spmdc
