//===- OperandExpression.h - what is computed of a part of an array ---*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "llvm/ADT/MapVector.h"

#include <optional>
#include <vector>

namespace spmdc {

/// The element-wise operations that compute one operand of a concatenation, down to the arrays that they begin with:
/// the slots, in the order in which the operations take them. Of `-x[32:] * 2.0` these are a negation and a
/// multiplication of one slot, `x[32:]`, and what is uniform along the concatenated dimension, 2.0.
class OperandExpression {
public:
  /// Of the operand `part` of `user`, which concatenates along `dim`.
  OperandExpression(mlir::Value part, int64_t dim, mlir::Operation *user) : root(part), dim(dim), user(user) {}

  /// Whether all operations serve this operand alone, and are not very many.
  bool match();

  llvm::ArrayRef<mlir::Value> getSlots() const { return slots; }
  /// Whether there is any operation.
  bool computes() const { return nodes.size() > 1; }
  /// Whether an operation stops the program for some values: integers that are divided by 0.
  bool mayStop() const;
  /// Of one element, in units of getOpCost.
  double getCost() const;

  /// Whether the same is computed, of slots of the same element types.
  bool isSame(const OperandExpression &other) const;

  /// The same of arrays as long as `result`, one for each slot.
  mlir::Value build(mlir::OpBuilder &builder, ArrayType result, llvm::ArrayRef<mlir::Value> arrays) const;

private:
  /// One operation, or a slot.
  struct Node {
    mlir::Operation *op = nullptr; ///< Null for a slot.
    llvm::SmallVector<unsigned> operands;
    unsigned slot = 0;
  };

  bool isUniform(mlir::Operation *op) const;
  static bool isSameOp(const Node &one, const Node &two);
  std::optional<unsigned> add(mlir::Value value);

  mlir::Value root;
  int64_t dim;
  mlir::Operation *user;
  std::vector<Node> nodes; ///< Operands before users.
  llvm::SmallVector<mlir::Value> slots;
  llvm::MapVector<mlir::Value, unsigned> places; ///< Nodes by value.
};

} // namespace spmdc
