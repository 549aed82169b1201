//===- Scatter.h - adds where indices say, on a GPU -------------*- C++ -*-===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/cuda/Sort.h"

#include <optional>

namespace spmd::cuda {

/// One scatter_add or scatter_add_along: how its additions are done.
class Scatter {
public:
  explicit Scatter(const LibraryCall &call);

  void prepare(const LibraryKernels &kernels) const;
  int64_t getScratchBytes() const;
  /// Changes `result`, which holds the operand.
  void run(const LibraryLauncher &launcher, DevicePointer indices, DevicePointer updates, DevicePointer result,
           DevicePointer scratch) const;

private:
  /// Integers in any order; a few updates by comparing them; all others by sorting their indices.
  enum class Method { Nothing, Atomic, Few, Sorted };
  struct Layout {
    int64_t keys, sortedKeys, positions, sort, bytes;
  };
  Layout layOut() const;
  void runSorted(const LibraryLauncher &launcher, DevicePointer indices, DevicePointer updates, DevicePointer result,
                 DevicePointer scratch) const;

  int64_t outer, rows, count, inner, indexBytes;
  bool isAlong;
  int64_t lines = 1; ///< That are sorted: a column's indices, or those of all columns.
  Method method = Method::Nothing;
  std::string module, atomicKernel;
  std::optional<Sort> sort;
};

} // namespace spmd::cuda
