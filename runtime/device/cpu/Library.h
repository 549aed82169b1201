//===- Library.h - steps of the runtime library -----------------*- C++ -*-===//
//
// Sorts, scatters, and updates of a window at a run-time position. Bits do not depend on the number of threads: one
// thread computes each element of a result, in one order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/cpu/ParallelFor.h"

namespace spmd {

/// Runs the call on these arrays. If the function updates its first input in place and `result` is other memory, the
/// input is copied to it first. Indices out of range are clamped or dropped, whatever their value.
void runLibrary(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result);

/// The functions that runLibrary dispatches to.
void sort(const LibraryCall &call, ParallelFor &parallelFor, const void *operand, void *result);
void scatter(const LibraryCall &call, ParallelFor &parallelFor, const void *indices, const void *updates, void *result);
void updateSlice(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result);

/// Calls `use` with an int32_t or an int64_t, according to the dtype of the positions.
template <typename Use> void visitIndexType(DType dtype, const Use &use) {
  if (dtype == DType::I64)
    use(int64_t());
  else
    use(int32_t());
}

} // namespace spmd
