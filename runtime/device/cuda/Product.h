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
  std::string unit;       ///< "halves" or "bytes" on matrix units, else empty.
  bool isAligned = false; ///< On these: lines are in aligned chunks (kernels/MatrixTiles.h).
  int64_t tile = kSmallTile;
};

} // namespace spmd::cuda
