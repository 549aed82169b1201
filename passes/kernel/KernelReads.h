//===- KernelReads.h - how much of its inputs a kernel reads ----*- C++ -*-===//
//
// A kernel is given whole arrays and may read little of them: one layer of a stack, the rows that it looks up. What it
// reads follows from its operations alone, without the loops that they become:
//
//     %0 = array.dynamic_slice %x at(%t, %zero) sizes [1, 64]    64 elements of %x, which may have 1024 x 64
//     %1 = array.take %table, %ids dim 0                         as many of %table as %1 has, at most all
//     %2 = array.broadcast_in_dim %bias dims [1]                 all of %bias, once
//
// Predictions are made of these figures. Which elements an index names is known on the device only: a row that is
// looked up twice counts twice, but no array for more than its size.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include <vector>

namespace spmdc {

/// Bytes of each input that the kernel reads, in the order of the inputs.
std::vector<int64_t> countReadBytes(plan::KernelOp kernel);

} // namespace spmdc
