//===- MergedDim.h - a dimension merged of sharded ones ---------*- C++ -*-===//
//
// If a reshape merges dimensions of which not only the first is sharded, the merged dimension cannot have the same
// sharding: a device's elements are not contiguous in it. With another order of elements the dimension can be sharded
// without communication. Example, f32[4, 6@a] as f32[24], with a=2:
//
//   before       [4, 6@a]
//   split        [4, 2@a, 3]            a dimension for each device's elements
//   transposed   [2@a, 4, 3]
//   as shards    [2@a, 12]              device 0 has 0 1 2 6 7 8 12 13 14 18 19 20, device 1 the others
//   joined       [24@a]
//
// The elements of a shard are in their original order. Uneven shards are padded, in each dimension along each of its
// axes, so the padding belongs to the devices with fewer elements. A single sharded dimension is the simplest case.
//
// MergedPositions.h maps positions between both orders.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/sharding/FactorAxes.h"

#include <optional>
#include <vector>

namespace spmdc {

/// An array with a dimension for each factor of an operation's sharding rule, and with the same elements on each
/// device.
struct FactorizedType {
  ArrayType type;
  llvm::SmallVector<int64_t> order; ///< The factor of each dimension.
  FactorAxes axes;                  ///< By factor.

  /// Nothing if the sharding of a dimension with several factors is not expressible by its factors.
  static std::optional<FactorizedType> of(ArrayType type, const ShardingRule &rule, const ValueFactors &value,
                                          const spmd::MeshShape &mesh);
};

/// A merged dimension, with the steps that turn an array with the original dimensions into shards, and back.
class MergedDim {
public:
  /// One axis that divides a dimension: `count` shards of `size` elements each.
  struct AxisSplit {
    int64_t count = 1, size = 1;
  };
  /// One of the dimensions that are merged.
  struct Part {
    int64_t size = 1;
    llvm::SmallVector<AxisSplit, 2> splits;
    bool isPadded = false;

    int64_t getShardSize() const { return splits.empty() ? size : splits.back().size; }
  };

  /// For dimension `dim` of `value`. If a reshape made it by merging dimensions whose shards are not contiguous in it,
  /// describes that merge (isMerged() is true); otherwise describes the dimension's own sharding. Nothing if the
  /// dimension is not sharded.
  static std::optional<MergedDim> of(mlir::Value value, int64_t dim, const spmd::MeshShape &mesh);
  /// For an operand's dimension that `reshape` splits, in the sharding of the reshape's result.
  static std::optional<MergedDim> ofSplit(ReshapeOp reshape, int64_t dim, const spmd::MeshShape &mesh);

  int64_t getDim() const { return dim; }
  int64_t getSize() const;
  int64_t getNumShards() const { return shards; }
  int64_t getShardSize() const { return shardSize; }
  /// The number of axes that shard the dimension.
  size_t countAxes() const { return axes.size(); }
  llvm::ArrayRef<Part> getParts() const { return parts; }
  bool isMerged() const { return merged; }
  /// The array that has the shards: the operand of a merging reshape, or the array itself.
  ArrayType getSource() const { return source; }
  /// Whether each shard is a contiguous run of the dimension, in the order of devices.
  bool hasRuns() const { return runs; }
  bool isPadded() const;
  /// Whether a shard's padding is after all of its elements.
  bool isPaddedAtEnd() const;

  /// Replaces the dimension of `before`, which is sharded as the source, by `[shards, shardSize]`; `filler` is the
  /// padding.
  mlir::Value toShards(mlir::OpBuilder &b, mlir::Location loc, mlir::Value before, Scalar filler) const;
  /// The inverse of toShards.
  mlir::Value fromShards(mlir::OpBuilder &b, mlir::Location loc, mlir::Value shards) const;
  /// Merges `[shards, count]` into one dimension.
  mlir::Value join(mlir::OpBuilder &b, mlir::Location loc, mlir::Value shards) const;
  mlir::Value unjoin(mlir::OpBuilder &b, mlir::Location loc, mlir::Value joined) const;
  /// The type of an array with `[shards, count]` instead of the dimension, sharded along the first of both.
  ArrayType typeOfShards(mlir::Type elementType, int64_t count) const;
  /// The type of the array with the dimension in its original order, sharded into runs by the same axes.
  ArrayType typeAsRuns(mlir::Type elementType) const;
  /// The type of an array with `shards * count` elements in the dimension.
  ArrayType typeOfJoined(mlir::Type elementType, int64_t count) const;

private:
  /// A pad, a transpose (if `perm` is not empty) or a reshape.
  struct Step {
    ArrayType from, to;
    llvm::SmallVector<int64_t> perm;
  };

  static std::optional<MergedDim> find(ArrayType source, ArrayType unsharded, const ShardingRule &rule,
                                       const ValueFactors &before, const ValueFactors &behind, int64_t dim,
                                       const spmd::MeshShape &mesh);
  void step(llvm::ArrayRef<int64_t> shape, const spmd::Sharding &sharding, llvm::ArrayRef<int64_t> perm = {});
  /// Splits dimension `at` of the last step's array by the axes that shard it.
  void splitDim(int64_t at, Part &part, const spmd::MeshShape &mesh);

  ArrayType source, unsharded; ///< The array that has the shards, and the merged array with an unsharded dimension.
  int64_t dim = 0;
  std::vector<spmd::AxisRef> axes;
  llvm::SmallVector<Part> parts;
  int64_t shards = 1, shardSize = 1;
  bool merged = false, runs = true;
  std::vector<Step> steps;
};

} // namespace spmdc
