//===- ShardedSort.h - an order along a cut dimension --------------*- C++ -*-===//
//
// What the ways of sorting along a cut dimension (ColumnSort.h, SampleSort.h) know of an order, and build with. Both
// work on arrays whose ordered dimension stands as [pieces, piece]: every device has its piece, and sorts by itself
// along that.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/strategy/Strategy.h"

#include <optional>

namespace spmdc {

/// Something that is made of an order.
struct SortUse {
  mlir::Value result;
  mlir::Value array;  ///< Of which it has the elements, in order; null for the positions.
  ArrayType type;     ///< Of all of them, as they are wanted.
  SliceOp slice = {}; ///< Where only a part is taken (top_k).
};

/// An argsort along a dimension that is cut, with what is made of it.
struct ShardedSort {
  ArgsortOp op;
  int64_t pieces = 0; ///< The devices along all axes that cut the dimension.
  int64_t piece = 0;  ///< Elements that the largest piece holds.
  llvm::SmallVector<SortUse> uses;
  /// Arrays beside the operand that are taken in the order; they lie as the operand does.
  llvm::SmallVector<mlir::Value> taken;
  bool isAsked = false; ///< Whether positions themselves are wanted.
  /// What it takes to bring the dimension together instead.
  OperationPrice apart;

  /// None where the dimension is not cut, is empty, or padded positions would not fit.
  static std::optional<ShardedSort> of(ArgsortOp op, ReshardPlanner &planner);

  /// The element type of positions in the whole dimension, and of what is computed with them.
  mlir::Type positionType() { return op.getType().getElementType(); }

  int64_t getDim() { return static_cast<int64_t>(op.getDim()); }
  ArrayType getType() { return op.getOperand().getType(); }
  int64_t getSize() { return getType().getDimSize(getDim()); }
  /// The operand, and the other arrays.
  llvm::SmallVector<mlir::Value> listArrays();

  /// Puts values of the types of `uses` in their place, and removes the order.
  void replace(llvm::ArrayRef<mlir::Value> values);
};

/// Adds up the steps of a sort: transfers, memory that is read and written, lines that are sorted.
class SortPrice {
public:
  SortPrice(ShardedSort &order, ReshardPlanner &planner);

  /// Bytes of one device's part of an array like this, of whose ordered dimension it has `count`.
  double bytesOf(ArrayType type, double count) const;
  /// Each device sends so many bytes.
  void send(std::string_view collective, double bytes);
  /// So many lines for each line of the operand.
  void sort(double lines, double line);
  /// So many bytes are read and written.
  void touch(double bytes) { touched += 2 * bytes; }
  /// What an array's pieces do not share with those of another size.
  void resize(ArrayType array, int64_t piece);
  /// The results, of pieces of this size, to where they are wanted.
  void deliver(int64_t piece);

  OperationPrice get() const;

private:
  ShardedSort &order;
  ReshardPlanner &planner;
  std::vector<std::string> axes;
  CollectiveCost cost;
  double lines = 0, touched = 0, sorting = 0;
};

/// Builds with whole arrays: which collectives the steps are the partitioner finds as for any other operation.
class SortBuilder {
public:
  SortBuilder(ShardedSort &order, mlir::OpBuilder builder);

protected:
  /// The operand's type with dimensions of these sizes in place of the ordered one, of which the first is cut or none.
  ArrayType typeOf(mlir::Type elementType, llvm::ArrayRef<int64_t> sizes, bool isCut = true) const;
  ArrayType typeLike(mlir::Value x, llvm::ArrayRef<int64_t> sizes, bool isCut = true) const;

  // Dimensions count from the ordered one.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> sizes, bool isCut = true);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> places, llvm::ArrayRef<int64_t> sizes,
                        bool isCut = true);
  mlir::Value pad(mlir::Value x, int64_t along, ArrayType type, int64_t low, int64_t high, Scalar filler);
  /// The elements from `begin` on, as many as `type` has.
  mlir::Value slice(mlir::Value x, int64_t along, ArrayType type, int64_t begin);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> parts, int64_t along, ArrayType type);
  mlir::Value argsort(mlir::Value x, int64_t along, bool isDescending);
  mlir::Value take(mlir::Value x, mlir::Value indices, int64_t along);

  /// [pieces, piece] of an array of the operand's shape, padded at its end.
  mlir::Value split(mlir::Value x, int64_t piece, Scalar filler);
  /// One dimension again, without the padding.
  mlir::Value join(mlir::Value x, ArrayType type);

  ShardedSort &order;
  int64_t dim;
  bool descending;
  mlir::OpBuilder b;
  mlir::Location loc;
  ArrayType original;
};

/// What comes after every other element.
Scalar lastOf(mlir::Type type, bool isDescending);

} // namespace spmdc
