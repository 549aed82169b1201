//===- Operations.h - the operations of a portable artifact -----*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/portable/Pool.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace spmdc::stablehlo::portable {

/// The module of StableHLO, `func` and `sdy` that the file holds; null after a failure. It is not verified.
/// `maxTextSize` limits the sum of the operations' `Pool::textSize`.
mlir::OwningOpRef<mlir::ModuleOp> readModule(const Sections &sections, Pool &pool, uint64_t maxTextSize);

} // namespace spmdc::stablehlo::portable
