//===- Library.h - library steps on a GPU -----------------------*- C++ -*-===//
//
// Sorts, scatters, updates of a window at a run-time position, and matrix products of types that cuBLASLt does not
// support, by our own kernels (kernels/*.cu). The results are those of runtime/device/cpu/Library.h, with the same bits
// except for floating-point products. No result depends on the order of blocks or threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/MatmulShape.h"
#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/Cupti.h"
#include "runtime/device/cuda/LibraryKernels.h"

#include <memory>
#include <mutex>

namespace spmd::cuda {

/// The library kernels and cuBLASLt on one GPU. Thread-safe: several devices of that GPU may use it, from any thread
/// with the context in which it was created. That context must be current in the destructor, too.
///
/// The driver compiles kernels when a call first needs them, which takes a few tenths of a second: `prepare` does it
/// ahead.
///
/// Example: `library.prepare(call); scratch = allocate(library.getScratchBytes(call)); library.run(call, stream,
/// {operand}, result, scratch)` leaves in `result` the positions that sort `operand`.
class Library {
public:
  /// `capability` is that of the GPU, as Gpu::getCapability. `blas` and `cupti` are what getBlas and getCupti return,
  /// for tests; null: the libraries where the driver is the system's.
  Library(std::shared_ptr<const Driver> driver, int capability, std::shared_ptr<const CublasLt> blas = nullptr,
          std::shared_ptr<Cupti> cupti = nullptr);

  /// Returns cuBLASLt for this GPU, or null if it was not found. The first call loads it; the GPU must be current.
  std::shared_ptr<const CublasLt> getBlas() const;

  /// Returns CUPTI, which all GPUs of the process share, or null if it was not found. The first call loads it.
  std::shared_ptr<Cupti> getCupti() const;

  /// Loads the kernels that the call needs and that are not loaded yet. Throws spmd::Error if a GPU does not support
  /// the call: see `run` and `multiply`.
  void prepare(const LibraryCall &call) const;
  void prepare(const MatmulShape &shape) const;

  /// Returns the bytes of device memory, aligned to 256 bytes, that `run` needs; may be 0.
  int64_t getScratchBytes(const LibraryCall &call) const;
  /// Queues the call; all pointers are device pointers, `inputs` as in LibraryStep. `result` may be inputs[0], which
  /// scatters and update_slice then update in place; otherwise they copy it. `result` of a sort must not overlap
  /// its input. Does not wait for the device, and the queued work depends on the call alone, so that the stream may be
  /// captured. Throws spmd::Error for more than 2^32 - 2 elements along the sorted or scattered dimension, and for a
  /// window with more than 8 dimensions that cannot be merged.
  void run(const LibraryCall &call, Stream stream, const std::vector<DevicePointer> &inputs, DevicePointer result,
           DevicePointer scratch) const;

  /// Queues result[b] = op(lhs[b]) op(rhs[b]) for every pair of element types that CPU devices support; throws
  /// spmd::Error for others. Sums are f32 for f32 and 16-bit types, and wrap for integers.
  void multiply(const MatmulShape &shape, Stream stream, DevicePointer lhs, DevicePointer rhs,
                DevicePointer result) const;

  /// All kernels of kernels/*.cu, for other code that launches them (runtime/collective/nccl).
  const LibraryKernels &getKernels() const { return kernels; }

private:
  LibraryKernels kernels;
  const int capability;
  const bool mayLoad; ///< Libraries of NVIDIA.
  const int driverVersion;
  const std::shared_ptr<Cupti> cupti;
  mutable std::once_flag hasLookedForBlas;
  mutable std::shared_ptr<const CublasLt> blas;
};

} // namespace spmd::cuda
