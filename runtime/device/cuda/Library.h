//===- Library.h - steps that are no generated kernels ----------*- C++ -*-===//
//
// Sorting, adding at indices, writing a window at a position known at run time, and matrix products of the types that
// cuBLASLt does not multiply, by our own kernels (kernels/*.cu): the results of runtime/device/cpu/Library.h, and of
// all but floating-point products the same bits. No result depends on which block or thread comes first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/MatmulShape.h"
#include "runtime/device/cuda/LibraryKernels.h"

namespace spmd::cuda {

/// The library kernels on one GPU. Immutable: may be used by several devices of that GPU, from any thread in whose
/// current context it was made. That context must be current in the destructor, too.
///
/// The driver translates kernels when a call first needs them, a few tenths of a second: `prepare` does it ahead.
///
/// Example: `library.prepare(call); scratch = allocate(library.getScratchBytes(call)); library.run(call, stream,
/// {operand}, result, scratch)` leaves in `result` the positions that sort `operand`.
class Library {
public:
  explicit Library(std::shared_ptr<const Driver> driver);

  /// Loads the kernels that the call needs and that are not loaded yet. Throws spmd::Error where a GPU cannot do the
  /// call: see `run` and `multiply`.
  void prepare(const LibraryCall &call) const;
  void prepare(const MatmulShape &shape) const;

  /// Bytes of device memory that `run` needs, aligned to 256 bytes; 0 where it needs none.
  int64_t getScratchBytes(const LibraryCall &call) const;
  /// Queues the call; all pointers are device pointers, `inputs` as in LibraryStep. `result` may be inputs[0], which
  /// scatters and update_slice then change in place; otherwise they copy it first. `result` of a sort is other memory
  /// than its input. Nothing waits for the device, and what is queued depends on the call alone, so that the stream may
  /// be captured. Throws spmd::Error for more than 2^32 - 2 elements along the sorted or scattered
  /// dimension, and for a window with more than 8 dimensions that cannot be merged.
  void run(const LibraryCall &call, Stream stream, const std::vector<DevicePointer> &inputs, DevicePointer result,
           DevicePointer scratch) const;

  /// Queues result[b] = op(lhs[b]) op(rhs[b]) for every pair of element types that a CPU device multiplies; throws
  /// spmd::Error for others. Sums are f32 for f32 and 16-bit types, and wrap for integers.
  void multiply(const MatmulShape &shape, Stream stream, DevicePointer lhs, DevicePointer rhs,
                DevicePointer result) const;

  /// All kernels of kernels/*.cu, for what else launches them (runtime/collective/nccl).
  const LibraryKernels &getKernels() const { return kernels; }

private:
  LibraryKernels kernels;
};

} // namespace spmd::cuda
