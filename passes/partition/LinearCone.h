//===- LinearCone.h - what lies between partial sums and their sum -*- C++ -*-===//
//
// A linear cone is what leads from reductions (a spmd.reshard of partial sums) to one value, through linear operations
// that nobody else uses. It is rewritten as a whole: the reductions go, each value in it becomes a partial sum, and the
// one value is reduced. Where the reductions also moved what they reduced (a reduce_scatter), the values of the cone
// lie as the partial sums do. What is added to partial sums and is none (a bias) becomes one, which devices make by
// themselves: the first has the value, the others zeros.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>

namespace spmdc {

/// The number of the operand that an operation writes to, or adds at, places of its first one.
std::optional<unsigned> getUpdate(mlir::Operation *op);

class LinearCone {
public:
  /// Of values computed in this block. `carry`: an argument of the loop around, which may be a partial sum, too.
  LinearCone(const spmd::MeshShape &mesh, mlir::Block *block, mlir::Value carry = {})
      : mesh(mesh), block(block), carry(carry) {}

  /// Whether the value can be a partial sum; takes what leads to it into the cone. A sum along cut dimensions may be
  /// the last operation: then the value is a partial sum already, and becomes one over more axes.
  bool collect(mlir::Value value) {
    last = value.getDefiningOp();
    if (!collectOps(value))
      return false;
    assumeCarry();
    return llvm::all_of(ops, [&](mlir::Operation *op) { return findTypes(op); });
  }

  /// Whether the values between are used in the cone alone; `end` uses the last one.
  bool isClosed(mlir::Operation *last, mlir::Operation *end) const;

  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops.getArrayRef(); }
  llvm::ArrayRef<mlir::Operation *> getReductions() const { return reductions.getArrayRef(); }
  /// What is added to partial sums as a whole value, and what it becomes.
  llvm::SetVector<std::pair<mlir::Value, ArrayType>> listWholes() const;

  /// What a value of the cone, or the carry, becomes.
  ArrayType getPartialType(mlir::Value value) const;
  /// Whether the carry, where it is used, becomes the same.
  bool fitsCarry(ArrayType next) const { return !carryType || carryType == next; }

  /// The reason why there are partial sums, and how the sentence ends.
  std::string why(llvm::StringRef end) const;

  /// Makes all values partial sums.
  void rewrite();

  /// The value, which is none, as a partial sum for an operation: from before it was brought to where it lies, if
  /// nobody else needs it there.
  static mlir::Value createPartial(mlir::Operation *before, mlir::Value value, ArrayType type);
  static mlir::Value getOrigin(mlir::Value value);
  /// Removes what brought a value to where nobody needs it any more.
  static void eraseUnused(mlir::Value value);

private:
  bool collectOps(mlir::Value value);
  bool agrees(llvm::ArrayRef<AxisRefAttr> others);
  llvm::SmallVector<unsigned> listTerms(mlir::Operation *op) const;
  /// Whether partial sums lead to the value.
  bool mayBePartial(mlir::Value value) const;
  bool isWhole(mlir::Value value) const;
  /// Whether an operation that cannot be in a cone needs the result.
  bool isUsedOutside(mlir::Operation *op) const;
  /// Whether the operation may add up along cut dimensions itself.
  bool maySum(mlir::Operation *op) const { return op == last && mlir::isa<ReduceOp>(op); }
  /// A carry that is cut over the axes of the sums has to become whole along them to be a partial sum.
  void assumeCarry();
  /// The types of the operation as one of partial sums, from those of its terms.
  bool findTypes(mlir::Operation *op);

  /// An operation of the cone: the operands in which it is linear, and what all of them and the result become.
  struct Member {
    llvm::SmallVector<unsigned> terms;
    llvm::SmallVector<ArrayType> operands;
    ArrayType result;
  };

  const spmd::MeshShape &mesh;
  mlir::Block *block;
  mlir::Value carry;
  mlir::Operation *last = nullptr;
  ArrayType carryType;
  llvm::SmallVector<AxisRefAttr> axes;
  llvm::SetVector<mlir::Operation *> ops; ///< In the order of their dependence.
  llvm::DenseMap<mlir::Operation *, Member> members;
  llvm::SetVector<mlir::Operation *> reductions;
  mutable llvm::DenseMap<mlir::Value, bool> known; ///< What mayBePartial has found.
};

} // namespace spmdc
