//===- InlineKernels.h - kernels in the functions of loops ------*- C++ -*-===//
#pragma once

#include "passes/kernel/LlvmCode.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace spmdc {

/// Keeps LLVM's inliner from the calls of kernels in these functions, those of loops. Called before kernels are
/// optimised: their sums are reordered for vectors as in the kernel alone, so that the loop computes its bits.
void keepKernelCalls(llvm::Module &module, llvm::ArrayRef<std::string> loops);

/// Replaces calls of small kernels in these functions by their optimised code, and moves addresses and conditions that
/// do not change out of the loops. No operation on floats is reordered any more.
void inlineKernels(LlvmCode &code, llvm::ArrayRef<std::string> loops);

} // namespace spmdc
