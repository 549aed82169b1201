//===- GroupAxes.h - axes over which a group extends ------------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

namespace spmdc {

/// Whether the mesh of the operation has these axes; says at the operation which it lacks.
mlir::LogicalResult verifyAxes(mlir::Operation *op, AxesAttr axes);

} // namespace spmdc
