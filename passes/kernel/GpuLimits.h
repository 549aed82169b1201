//===- GpuLimits.h - limits of a GPU that determine its code ----*- C++ -*-===//
#pragma once

#include <cstdint>

namespace spmdc {

/// Every GPU gives a block this many bytes of shared memory.
inline constexpr int64_t kMinSharedBytes = 48 * 1024;

/// The instructions by which streamed kernels (StreamedProducts.h) multiply tiles.
enum class MatrixUnit {
  None,
  Warp,     ///< mma.sync: sm_80 and newer.
  Warpgroup ///< wgmma, which reads factors from shared memory: sm_90a.
};

/// The limits of a chip from which schedules and mappings follow.
struct GpuLimits {
  int64_t sharedBytes = kMinSharedBytes; ///< Shared memory that a block may have.
  /// Blocks of a cluster, which run at once and access each other's shared memory; 1: the chip has no clusters.
  int64_t clusterBlocks = 1;
  MatrixUnit matrixUnit = MatrixUnit::None; ///< None: attention is not streamed.
};

} // namespace spmdc
