//===- OptimizeKernels.h - LLVM's passes over kernels -----------*- C++ -*-===//
//
// Kernels are loops over arrays in one function each: they have no calls to inline but their own loops, no globals and
// hardly a branch within a loop. LLVM's standard pipeline is for code that has all of these, and looks for them again
// and again. The lists here are what changes the code of kernels (benchmarks/RESULTS.md, "Compile time").
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/LlvmCode.h"

namespace spmdc {

/// In place of levels 2 and 3 of the standard pipeline.
void optimizeKernels(LlvmCode &code, const llvm::PipelineTuningOptions &tuning);

/// Vectorizes loops by `vectorWidth` elements and does little else: for code that is not worth more compile time.
void optimizeKernelsLightly(LlvmCode &code, const llvm::PipelineTuningOptions &tuning, unsigned vectorWidth);

} // namespace spmdc
