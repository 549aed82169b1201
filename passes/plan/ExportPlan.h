//===- ExportPlan.h - the plan as the runtime reads it ----------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include "mlir/IR/BuiltinOps.h"

namespace spmdc {

/// Reads a module at the station Plan (spmdc-verify-plan holds) into an artifact: the plan and the constants. The code,
/// the target and the source lines are the caller's to fill in.
mlir::FailureOr<spmd::Artifact> exportPlan(mlir::ModuleOp module);

} // namespace spmdc
