//===- Passes.h - from the partitioned program to kernels -------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/kernel/Passes.h.inc"

} // namespace spmdc
