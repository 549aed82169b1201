//===- RegionDerivatives.h - what derivatives of regions share --*- C++ -*-===//
#pragma once

#include "passes/differentiate/ReverseSweep.h"

namespace spmdc {

/// A block for a backward region while its operation, whose types follow from it, is not there yet. In that of a manual
/// region the same axes are manual: operations in it may ask.
class Workspace {
public:
  Workspace(mlir::OpBuilder &builder, mlir::Location loc)
      : Workspace(builder.create<CheckpointOp>(loc, mlir::TypeRange())) {}
  Workspace(mlir::OpBuilder &builder, ManualOp forward)
      : Workspace(builder.create<ManualOp>(forward.getLoc(), mlir::TypeRange(), mlir::ValueRange(),
                                           forward.getManualAttr())) {}
  Workspace(const Workspace &) = delete;
  ~Workspace() { holder->erase(); }

  mlir::Block &getBlock() { return getRegion().front(); }
  mlir::Region &getRegion() { return holder->getRegion(0); }

private:
  explicit Workspace(mlir::Operation *holder) : holder(holder) { getRegion().emplaceBlock(); }

  mlir::Operation *holder;
};

/// The type of a value's cotangent.
ArrayType plainTypeOf(mlir::Value value);

mlir::Value createZero(mlir::OpBuilder &builder, mlir::Location loc, ArrayType type);

/// Puts an operation with more results, which has taken the regions, in the place of one of the forward pass.
void replaceForward(Derivative &derivative, mlir::Operation *op, mlir::Operation *extended);

} // namespace spmdc
