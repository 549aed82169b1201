//===- Slice.h - writes a window at a position known at run time *- C++ -*-===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/cuda/LibraryKernels.h"

namespace spmd::cuda {

/// One update_slice.
class Slice {
public:
  explicit Slice(const LibraryCall &call);

  void prepare(const LibraryKernels &kernels) const;
  /// Changes `result`, which holds the operand. `starts` has an address for each dimension of the call.
  void run(const LibraryLauncher &launcher, DevicePointer update, const DevicePointer *starts,
           DevicePointer result) const;

private:
  /// Of the array that is written to, once dimensions are merged. Distances are in units of `unitBytes`.
  struct Dimension {
    int64_t shape = 1, window = 1, stride = 0;
    int64_t start = -1; ///< Which start; -1: 0.
    int64_t startBytes = 0;
  };
  std::string nameKernel() const { return "spmd_slice_" + std::to_string(unitBytes); }

  Dimension dimensions[kSliceRank];
  int64_t units = 1, unitBytes = 1;
};

} // namespace spmd::cuda
