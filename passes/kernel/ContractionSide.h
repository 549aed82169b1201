//===- ContractionSide.h - an operand of a contraction ----------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// One operand: its dimensions by role, in the order in which the product iterates over them.
struct ContractionSide {
  mlir::Value value;
  llvm::SmallVector<int64_t> batch, free, contract;

  static ContractionSide leftOf(DotGeneralOp op) {
    return {op.getLhs(), llvm::SmallVector<int64_t>(op.getLhsBatch()), op.getLhsFreeDims(),
            llvm::SmallVector<int64_t>(op.getLhsContract())};
  }
  static ContractionSide rightOf(DotGeneralOp op) {
    return {op.getRhs(), llvm::SmallVector<int64_t>(op.getRhsBatch()), op.getRhsFreeDims(),
            llvm::SmallVector<int64_t>(op.getRhsContract())};
  }

  /// Absorbs a transpose that defines the operand: the roles move to the dimensions of the transpose's operand.
  void absorbTransposes();
  int64_t sizeOf(llvm::ArrayRef<int64_t> dims) const;
  /// True if memory holds the groups in this order; dimensions of size 1 may have any position.
  bool isLaidOut(llvm::ArrayRef<int64_t> first, llvm::ArrayRef<int64_t> second, llvm::ArrayRef<int64_t> third) const;
  /// The operand with its dimensions in this order.
  mlir::Value transposed(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> perm) const;
};

/// Gives the contracted dimensions the order of `first`'s memory, if one of the operands then needs no transpose.
void orderContracted(ContractionSide &first, ContractionSide &second);

} // namespace spmdc
