//===- Scatter.h - adds updates at indices, on a GPU ------------*- C++ -*-===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/cuda/Sort.h"

#include <optional>

namespace spmd::cuda {

/// One scatter_add or scatter_add_along, and the method of its additions.
class Scatter {
public:
  explicit Scatter(const LibraryCall &call);

  void prepare(const LibraryKernels &kernels) const;
  int64_t getScratchBytes() const;
  /// Updates `result`, which holds the operand.
  void run(const LibraryLauncher &launcher, DevicePointer indices, DevicePointer updates, DevicePointer result,
           DevicePointer scratch) const;

private:
  /// Atomic: integers, in any order. Few: compares the indices of a few updates. Sorted: sorts the indices.
  enum class Method { Nothing, Atomic, Few, Sorted };
  struct Layout {
    int64_t keys, sortedKeys, positions, sort, bytes;
  };
  const char *nameShortKernel() const { return isWide ? "spmd_scatter_short_wide" : "spmd_scatter_short"; }
  Layout layOut() const;
  void runSorted(const LibraryLauncher &launcher, DevicePointer indices, DevicePointer updates, DevicePointer result,
                 DevicePointer scratch) const;

  int64_t outer, rows, count, inner, indexBytes, elementBytes;
  bool isAlong, isWide = false;
  int64_t lines = 1; ///< Lines that are sorted: one for each column's indices, or one for all columns.
  Method method = Method::Nothing;
  std::string module, atomicKernel;
  std::optional<Sort> sort;
};

} // namespace spmd::cuda
