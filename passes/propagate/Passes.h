//===- Passes.h - from the array program to the propagated one --*- C++ -*-===//
#pragma once

#include "passes/propagate/FactorPropagation.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

struct PropagationLog;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/propagate/Passes.h.inc"

/// The pass, which also writes down what it does (AxisProvenance.h). The log outlives the pass.
std::unique_ptr<mlir::Pass> createPropagatePass(const PropagatePassOptions &options, PropagationLog *log);

} // namespace spmdc
