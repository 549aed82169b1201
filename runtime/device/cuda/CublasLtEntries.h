//===- CublasLtEntries.h - the functions of cuBLASLt ------------*- C++ -*-===//
//
// Names in comments are those of cublasLt.h; numbers are those of its header and never change.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CublasLt.h"

#include <array>

namespace spmd::cuda {

/// The functions that products need, and the types of their parameters.
struct CublasLtEntries {
  using Status = int;    ///< cublasStatus_t; 0 is success.
  using Opaque = void *; ///< cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t.
  struct Algorithm {     ///< cublasLtMatmulAlgo_t.
    std::array<uint64_t, 8> data;
  };
  struct Heuristic { ///< cublasLtMatmulHeuristicResult_t.
    Algorithm algorithm;
    size_t workspaceBytes;
    Status state;
    float waves;
    std::array<int, 4> reserved;
  };

  Status (*create)(CublasLt::Handle **) = nullptr;
  Status (*destroy)(CublasLt::Handle *) = nullptr;
  size_t (*getVersion)() = nullptr;
  Status (*descCreate)(Opaque *, int, int) = nullptr;
  Status (*descSet)(Opaque, int, const void *, size_t) = nullptr;
  Status (*descDestroy)(Opaque) = nullptr;
  Status (*layoutCreate)(Opaque *, int, uint64_t, uint64_t, int64_t) = nullptr;
  Status (*layoutSet)(Opaque, int, const void *, size_t) = nullptr;
  Status (*layoutDestroy)(Opaque) = nullptr;
  Status (*preferenceCreate)(Opaque *) = nullptr;
  Status (*preferenceSet)(Opaque, int, const void *, size_t) = nullptr;
  Status (*preferenceDestroy)(Opaque) = nullptr;
  Status (*getHeuristic)(CublasLt::Handle *, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, int, Heuristic *,
                         int *) = nullptr;
  Status (*matmul)(CublasLt::Handle *, Opaque, const void *, const void *, Opaque, const void *, Opaque, const void *,
                   const void *, Opaque, void *, Opaque, const Algorithm *, void *, size_t, Stream) = nullptr;

  /// Finds the functions in a loaded library; returns false if it lacks one of them.
  bool resolve(void *library);
};

// cublasComputeType_t: the type of sums and, if it is FAST, the type to which factors are rounded.
inline constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32FFastTf32 = 77;

} // namespace spmd::cuda
