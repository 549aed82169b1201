//===- Passes.h - collectives of the partitioned program --------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/collectives/Passes.h.inc"

} // namespace spmdc
