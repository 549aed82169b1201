//===- InPlace.h - outputs in the memory of inputs --------------*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc {

/// True if this output of the launch may overwrite the input `root` (also if the kernel reads it through several
/// operands that are reshapes of it), according to the kernel's attribute (passes/kernel/Overwrites.h). The caller
/// checks that no step reads the input later.
bool mayOverwrite(plan::LaunchOp launch, mlir::Value root, unsigned output);

/// True if this call may change the array `root` in place: it is its first input, and none of the others.
bool mayOverwrite(plan::LibraryOp call, mlir::Value root);

/// The name of a parameter or result, by its attributes and its number.
std::string getName(mlir::DictionaryAttr attributes, unsigned number);

/// True if this result has the name and the type of this parameter: a caller may donate the parameter to it.
bool isDonatedTo(mlir::func::FuncOp func, unsigned parameter, unsigned result);

} // namespace spmdc
