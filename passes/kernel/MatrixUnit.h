//===- MatrixUnit.h - instructions of a GPU for products --------*- C++ -*-===//
#pragma once

namespace spmdc {

/// The instructions by which streamed kernels (StreamedProducts.h) multiply tiles.
enum class MatrixUnit {
  None,
  Warp,     ///< mma.sync: sm_80 and newer.
  Warpgroup ///< wgmma, which reads factors from shared memory: sm_90a.
};

} // namespace spmdc
