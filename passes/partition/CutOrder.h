//===- CutOrder.h - an order along a cut dimension --------------*- C++ -*-===//
//
// What the ways of sorting along a cut dimension (ColumnSort.h, SampleSort.h) know of an order, and build with. Both
// work on arrays whose ordered dimension stands as [pieces, piece]: every device has its piece, of whose dimension it
// has all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/collective/ReshardPlanner.h"

#include <optional>

namespace spmdc {

/// An argsort along a dimension that is cut, with what is made of it.
struct CutOrder {
  ArgsortOp op;
  int64_t pieces = 0;       ///< How many there are: the devices along all axes that cut the dimension.
  int64_t piece = 0;        ///< Elements that the largest of them holds.
  bool isAsked = false;     ///< Whether somebody looks at the positions themselves.
  bool takesItself = false; ///< Whether the operand is taken in the order, whole or its beginning.
  /// Other arrays that are taken in it, which lie as the operand does.
  llvm::SmallVector<mlir::Value> taken;
  /// Seconds of the order and of what is taken by it where the dimension is brought together instead.
  double secondsApart = 0;

  /// None where the dimension is not cut, or positions do not fit.
  static std::optional<CutOrder> of(ArgsortOp op, ReshardPlanner &planner);

  int64_t getDim() { return static_cast<int64_t>(op.getDim()); }
  ArrayType getType() { return op.getOperand().getType(); }
  /// The names of the axes that cut the dimension.
  std::vector<std::string> getAxes();
  /// The operand, and what else is taken.
  llvm::SmallVector<mlir::Value> listArrays();
  /// The results of others that take the whole operand, or one of the other arrays, in the order.
  llvm::SmallVector<TakeAlongOp> listTakes();
};

/// Prices steps of a sort: transfers, memory that is touched, lines that are sorted.
class SortPrice {
public:
  SortPrice(CutOrder &order, ReshardPlanner &planner) : order(order), planner(planner) {}

  /// Bytes of one device's part of an array like the operand, of whose ordered dimension it has `count`.
  double bytesOf(ArrayType type, int64_t count) const;
  /// Each device sends so many of its bytes.
  void send(llvm::StringRef collective, double bytesPerDevice, double peakBytes);
  /// Between arrays of other sizes of the ordered dimension, cut alike.
  void resize(ArrayType from, ArrayType to);
  void touch(double bytes) { touched += bytes; }
  /// So many lines for each line of the array.
  void sort(double lines, double line);
  /// The results from where they are made to where they are wanted, of pieces of so many elements.
  void deliver(int64_t piece, bool hasPositions);

  double getSeconds() const;

private:
  CutOrder &order;
  ReshardPlanner &planner;
  CollectiveCost cost;
  double touched = 0, sorting = 0;
};

/// Builds on global arrays: which collectives the steps are the partitioner finds as for any other operation.
class OrderBuilder {
public:
  explicit OrderBuilder(CutOrder &order)
      : order(order), dim(order.getDim()), descending(order.op.getDescending()), b(order.op), loc(order.op.getLoc()),
        original(order.getType()) {}

protected:
  /// The operand's type with dimensions of these sizes in place of the ordered one, of which the first is cut or none.
  ArrayType typeOf(mlir::Type elementType, llvm::ArrayRef<int64_t> sizes, bool isCut = true) const;
  ArrayType typeLike(mlir::Value x, llvm::ArrayRef<int64_t> sizes) const;

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> sizes);
  /// Extends the dimension `dim + at`, which `type` has so.
  mlir::Value padDim(mlir::Value x, int64_t at, ArrayType type, int64_t low, int64_t high, Scalar filler);
  /// The elements of the dimension `dim + at` from `begin` on, as many as `type` has.
  mlir::Value sliceDim(mlir::Value x, int64_t at, ArrayType type, int64_t begin);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> places, llvm::ArrayRef<int64_t> sizes);
  mlir::Value argsort(mlir::Value x, int64_t at, bool isDescending);
  mlir::Value take(mlir::Value x, mlir::Value indices, int64_t at);
  /// [pieces, size] of an array of the operand's shape, padded.
  mlir::Value split(mlir::Value x, int64_t size, Scalar filler);
  /// One dimension again, without what it was padded with.
  mlir::Value join(mlir::Value x, ArrayType type);

  CutOrder &order;
  int64_t dim;
  bool descending;
  mlir::OpBuilder b;
  mlir::Location loc;
  ArrayType original;
};

/// What comes after every other element.
Scalar lastOf(mlir::Type type, bool isDescending);

} // namespace spmdc
