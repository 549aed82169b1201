//===- Passes.h - from propagated to partitioned ----------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"

class StrategyMemo;

struct PartitioningOptions {
  bool growsCarries = true;     ///< The option `grow-carries` of spmdc-sink-reductions.
  int64_t bytesToFree = 0;      ///< The option `free` of spmdc-rematerialize-gathers.
  StrategyMemo *memo = nullptr; ///< Of spmdc-insert-reshards.
};

/// Creates the pass. If `memo` is not null, the pass takes strategies from there that are known; it must outlive the
/// pass.
std::unique_ptr<mlir::Pass> createInsertReshards(StrategyMemo *memo);

/// The passes from chosen shardings to one device's program with explicit collectives.
void addPartitioning(mlir::OpPassManager &passes, const PartitioningOptions &options);

} // namespace spmdc
