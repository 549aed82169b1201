//===- RegionDerivatives.h - derivatives of regions -------------*- C++ -*-===//
#pragma once

#include "passes/differentiate/ReverseSweep.h"

namespace spmdc {

/// A temporary holder for the block of a backward region, until the types of the region's operation are known. For a
/// manual region the holder has the same manual axes, because operations in it may ask for them.
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

mlir::Value createZero(mlir::OpBuilder &builder, mlir::Location loc, ArrayType type);

/// Replaces `op` of the forward pass by `extended`, which has more results and has taken the regions.
void replaceForward(Derivative &derivative, mlir::Operation *op, mlir::Operation *extended);

} // namespace spmdc
