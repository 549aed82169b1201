//===- Passes.h - rewrites of the global view under its shardings ---*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/restructure/Passes.h.inc"

} // namespace spmdc
