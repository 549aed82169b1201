//===- WidenSums.h - partial sums of user collectives in f32 ----*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Widens sum collectives that the user wrote in a `shard_map` (`psum(x @ w, a)`) to f32, if their operand is a sum of
/// bf16 or f16 itself, as the partitioner does for its own (ir/spmd/ReducePrecision.h). The sum, the linear operations
/// after it and the collective are widened, and the result is rounded. `func` is one device's program. A collective
/// that names the type of its partial sums (kKeepsPrecisionAttrName) does not change.
void widenWrittenSums(mlir::func::FuncOp func);

} // namespace spmdc
