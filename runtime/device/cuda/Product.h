//===- Product.h - matrix products by our own kernels -----------*- C++ -*-===//
#pragma once

#include "runtime/device/MatmulShape.h"
#include "runtime/device/cuda/LibraryKernels.h"

namespace spmd::cuda {

/// One (batched) matrix product of any supported pair of element types.
class Product {
public:
  /// `capability` is that of the GPU. Throws spmd::Error for an unsupported pair of types.
  Product(const MatmulShape &shape, int capability);

  void prepare(const LibraryKernels &kernels) const;
  void run(const LibraryLauncher &launcher, DevicePointer lhs, DevicePointer rhs, DevicePointer result) const;

private:
  std::string nameKernel() const;
  void runFewRows(const LibraryLauncher &launcher, DevicePointer lhs, DevicePointer rhs, DevicePointer result) const;
  int64_t countTiles(int64_t size) const;

  MatmulShape shape;
  std::string module;
  bool hasFewRows;        ///< Few rows or few columns.
  bool hasHalves = false; ///< 16-bit floats on matrix units.
  bool isAligned = false; ///< Of these: lines are multiples of 16 bytes.
  int64_t tile = kSmallTile;
};

} // namespace spmd::cuda
