//===- ScatterWinners.h - one update for each position ----------*- C++ -*-===//
//
// Each position of a scatter's operand has at most one update in the end: its only one, or all of them combined.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/WindowAccess.h"

namespace spmdc::stablehlo {

using Arrays = llvm::SmallVector<mlir::Value>;

/// For each position of the operands, the updates that are written there.
struct Winners {
  mlir::Value isHit; ///< As the operands are arranged by `access`.
  Arrays values;     ///< Likewise, one array for each operand.
  Access access;
};

/// The updates of positions that have one each.
Winners onlyOf(Translation &t, const Windows &windows, const Positions &positions, llvm::ArrayRef<mlir::Value> updates);

/// All updates of each position, combined in row-major order of the indices by an associative function of arrays of
/// elements, the earlier ones first: log2(number of updates) times as many combinations as there are updates.
mlir::FailureOr<Winners> combinedOf(
    Translation &t, const Windows &windows, const Positions &positions, llvm::ArrayRef<mlir::Value> updates,
    llvm::function_ref<mlir::FailureOr<Arrays>(llvm::ArrayRef<mlir::Value>, llvm::ArrayRef<mlir::Value>)> combine);

} // namespace spmdc::stablehlo
