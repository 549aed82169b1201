//===- Passes.h - from the array program to the propagated one --*- C++ -*-===//
#pragma once

#include "passes/propagate/FactorPropagation.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/propagate/Passes.h.inc"

} // namespace spmdc
