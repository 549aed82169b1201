//===- Library.h - steps that are no kernels --------------------*- C++ -*-===//
//
// Sorting, adding at indices, writing a window at a position known at run time. Bits do not depend on the number of
// threads: each element of a result is made by one thread, in one order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/cpu/ParallelFor.h"

namespace spmd {

/// Runs on these arrays. Where the function changes its first input in place and `result` is other memory, the input
/// is copied there first. Indices outside are clamped or dropped, whatever they hold.
void runLibrary(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result);

/// Its parts.
void argsort(const LibraryCall &call, ParallelFor &parallelFor, const void *operand, void *result);
void scatterAdd(const LibraryCall &call, ParallelFor &parallelFor, const void *indices, const void *updates,
                void *result);
void updateSlice(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result);

/// Calls `use` with an int32_t or an int64_t, the type that positions of this dtype have in memory.
template <typename Use> void visitIndexType(DType dtype, const Use &use) {
  if (dtype == DType::I64)
    use(int64_t());
  else
    use(int32_t());
}

} // namespace spmd
