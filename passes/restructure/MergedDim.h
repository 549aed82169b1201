//===- MergedDim.h - a dimension made of others that are cut ----*- C++ -*-===//
//
// A reshape that merges dimensions of which not only the first is cut gives a dimension that cannot be cut so: no
// device has a run of its elements. But in another order of elements it can be, piece by piece, without anything being
// sent. f32[4, 6@a] as f32[24], with a=2:
//
//   before       [4, 6@a]
//   split        [4, 2@a, 3]            a dimension for what each device has
//   in front     [2@a, 4, 3]
//   as pieces    [2@a, 12]              device 0 has 0 1 2 6 7 8 12 13 14 18 19 20, device 1 the others
//   as one       [24@a]
//
// Elements of a piece are in the order of all. Where pieces are uneven they are padded, each dimension along each of
// its axes, so that what is missing belongs to the device that lacks it. A cut dimension by itself is the simplest
// case.
//
// MergedPositions.h says which element stands where.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/sharding/FactorAxes.h"

#include <optional>
#include <vector>

namespace spmdc {

/// An array with a dimension for each factor of an operation's sharding rule, cut as the array is.
struct FactorForm {
  ArrayType type;
  llvm::SmallVector<int64_t> order; ///< The factor of each dimension.
  FactorAxes axes;                  ///< Of each factor.

  /// None where a dimension of several factors is cut otherwise than these can be.
  static std::optional<FactorForm> of(ArrayType type, const ShardingRule &rule, const ValueFactors &value,
                                      const spmd::MeshShape &mesh);
};

class MergedDim {
public:
  /// A cutting of what is above it: so many pieces of so many elements.
  struct Cut {
    int64_t count = 1, size = 1;
  };
  /// One of the dimensions that are merged.
  struct Part {
    int64_t size = 1;
    llvm::SmallVector<Cut, 2> cuts;
    bool isPadded = false;

    int64_t getPiece() const { return cuts.empty() ? size : cuts.back().size; }
  };

  /// Of a dimension of an array, behind a reshape if that merges others so that no device has a run of it (isMerged),
  /// else as it lies. None where it is not cut.
  static std::optional<MergedDim> of(mlir::Value value, int64_t dim, const spmd::MeshShape &mesh);
  /// Of the result's dimension that a reshape takes apart, for one that lies as its result does.
  static std::optional<MergedDim> ofSplit(ReshapeOp reshape, int64_t dim, const spmd::MeshShape &mesh);

  int64_t getDim() const { return dim; }
  int64_t getSize() const;
  int64_t getPieces() const { return pieces; }
  int64_t getPiece() const { return piece; }
  /// How many axes cut it.
  size_t countCuts() const { return axes.size(); }
  llvm::ArrayRef<Part> getParts() const { return parts; }
  bool isMerged() const { return merged; }
  /// The array that the pieces are made of: what a reshape merges, or the array itself.
  ArrayType getSource() const { return source; }
  /// Whether pieces stand in the order of their elements, one behind the other.
  bool hasRuns() const { return runs; }
  bool isPadded() const;
  /// Whether what is missing in a piece stands behind all that is there.
  bool isPaddedAtEnd() const;

  /// [pieces, piece] in place of the dimension, of an array that lies as the source does; `filler` is what is missing.
  mlir::Value toPieces(mlir::OpBuilder &b, mlir::Location loc, mlir::Value before, Scalar filler) const;
  /// Back.
  mlir::Value fromPieces(mlir::OpBuilder &b, mlir::Location loc, mlir::Value pieces) const;
  /// One dimension in place of the two.
  mlir::Value join(mlir::OpBuilder &b, mlir::Location loc, mlir::Value pieces) const;
  mlir::Value unjoin(mlir::OpBuilder &b, mlir::Location loc, mlir::Value joined) const;
  /// The type of [pieces, count] in place of the dimension, cut as pieces are.
  ArrayType typeOfPieces(mlir::Type elementType, int64_t count) const;
  /// The type of the dimension in its own order, cut into runs by the axes that cut the pieces.
  ArrayType typeAsRuns(mlir::Type elementType) const;
  /// The type of a dimension of so many elements of each piece.
  ArrayType typeOfJoined(mlir::Type elementType, int64_t count) const;

private:
  /// A pad, a transpose (with `perm`) or a reshape.
  struct Step {
    ArrayType from, to;
    llvm::SmallVector<int64_t> perm;
  };

  static std::optional<MergedDim> find(ArrayType source, ArrayType whole, const ShardingRule &rule,
                                       const ValueFactors &before, const ValueFactors &behind, int64_t dim,
                                       const spmd::MeshShape &mesh);
  void step(llvm::ArrayRef<int64_t> shape, const spmd::Sharding &sharding, llvm::ArrayRef<int64_t> perm = {});
  /// Cuts apart dimension `at` of the last step's array.
  void cutApart(int64_t at, Part &part, const spmd::MeshShape &mesh);

  ArrayType source, whole; ///< Of the pieces, and of the dimension that they make, uncut.
  int64_t dim = 0;
  std::vector<spmd::AxisRef> axes;
  llvm::SmallVector<Part> parts;
  int64_t pieces = 1, piece = 1;
  bool merged = false, runs = true;
  std::vector<Step> steps;
};

} // namespace spmdc
