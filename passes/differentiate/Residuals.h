//===- Residuals.h - what a backward region needs of the forward one -*- C++ -*-===//
//
// A backward region is built with values of the forward region as its operands, though it cannot see them. Residuals
// finds those, decides which ones are computed again (what costs next to nothing: constants, broadcasts, indices, all
// from what can be seen) and which ones the forward pass must keep, and puts what is read back in their places.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace spmdc {

class Residuals {
public:
  /// `known`: what stands for values of the forward region (a loop's counter) in the backward one, which has no dead
  /// operations any more: nothing is kept for those.
  Residuals(mlir::Block &forward, mlir::Block &backward, const mlir::IRMapping &known = {});

  /// The values that the forward pass must keep, in the order in which the backward pass uses them.
  llvm::ArrayRef<mlir::Value> getKept() const { return kept; }

  /// Builds what reads the kept value of this number.
  using Read = llvm::function_ref<mlir::Value(mlir::OpBuilder &, unsigned)>;
  /// Replaces all uses; each value is read before its first use.
  void substitute(Read read);

private:
  bool isInside(mlir::Value value) const { return forward.getParent()->isAncestor(value.getParentRegion()); }
  bool isFree(mlir::Value value);
  void need(mlir::Value value);
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Value value, Read read);

  mlir::Block &forward; ///< Its region may be another one after construction: operations are replaced.
  mlir::Block &backward;
  mlir::IRMapping available; ///< Values of the forward region by what stands for them in the backward one.
  llvm::DenseMap<mlir::Value, bool> freedom;
  llvm::DenseSet<mlir::Value> recomputed;
  llvm::SmallVector<mlir::Value> kept;
};

} // namespace spmdc
