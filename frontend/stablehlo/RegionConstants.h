//===- RegionConstants.h - constants of reductions and sorts ----*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace spmdc::stablehlo {

/// Copies the scalar constants that a reduction, sort or scatter takes from outside into its region. jax.export moves
/// them out of it; such a region is then recognised by what it computes, as one of jax.jit's is.
void copyConstantsIntoRegions(mlir::ModuleOp module);

} // namespace spmdc::stablehlo
