//===- TensorCores.h - products of tiles on matrix units --------*- C++ -*-===//
//
// Instructions of sm_80 and newer on tiles in shared memory (PTX ISA, "Warp Level Matrix Instructions" and
// "Asynchronous copy"). A warp computes 16 x 8 results at a time; lane 4 g + t holds four of them: row g, columns 2 t
// and 2 t + 1, and the same columns of row g + 8.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#include <array>

namespace spmdc {

/// Rows of elements of 16 bits in shared memory.
struct SharedTile {
  mlir::Value pointer; ///< Of the first element.
  int64_t pitch = 0;   ///< Elements from one row to the next; rows begin at multiples of 16 bytes.
};

class TensorCores {
public:
  using Results = std::array<mlir::Value, 4>; ///< f32
  using Left = std::array<mlir::Value, 4>;    ///< 16 rows x 16: pairs of elements, as i32.
  using Right = std::array<mlir::Value, 2>;   ///< 16 x 8 columns, likewise.

  /// `lane`: the number of the thread in its warp (i64).
  TensorCores(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lane);

  /// Rows `row` to row + 15 of a tile, and 16 elements of each from element `depth` on. `row` includes the warp's.
  Left loadLeft(const SharedTile &tile, mlir::Value firstRow, int64_t row, int64_t depth);
  /// The same from anywhere: `address` is that of 8 elements of the lane's row `getLaneRow()`, from element
  /// 8 * `getLaneHalf()` of the 16 on.
  Left loadLeft(mlir::Value address) { return loadMatrices(address, /*isTransposed=*/false); }
  mlir::Value getLaneRow() const { return laneInSixteen; }
  mlir::Value getLaneHalf() const { return upperHalf; }
  /// The right factors of two adjacent groups of 8 columns. Without `isTransposed` a row of the tile is a column of the
  /// factor: columns from row `column` of the tile on, 16 elements of each from element `depth` on. With it a row of
  /// the tile is a row of the factor: from row `depth` of the tile on, elements `column` to column + 15.
  std::array<Right, 2> loadRight(const SharedTile &tile, int64_t column, int64_t depth, bool isTransposed);
  /// results + left * right, of elements bf16 or f16.
  Results multiply(mlir::Type elementType, const Left &left, const Right &right, const Results &results);
  /// Rounds two f32 to bf16 or f16: the first is in the low half.
  mlir::Value pack(mlir::Type elementType, mlir::Value low, mlir::Value high);
  /// Starts a copy of 16 bytes from global to shared memory. `bytes` (i32, null: 16): 0 writes zeros.
  void startCopy(mlir::Value target, mlir::Value source, mlir::Value bytes);
  /// Waits for all copies that this thread has started.
  void finishCopies();
  /// 2^x with an error of 2 units in the last place; subnormal results are zero.
  mlir::Value exp2(mlir::Value x);
  /// 1 / x with an error of 1 unit in the last place; subnormal numbers count as zero.
  mlir::Value invert(mlir::Value x);
  /// Whether the condition holds in any lane of the warp.
  mlir::Value isAny(mlir::Value condition);
  /// The lanes of the warp for which the condition holds, one bit (of i32) for each.
  mlir::Value ballot(mlir::Value condition);

private:
  std::array<mlir::Value, 4> loadMatrices(mlir::Value pointer, bool isTransposed);
  mlir::Value constant(int64_t value);
  /// The address of an element: row and column are those of the lane, plus constants.
  mlir::Value address(const SharedTile &tile, mlir::Value row, mlir::Value column, int64_t offset);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Value laneInSixteen, laneInEight, upperHalf, oddQuarter; ///< lane % 16, lane % 8, lane / 16, lane / 8 % 2
};

} // namespace spmdc
