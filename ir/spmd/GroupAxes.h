//===- GroupAxes.h - axes over which a group extends ------------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

namespace spmdc {

/// Verifies that the mesh of the operation has these axes; the error names the missing axis.
mlir::LogicalResult verifyAxes(mlir::Operation *op, AxesAttr axes);

} // namespace spmdc
