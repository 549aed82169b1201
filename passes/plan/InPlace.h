//===- InPlace.h - outputs in the memory of inputs --------------*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

namespace spmdc {

/// True if this output of the launch may overwrite the input `root` (also if the kernel reads it through several
/// operands that are reshapes of it), according to the kernel's attribute (passes/kernel/Overwrites.h). The caller
/// checks that no step reads the input later.
bool mayOverwrite(plan::LaunchOp launch, mlir::Value root, unsigned output);

/// True if this call may change the array `root` in place: it is its first input, and none of the others.
bool mayOverwrite(plan::LibraryOp call, mlir::Value root);

} // namespace spmdc
