//===- TotalOrder.h - floats in total order -----------------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// Integers that order like the floats: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
mlir::Value toTotalOrder(Translation &t, mlir::Value x);

} // namespace spmdc::stablehlo
