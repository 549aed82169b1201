//===- Passes.h - derivatives -----------------------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/differentiate/Passes.h.inc"

} // namespace spmdc
