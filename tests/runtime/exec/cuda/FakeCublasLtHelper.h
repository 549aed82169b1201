//===- FakeCublasLtHelper.h - cuBLASLt without a GPU ------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/CublasLt.h"

#include <memory>
#include <mutex>
#include <vector>

namespace spmd::cuda {

/// A cuBLASLt that notes what it is asked for and has an algorithm for nothing, so that the runtime's own kernels
/// compute the products. At most one exists in a process. Thread-safe.
class FakeCublasLt {
public:
  FakeCublasLt();
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt &) = delete;
  FakeCublasLt &operator=(const FakeCublasLt &) = delete;

  const std::shared_ptr<const CublasLt> &getLibrary() const { return library; }
  /// Returns the compute type (cublasComputeType_t) of each product that was prepared, in order.
  std::vector<int> getComputeTypes() const;

private:
  friend struct FakeCublasLtEntries;
  std::shared_ptr<const CublasLt> library;
  mutable std::mutex mutex; ///< Guards `computeTypes`.
  std::vector<int> computeTypes;
};

} // namespace spmd::cuda
