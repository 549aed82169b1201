//===- ExportPlan.h - from the plan dialect to an artifact ------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

/// Converts a module at Stage::Plan (spmdc-verify-plan holds) into an artifact: the plan and the constants. The caller
/// fills in the code, the target and the source lines.
mlir::FailureOr<spmd::Artifact> exportPlan(mlir::ModuleOp module);

} // namespace spmdc
