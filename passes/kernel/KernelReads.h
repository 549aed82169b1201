//===- KernelReads.h - how much of its inputs a kernel reads ----*- C++ -*-===//
//
// A kernel takes entire arrays and may read a small part of them: one layer of a stack, or the rows that it looks up.
// The count follows from its operations alone, without a schedule:
//
//     %0 = array.dynamic_slice %x at(%t, %zero) sizes [1, 64]    64 elements of %x, which may have 1024 x 64
//     %1 = array.take %table, %ids dim 0                         as many of %table as %1 has, at most all
//     %2 = array.broadcast_in_dim %bias dims [1]                 all of %bias, once
//
// The cost model uses these figures. Only the device knows which elements an index names: a row that is looked up twice
// counts twice, but no array counts for more than its size.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include <vector>

namespace spmdc {

/// Returns the bytes that the kernel reads of each input, in the order of the inputs.
std::vector<int64_t> countReadBytes(plan::KernelOp kernel);

/// Returns the floating-point operations of the products that the kernel computes; element-wise work is not counted.
double countProductFlops(plan::KernelOp kernel);

} // namespace spmdc
