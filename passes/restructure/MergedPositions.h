//===- MergedPositions.h - which element stands where in pieces -*- C++ -*-===//
//
// Between positions in a merged dimension (MergedDim.h) and places in its pieces. Of f32[4, 6@a] as f32[24], a=2, the
// element at 10 is that of row 1 and column 4: place 4 of piece 1.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/exchange/IndexArithmetic.h"
#include "passes/restructure/MergedDim.h"

namespace spmdc {

class MergedPositions : IndexArithmetic {
public:
  MergedPositions(const MergedDim &dim, mlir::OpBuilder &builder, mlir::Location where)
      : IndexArithmetic(builder, where), dim(dim) {}

  /// Where the elements at these positions, which are inside, stand among all pieces as one dimension.
  mlir::Value toJoined(mlir::Value positions) const;

  /// Where a piece's elements are that are there: `ordinals` counts them, from 0, without what is missing.
  struct Found {
    mlir::Value places;    ///< In the piece.
    mlir::Value positions; ///< Among all.
    mlir::Value isThere;   ///< Whether there are so many; null where nothing is missing in any piece.
  };
  /// `pieces` has the number of the piece for each ordinal.
  Found find(mlir::Value pieces, mlir::Value ordinals) const;

  /// How many elements of each of these pieces are missing.
  mlir::Value countMissing(mlir::Value pieces) const;

private:
  mlir::Value sum(mlir::Value x, mlir::Value y) const { return x ? add(x, y) : y; }

  /// Where the piece of a part begins in it, and how much of it is there; null where it is not cut, and all is there.
  struct Extent {
    mlir::Value start, size;
  };
  llvm::SmallVector<Extent> listExtents(mlir::Value pieces) const;
  /// How many elements are there; null where none is missing.
  mlir::Value countAll(llvm::ArrayRef<Extent> extents) const;

  const MergedDim &dim;
};

} // namespace spmdc
