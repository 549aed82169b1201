//===- Passes.h - from the propagated to the chosen shardings ---*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/assign/Passes.h.inc"

} // namespace spmdc
