//===- Passes.h - from the propagated to the partitioned program -*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"

} // namespace spmdc
