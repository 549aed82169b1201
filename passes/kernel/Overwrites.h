//===- Overwrites.h - which inputs a kernel's outputs may replace -*- C++ -*-===//
//
// An output may lie where an input lies if each element of the input is read only where the output's element of the
// same place is written, and not after. The schedule says where elements are read (KernelSchedule::canOverwrite); in
// which order, and by whom, is the business of the code: a GPU's threads run in any order (GpuMapping::canOverwrite).
// So each backend's pass decides for its own kernels and notes it on them, and what gives values their memory obeys.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

namespace spmdc {

/// On a plan.kernel: for each output the numbers of the inputs that it may be written over: `[[0, 2], []]`.
inline constexpr llvm::StringLiteral kOverwritesAttrName = "overwrites";

/// Asks for every input and output.
void setOverwrites(plan::KernelOp kernel, llvm::function_ref<bool(mlir::Value input, unsigned output)> canOverwrite);

/// As it was noted; false on a kernel that no backend has seen.
bool canOverwrite(plan::KernelOp kernel, unsigned input, unsigned output);

} // namespace spmdc
