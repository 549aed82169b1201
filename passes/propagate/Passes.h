//===- Passes.h - passes of the stage `propagated` --------------*- C++ -*-===//
#pragma once

#include "passes/propagate/FactorPropagation.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

struct PropagationLog;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/propagate/Passes.h.inc"

/// Creates the pass. If `log` is not null, the pass logs its steps there (AxisProvenance.h); the log must outlive it.
std::unique_ptr<mlir::Pass> createPropagatePass(const PropagatePassOptions &options, PropagationLog *log);

} // namespace spmdc
