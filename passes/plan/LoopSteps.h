//===- LoopSteps.h - the steps of loops that one function runs --*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

namespace spmdc {

/// On a loop that one function runs (spmdc-compile-loops).
inline constexpr llvm::StringLiteral kCompiledAttrName = "compiled";

/// Returns why the function of a loop cannot run this step, whatever its size: `is a matrix product`. Empty if it can,
/// also for loops and branches, whose own steps the caller asks about.
llvm::StringRef whyNotInFunction(mlir::Operation *step);

} // namespace spmdc
