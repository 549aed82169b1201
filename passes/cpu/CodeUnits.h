//===- CodeUnits.h - functions that are compiled together -------*- C++ -*-===//
//
// A program's functions are divided among object files, which threads compile in parallel. The function of a loop is in
// the same file as the small kernels that it calls, so that LLVM can inline them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cpu/DistinctLoops.h"
#include "runtime/artifact/CompiledLoops.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace spmdc {

/// The function that computes each kernel, by the kernel's name.
using FunctionNames = llvm::StringMap<std::string>;

FunctionNames nameFunctions(llvm::ArrayRef<KernelLoops> kernels);

/// Functions that one object file has: one kernel, or loops with the kernels that they call.
struct CodeUnit {
  llvm::SmallVector<const KernelLoops *> kernels;
  llvm::SmallVector<spmd::CompiledLoop> loops;
  size_t operations = 0; ///< Of the kernels, as LLVM sees them.
};

/// Returns units with all of these kernels and loops of the plan, ordered by their first kernels.
std::vector<CodeUnit> formUnits(llvm::ArrayRef<KernelLoops> kernels, const FunctionNames &names, const spmd::Plan &plan,
                                llvm::ArrayRef<spmd::CompiledLoop> loops);

/// Returns the first units, at least one, which have at most this many operations if they are more than one.
llvm::ArrayRef<CodeUnit> takeForObject(llvm::ArrayRef<CodeUnit> units, size_t mostOperations);

} // namespace spmdc
