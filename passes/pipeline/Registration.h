//===- Registration.h - dialects and passes of the compiler -----*- C++ -*-===//
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace spmdc {

/// Adds every dialect that a program may hold at any stage.
void registerDialects(mlir::DialectRegistry &registry);

/// Makes every pass known by name (`spmd-opt --spmdc-propagate`).
void registerPasses();

} // namespace spmdc
