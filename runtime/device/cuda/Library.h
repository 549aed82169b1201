//===- Library.h - steps that are no generated kernels ----------*- C++ -*-===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/MatmulShape.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/support/Error.h"

#include <vector>

namespace spmd::cuda {

/// The library kernels of one GPU.
class Library {
public:
  explicit Library(const std::shared_ptr<const Driver> &) {}
  int64_t getScratchBytes(const LibraryCall &) const { return 0; }
  void run(const LibraryCall &, Stream, const std::vector<DevicePointer> &, DevicePointer, DevicePointer) const {
    throw Error("sorts, scatters and updates of slices have no GPU code in this version; run with --target=cpu");
  }
  void multiply(const MatmulShape &, Stream, DevicePointer, DevicePointer, DevicePointer) const {
    throw Error("this matrix product is not one of cuBLASLt's, and there is no other on GPUs in this version; run with "
                "--target=cpu");
  }
};

} // namespace spmd::cuda
