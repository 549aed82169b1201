//===- InPlace.h - may an output lie where an input lies? -------*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

namespace spmdc {

/// True if this output of the launch may be written where the input `root` lies (under all names that the kernel reads
/// it by), as the backend has noted on the kernel (passes/kernel/Overwrites.h). That nobody reads the input later is
/// the caller's to know.
bool mayOverwrite(plan::LaunchOp launch, mlir::Value root, unsigned output);

/// True if this call may change the array `root` where it lies: it is its first input, and none of the others.
bool mayOverwrite(plan::LibraryOp call, mlir::Value root);

} // namespace spmdc
