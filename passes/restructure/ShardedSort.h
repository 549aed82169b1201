//===- ShardedSort.h - a sort along a sharded dimension ---------*- C++ -*-===//
//
// The properties of an argsort along a sharded dimension, and a builder, for both distributed sorts (ColumnSort.h,
// SampleSort.h). These work on arrays whose sorted dimension is split into `[numShards, shardSize]`: every device sorts
// its shard along the second.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/strategy/Strategy.h"

#include <optional>

namespace spmdc {

/// An operation that uses the sort's result.
struct SortUse {
  mlir::Value result;
  mlir::Value array;  ///< The array whose sorted elements it takes; null if positions are used.
  ArrayType type;     ///< Type of the full result, in the wanted sharding.
  SliceOp slice = {}; ///< Set if only a part is taken (top_k).
};

/// An argsort along a sharded dimension, with its uses.
struct ShardedSort {
  ArgsortOp op;
  int64_t numShards = 0; ///< Number of devices along all axes that shard the dimension.
  int64_t shardSize = 0; ///< Elements of the largest shard.
  llvm::SmallVector<SortUse> uses;
  /// Arrays other than the operand whose elements are taken by the sort; they are sharded like the operand.
  llvm::SmallVector<mlir::Value> taken;
  bool usesPositions = false; ///< Whether positions themselves are used.
  /// The price of a gather of the dimension, and sorts on every device.
  Price gatherPrice;

  /// Nothing if the dimension is not sharded, is empty, or padded positions would not fit their type.
  static std::optional<ShardedSort> of(ArgsortOp op, ReshardPlanner &planner);

  /// The element type of positions in the dimension, and of arithmetic with them.
  mlir::Type positionType() { return op.getType().getElementType(); }

  int64_t getDim() { return static_cast<int64_t>(op.getDim()); }
  ArrayType getType() { return op.getOperand().getType(); }
  int64_t getSize() { return getType().getDimSize(getDim()); }
  /// The operand, and the arrays in `taken`.
  llvm::SmallVector<mlir::Value> listArrays();

  /// Replaces each use by the value of the same index, and erases the sort.
  void replace(llvm::ArrayRef<mlir::Value> values);
};

/// Adds up the price of a sort: collectives, memory traffic, and local sorts.
class SortPrice {
public:
  SortPrice(ShardedSort &shardedSort, ReshardPlanner &planner);

  /// Bytes of one device's shard of an array like this, with `count` elements in the sorted dimension.
  double bytesOf(ArrayType type, double count) const;
  /// Adds a collective in which each device sends so many bytes.
  void send(std::string_view collective, double bytes);
  /// Adds `lines` local sorts of `line` elements for each line of the operand.
  void sort(double lines, double line);
  /// Adds reads and writes of so many bytes.
  void touch(double bytes) { touched += 2 * bytes; }
  /// Adds the exchange from an array to shards of `shardSize` elements.
  void resize(ArrayType array, int64_t shardSize);
  /// Adds the reshards of the results, of shards of this size, to their wanted types.
  void deliver(int64_t shardSize);

  Price get() const;

private:
  ShardedSort &shardedSort;
  ReshardPlanner &planner;
  std::vector<std::string> axes;
  CollectiveCost cost;
  double lines = 0, touched = 0, sorting = 0;
};

/// Builds operations of the global view; the partitioner finds the collectives as for any other operation.
class SortBuilder {
public:
  SortBuilder(ShardedSort &shardedSort, mlir::OpBuilder builder);

protected:
  /// The operand's type with dimensions of these sizes instead of the sorted one. The first of them is sharded if
  /// `isSharded`.
  ArrayType makeType(mlir::Type elementType, llvm::ArrayRef<int64_t> sizes, bool isSharded = true) const;
  ArrayType typeLike(mlir::Value x, llvm::ArrayRef<int64_t> sizes, bool isSharded = true) const;

  // `along` counts dimensions from the sorted one.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> sizes, bool isSharded = true);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> places, llvm::ArrayRef<int64_t> sizes,
                        bool isSharded = true);
  mlir::Value pad(mlir::Value x, int64_t along, ArrayType type, int64_t low, int64_t high, Scalar filler);
  /// The elements from `begin` on, as many as `type` has.
  mlir::Value slice(mlir::Value x, int64_t along, ArrayType type, int64_t begin);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> parts, int64_t along, ArrayType type);
  mlir::Value argsort(mlir::Value x, int64_t along, bool isDescending);
  mlir::Value take(mlir::Value x, mlir::Value indices, int64_t along);

  /// `[numShards, shardSize]` of an array of the operand's shape, padded at its end.
  mlir::Value split(mlir::Value x, int64_t shardSize, Scalar filler);
  /// Merges both dimensions, and removes the padding.
  mlir::Value join(mlir::Value x, ArrayType type);

  ShardedSort &shardedSort;
  int64_t dim;
  bool descending;
  mlir::OpBuilder b;
  mlir::Location loc;
  ArrayType original;
};

/// The value that sorts after every other element.
Scalar lastOf(mlir::Type type, bool isDescending);

} // namespace spmdc
