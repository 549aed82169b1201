//===- Intrinsics.h - clang's intrinsics for GPU code -----------*- C++ -*-===//
//
// clang alone compiles the kernels of this folder, without the CUDA toolkit and its headers. Rules for all of them:
// - Every argument of a kernel has 64 bits: a pointer, int64_t or uint64_t. A launch is then an array of words.
// - Grids and blocks are one-dimensional, and a block has 256 threads (kBlockThreads). A kernel with a parameter
//   `blocks` works for any number of blocks: each block takes every blocks-th chunk of the work.
// - Shared memory is declared statically, at most 48 KiB.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/KernelSizes.h"

#include <bit>
#include <cstdint>

// Compiles its conversions for the GPU, too. Its includes come first, because not all of them compile for a GPU.
#pragma clang force_cuda_host_device begin
#include "runtime/support/Float16.h"
#pragma clang force_cuda_host_device end

#define SPMD_DEVICE __attribute__((device, always_inline)) inline
#define SPMD_SHARED __attribute__((shared))
/// ptxas limits the registers of a thread to 65536 / (256 * blocks of a multiprocessor).
#define SPMD_KERNEL(blocksPerMultiprocessor)                                                                           \
  extern "C" __attribute__((global, launch_bounds(256, blocksPerMultiprocessor))) void

namespace spmd::cuda {

constexpr uint32_t kWarp = 32;

SPMD_DEVICE uint32_t threadIndex() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_tid_x()); }
SPMD_DEVICE uint32_t blockIndex() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x()); }
SPMD_DEVICE uint32_t laneIndex() { return threadIndex() % kWarp; }
SPMD_DEVICE uint32_t warpIndex() { return threadIndex() / kWarp; }

/// A barrier for all threads of the block; their earlier writes are visible after it.
SPMD_DEVICE void syncBlock() { __syncthreads(); }
/// A barrier for all lanes of the warp; their earlier writes are visible after it.
SPMD_DEVICE void syncWarp() { __nvvm_bar_warp_sync(~0u); }

/// Returns the value of this lane of the warp.
SPMD_DEVICE uint32_t readLane(uint32_t value, uint32_t lane) {
  return static_cast<uint32_t>(__nvvm_shfl_sync_idx_i32(~0u, static_cast<int>(value), static_cast<int>(lane), 31));
}
/// Returns the value of lane ^ `mask`.
SPMD_DEVICE uint32_t readNeighbor(uint32_t value, uint32_t mask) {
  return static_cast<uint32_t>(__nvvm_shfl_sync_bfly_i32(~0u, static_cast<int>(value), static_cast<int>(mask), 31));
}
/// Returns the sum of `value` over this lane and all lanes below.
SPMD_DEVICE uint32_t sumOfLanesUpTo(uint32_t value) {
  for (uint32_t offset = 1; offset < kWarp; offset *= 2) {
    uint32_t below =
        static_cast<uint32_t>(__nvvm_shfl_sync_up_i32(~0u, static_cast<int>(value), static_cast<int>(offset), 0));
    value += laneIndex() >= offset ? below : 0;
  }
  return value;
}

/// Returns the sum of `value` over all lower threads of a block of kBlockThreads. `sums` is shared memory of one word
/// per warp, which may be written again after the next syncBlock.
SPMD_DEVICE uint32_t sumOfThreadsBelow(uint32_t value, uint32_t *sums) {
  uint32_t upTo = sumOfLanesUpTo(value);
  if (laneIndex() == kWarp - 1)
    sums[warpIndex()] = upTo;
  syncBlock();
  uint32_t below = upTo - value;
  for (uint32_t warp = 0; warp < kBlockThreads / kWarp; ++warp)
    below += warp < warpIndex() ? sums[warp] : 0;
  return below;
}

/// Adds to memory to which other threads add, and returns the old value. For integers only: their sums do not depend on
/// the order.
template <typename T> SPMD_DEVICE T addAtomically(T *target, T value) {
  return __atomic_fetch_add(target, value, __ATOMIC_RELAXED);
}

/// Quotient and remainder, by 32-bit division if the numbers allow it: a 64-bit division costs some hundred
/// instructions.
struct Quotient {
  int64_t quotient, remainder;
};
SPMD_DEVICE Quotient divide(int64_t number, int64_t divisor) {
  if (((number | divisor) >> 32) == 0) {
    auto small = static_cast<uint32_t>(number), by = static_cast<uint32_t>(divisor);
    return {small / by, small % by};
  }
  return {number / divisor, number % divisor};
}

} // namespace spmd::cuda
