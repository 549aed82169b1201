//===- Slice.h - update_slice on a GPU --------------------------*- C++ -*-===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/cuda/LibraryKernels.h"

namespace spmd::cuda {

/// One update_slice.
class Slice {
public:
  explicit Slice(const LibraryCall &call);

  void prepare(const LibraryKernels &kernels) const;
  /// `starts` has an address for each dimension of the call. `result` may be the operand.
  void run(const LibraryLauncher &launcher, DevicePointer operand, DevicePointer update, const DevicePointer *starts,
           DevicePointer result) const;

private:
  /// A dimension of the updated array, after merging. Distances are in units of `unitBytes`.
  struct Dimension {
    int64_t shape = 1, window = 1, stride = 0;
    int64_t start = -1; ///< Index of the start; -1: the start is 0.
    int64_t startBytes = 0;
  };
  std::string nameKernel(bool copies) const;

  Dimension dimensions[kSliceRank];
  int64_t units = 1, unitBytes = 1; ///< Units of the update.
  /// The window is one range of the array: it has one start, and full size in all dimensions behind.
  bool isRange = false;
  int64_t operandBytes;
};

} // namespace spmd::cuda
