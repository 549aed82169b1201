//===- Passes.h - rewrites before propagation -------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/simplify/Passes.h.inc"

} // namespace spmdc
