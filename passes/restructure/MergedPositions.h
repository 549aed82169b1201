//===- MergedPositions.h - positions in merged dimensions -------*- C++ -*-===//
//
// Maps positions in a merged dimension (MergedDim.h) to indices in its shards. For f32[4, 6@a] as f32[24], a=2,
// position 10 is row 1, column 4: index 4 of shard 1.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/exchange/IndexArithmetic.h"
#include "passes/restructure/MergedDim.h"

namespace spmdc {

/// Builds arithmetic between positions in one merged dimension and indices in its shards.
class MergedPositions : IndexArithmetic {
public:
  MergedPositions(const MergedDim &dim, mlir::OpBuilder &builder, mlir::Location where)
      : IndexArithmetic(builder, where), dim(dim) {}

  /// The indices, in all shards joined to one dimension, of the elements at these positions, which must be in range.
  mlir::Value toJoined(mlir::Value positions) const;

  /// The elements of shards by ordinal: `ordinals` counts a shard's elements from 0, without padding.
  struct Found {
    mlir::Value shardIndices; ///< Indices in the shard.
    mlir::Value positions;    ///< Positions in the merged dimension.
    mlir::Value isValid;      ///< Whether the shard has so many elements; null if no shard has padding.
  };
  /// `shards` has the number of the shard for each ordinal.
  Found find(mlir::Value shards, mlir::Value ordinals) const;

  /// The number of padding elements of each of these shards.
  mlir::Value countMissing(mlir::Value shards) const;

private:
  mlir::Value sum(mlir::Value x, mlir::Value y) const { return x ? add(x, y) : y; }

  /// The start of the shard in a part, null if the part is not sharded; and its number of elements there, null if
  /// always full.
  struct Extent {
    mlir::Value start, size;
  };
  llvm::SmallVector<Extent> listExtents(mlir::Value shards) const;
  /// The number of elements without padding; null if no shard has padding.
  mlir::Value countAll(llvm::ArrayRef<Extent> extents) const;

  const MergedDim &dim;
};

} // namespace spmdc
