//===- Passes.h - where partial sums are reduced ----------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/reductions/Passes.h.inc"

} // namespace spmdc
