//===- Library.h - steps that are no kernels --------------------*- C++ -*-===//
//
// Sorting, adding at indices, writing a window at a position known at run time. Bits do not depend on the number of
// threads: each element of a result is made by one thread, in one order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/device/cpu/ParallelFor.h"

namespace spmd {

struct LibraryCall {
  LibraryFunction function = LibraryFunction::Argsort;
  DType dtype = DType::F32;   ///< Of the first input.
  std::vector<int64_t> sizes; ///< LibraryStep.
};

/// Runs on these arrays. Where the function changes its first input in place and `result` is other memory, the input
/// is copied there first. Indices outside are clamped or dropped, whatever they hold.
void runLibrary(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result);

/// Its parts.
void argsort(const LibraryCall &call, ParallelFor &parallelFor, const void *operand, int32_t *result);
void scatterAdd(const LibraryCall &call, ParallelFor &parallelFor, const int32_t *indices, const void *updates,
                void *result);
void updateSlice(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result);

} // namespace spmd
