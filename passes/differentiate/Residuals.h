//===- Residuals.h - forward values of a backward region --------*- C++ -*-===//
//
// A backward region is built with values of the forward region as its operands, though they are not visible there.
// Residuals finds these values, and decides which are recomputed (cheap ones such as constants, broadcasts and indices
// of visible values) and which the forward pass has to store. `substitute` replaces them by visible values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace spmdc {

/// The forward values that one backward region needs. Construction decides which to store; `substitute` rewrites the
/// uses.
class Residuals {
public:
  /// `known` maps values of the forward region (a loop's counter) to their counterparts in the backward region. The
  /// backward region must have no dead operations, since values would be stored for them.
  Residuals(mlir::Block &forward, mlir::Block &backward, const mlir::IRMapping &known = {});

  /// The values that the forward pass has to store, in the sequence in which the backward pass uses them.
  llvm::ArrayRef<mlir::Value> getKept() const { return kept; }

  /// Builds operations that read stored value number N, and returns the value.
  using Read = llvm::function_ref<mlir::Value(mlir::OpBuilder &, unsigned)>;
  /// Replaces all uses; each value is read before its first use.
  void substitute(Read read);

private:
  bool isInside(mlir::Value value) const { return forward.getParent()->isAncestor(value.getParentRegion()); }
  bool isRecomputable(mlir::Value value);
  void need(mlir::Value value);
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Value value, Read read);

  mlir::Block &forward; ///< Its region may change after construction, when operations are replaced.
  mlir::Block &backward;
  mlir::IRMapping available; ///< From values of the forward region to their counterparts in the backward one.
  llvm::DenseMap<mlir::Value, bool> recomputable;
  llvm::DenseSet<mlir::Value> recomputed;
  llvm::SmallVector<mlir::Value> kept;
};

} // namespace spmdc
