//===- WidenSums.h - sums that a user wrote over devices --------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// Of one device's program: what a user adds up over devices (`psum(x @ w, a)` in `shard_map`) goes there in f32 where
/// it is a sum of bf16 or f16 already, as sums do that the partitioner adds up (ir/spmd/ReducePrecision.h): the sum,
/// the linear operations behind it and the collective are widened, what that gives is rounded. A collective that names
/// the type of its partial sums (kKeepsPrecisionAttrName) stays as it is.
void widenWrittenSums(mlir::func::FuncOp func);

} // namespace spmdc
