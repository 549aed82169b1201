//===- RegionDerivatives.h - what derivatives of regions share --*- C++ -*-===//
#pragma once

#include "passes/differentiate/ReverseSweep.h"

namespace spmdc {

/// A block for a backward region while its operation, whose types follow from it, is not there yet.
class Workspace {
public:
  Workspace(mlir::OpBuilder &builder, mlir::Location loc)
      : holder(builder.create<CheckpointOp>(loc, mlir::TypeRange())) {
    holder.getBody().emplaceBlock();
  }
  Workspace(const Workspace &) = delete;
  ~Workspace() { holder.erase(); }

  mlir::Block &getBlock() { return holder.getBody().front(); }
  mlir::Region &getRegion() { return holder.getBody(); }

private:
  CheckpointOp holder;
};

/// The type of a value's cotangent.
ArrayType plainTypeOf(mlir::Value value);

mlir::Value createZero(mlir::OpBuilder &builder, mlir::Location loc, ArrayType type);

/// Puts an operation with more results, which has taken the regions, in the place of one of the forward pass.
void replaceForward(Derivative &derivative, mlir::Operation *op, mlir::Operation *extended);

} // namespace spmdc
