//===- LoopFunction.h - the function of a loop for a CPU --------*- C++ -*-===//
//
// A compiled loop (runtime/artifact/CompiledLoops.h): control flow in machine code around calls of kernels. Its steps
// are those of the plan, at the plan's addresses, so that it leaves the same bits in memory as the executor, which runs
// them one by one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/CompiledLoops.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace spmdc {

/// Adds to `target` the function of a loop, in the llvm dialect, and returns its name. `names`
/// has the functions of its kernels; they are declared if `target` does not have them.
std::string emitLoopFunction(const spmd::Plan &plan, const spmd::CompiledLoop &loop,
                             const llvm::StringMap<std::string> &names, mlir::ModuleOp target);

} // namespace spmdc
