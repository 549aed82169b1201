//===- FakeCublasLt.h - cuBLASLt without a GPU ------------------*- C++ -*-===//
//
// Products by plain loops, queued on streams of the FakeDriver. Sums are in f32 (of f64: in f64), one addition after
// the other; TF32 rounds factors to 10 bits of mantissa; an epilogue is computed in f64, and its result rounded once.
// It refuses what the runtime never asks for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CublasLt.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace spmd::cuda {

/// The functions of the library, for products on the current FakeDriver.
CublasLtEntries listFakeCublasLt();

/// A cuBLASLt that notes what it is asked for. At most one exists in a process. Thread-safe.
class FakeCublasLt {
public:
  FakeCublasLt();
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt &) = delete;
  FakeCublasLt &operator=(const FakeCublasLt &) = delete;

  const std::shared_ptr<const CublasLt> &getLibrary() const { return library; }
  /// Returns the compute type (cublasComputeType_t) of each product that was prepared, in order.
  std::vector<int> getComputeTypes() const;
  /// Returns the epilogue (cublasLtEpilogue_t) of each product for which an algorithm was wanted, in order.
  std::vector<uint32_t> getEpilogues() const;
  /// From now on there is no algorithm for a product with an epilogue.
  void refuseEpilogues() { hasEpilogues = false; }

private:
  friend struct FakeCublasLtEntries;
  /// Returns whether there is an algorithm with that epilogue.
  bool note(uint32_t epilogue);

  std::shared_ptr<const CublasLt> library;
  mutable std::mutex mutex; ///< Guards the lists.
  std::vector<int> computeTypes;
  std::vector<uint32_t> epilogues;
  std::atomic<bool> hasEpilogues = true;
};

} // namespace spmd::cuda
