//===- Passes.h - from propagated to partitioned ----------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"

struct PartitioningOptions {
  bool growsCarries = true; ///< The option `grow-carries` of spmdc-sink-reductions.
  int64_t bytesToFree = 0;  ///< The option `free` of spmdc-rematerialize-gathers.
};

/// The passes from chosen shardings to one device's program with explicit collectives.
void addPartitioning(mlir::OpPassManager &passes, const PartitioningOptions &options);

} // namespace spmdc
