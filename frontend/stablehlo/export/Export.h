//===- Export.h - array operations as StableHLO -----------------*- C++ -*-===//
//
// The way back of Import.h: it writes the array stage of a program as StableHLO with Shardy's annotations, as JAX
// writes its exports, so that XLA and JAX run programs of the language.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace spmdc {

/// The text of a module of array operations without derivatives (after spmdc-differentiate). Parameters and results
/// keep their names and their formats, if they hold narrow numbers, operations the begin of their expression in the
/// source. Fails with an error at the operation that
/// StableHLO cannot express. `module` does not change; its context gets the dialects of StableHLO, CHLO and Shardy.
mlir::FailureOr<std::string> exportStablehlo(mlir::ModuleOp module);

} // namespace spmdc
