//===- OperandExpression.h - how an operand is computed ---------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "llvm/ADT/MapVector.h"

#include <optional>
#include <vector>

namespace spmdc {

/// The element-wise operations that compute one operand of a concatenation from the arrays at which they begin. These
/// arrays are the slots, in the order in which the operations use them. Example: `-x[32:] * 2.0` is a negation and a
/// multiplication of one slot, `x[32:]`, and of 2.0, which is uniform along the concatenated dimension.
class OperandExpression {
public:
  /// For the operand `part` of `user`, which concatenates along `dim`.
  OperandExpression(mlir::Value part, int64_t dim, mlir::Operation *user) : root(part), dim(dim), user(user) {}

  /// Whether all operations are used for this operand only, and are not very many.
  bool match();

  llvm::ArrayRef<mlir::Value> getSlots() const { return slots; }
  /// Whether there are any operations.
  bool computes() const { return nodes.size() > 1; }
  /// Whether an operation may trap for some values: an integer division by 0.
  bool mayStop() const;
  /// Cost per element, in units of getOpCost.
  double getCost() const;

  /// Whether both have the same operations, on slots of the same element types.
  bool isSame(const OperandExpression &other) const;

  /// Builds the same operations on arrays of the size of `result`, one for each slot.
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
