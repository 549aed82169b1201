//===- PositionMask.h - tiles of scores that a mask removes -----*- C++ -*-===//
//
// A causal mask, a window or a band keeps a weight by a condition on its row and column alone, and makes the others
// zero. Streamed kernels (StreamedProducts.h) skip tiles in which the condition holds nowhere, and compute those in
// which it holds everywhere without it. Interval arithmetic bounds the condition in a tile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/StreamedProducts.h"

#include "mlir/IR/Builders.h"

namespace spmdc {

struct PositionMask {
  SelectOp select;
  bool keeps =
      true; ///< The value of its condition where weights count. Elsewhere they do not contribute to any result.

  /// The mask of all results, if they have one. A row that sees no column has no sum; where other rows see a column,
  /// its weights count as zeros.
  static std::optional<PositionMask> find(const StreamedProducts &products);
};

/// Emits the bounds of a mask's condition in a rectangle of rows and columns.
class PositionBounds {
public:
  struct Bounds {
    mlir::Value low, high; ///< f64, inclusive. Of a condition: 0 is false, 1 is true.
  };

  /// The rectangle: positions (i64), inclusive.
  PositionBounds(mlir::OpBuilder &b, mlir::Location loc, const StreamedProducts &products, const Bounds &rows,
                 const Bounds &columns);

  /// The bounds of the mask's kept value (i1): whether it may hold somewhere, and whether it holds everywhere.
  Bounds emit(const PositionMask &mask);

private:
  Bounds emit(mlir::Value value, const Index &index);
  Bounds emitPosition(const IndexExpr &position);
  Bounds compare(ComparisonDirection direction, const Bounds &x, const Bounds &y);
  mlir::Value constant(double value);
  mlir::Value toNumber(mlir::Value condition);
  Bounds exchange(const Bounds &condition);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const StreamedProducts &products;
  Bounds rows, columns;
};

} // namespace spmdc
