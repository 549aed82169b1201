//===- Overwrites.h - which inputs a kernel's outputs may replace -*- C++ -*-===//
//
// An output may have the memory of an input if each element of the input is read only where the output's element at the
// same position is written, and not after. The schedule knows where elements are read (KernelSchedule::canOverwrite).
// The order of reads and writes depends on the backend: a GPU's threads run in any order (GpuMapping::canOverwrite). So
// each backend's pass decides for its own kernels and annotates them, and buffer assignment reads the annotation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

namespace spmdc {

/// Attribute of a plan.kernel: for each output the numbers of the inputs that it may overwrite: `[[0, 2], []]`.
inline constexpr llvm::StringLiteral kOverwritesAttrName = "overwrites";

/// Sets the attribute; calls `canOverwrite` for every input and output.
void setOverwrites(plan::KernelOp kernel, llvm::function_ref<bool(mlir::Value input, unsigned output)> canOverwrite);

/// Reads the attribute; false on a kernel that no backend has annotated.
bool canOverwrite(plan::KernelOp kernel, unsigned input, unsigned output);

} // namespace spmdc
