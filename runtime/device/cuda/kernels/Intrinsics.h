//===- Intrinsics.h - what clang offers for code on a GPU --------------*- C++ -*-===//
//
// The kernels of this folder are compiled by clang alone, without the CUDA toolkit and its headers. Rules that all of
// them follow:
// - Every argument of a kernel has 64 bits: a pointer, int64_t or uint64_t. A launch is then an array of words.
// - Grids and blocks are one-dimensional, and a block has 256 threads (kBlockThreads). A kernel works for any number of
//   blocks, where it says `blocks`: each block takes every blocks-th piece of the work.
// - Shared memory is declared here, at most 48 KiB.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/KernelSizes.h"

#include <bit>
#include <cstdint>

// Its conversions, for the GPU, too. What it includes comes first: not all of that compiles so.
#pragma clang force_cuda_host_device begin
#include "runtime/support/Float16.h"
#pragma clang force_cuda_host_device end

#define SPMD_DEVICE __attribute__((device, always_inline)) inline
#define SPMD_SHARED __attribute__((shared))
/// ptxas keeps the registers of a thread within 65536 / (256 * blocks of a multiprocessor).
#define SPMD_KERNEL(blocksPerMultiprocessor)                                                                           \
  extern "C" __attribute__((global, launch_bounds(256, blocksPerMultiprocessor))) void

namespace spmd::cuda {

constexpr uint32_t kWarp = 32;

SPMD_DEVICE uint32_t threadIndex() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_tid_x()); }
SPMD_DEVICE uint32_t blockIndex() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x()); }
SPMD_DEVICE uint32_t laneIndex() { return threadIndex() % kWarp; }
SPMD_DEVICE uint32_t warpIndex() { return threadIndex() / kWarp; }

/// All threads of the block; their writes before are seen after.
SPMD_DEVICE void syncBlock() { __syncthreads(); }
/// All lanes of the warp; their writes before are seen after.
SPMD_DEVICE void syncWarp() { __nvvm_bar_warp_sync(~0u); }

/// The value that this lane of the warp gives.
SPMD_DEVICE uint32_t readLane(uint32_t value, uint32_t lane) {
  return static_cast<uint32_t>(__nvvm_shfl_sync_idx_i32(~0u, static_cast<int>(value), static_cast<int>(lane), 31));
}
/// The value that lane ^ `mask` gives.
SPMD_DEVICE uint32_t readNeighbor(uint32_t value, uint32_t mask) {
  return static_cast<uint32_t>(__nvvm_shfl_sync_bfly_i32(~0u, static_cast<int>(value), static_cast<int>(mask), 31));
}
/// The sum of `value` over this lane and all below.
SPMD_DEVICE uint32_t sumOfLanesUpTo(uint32_t value) {
  for (uint32_t offset = 1; offset < kWarp; offset *= 2) {
    uint32_t below =
        static_cast<uint32_t>(__nvvm_shfl_sync_up_i32(~0u, static_cast<int>(value), static_cast<int>(offset), 0));
    value += laneIndex() >= offset ? below : 0;
  }
  return value;
}

/// The sum of `value` over all threads below this one of a block of kBlockThreads. `sums` is shared memory of one word
/// a warp, which may be written again after the next syncBlock.
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

/// Adds to memory that other threads add to, and returns what was there. Integers alone: their sums do not depend on
/// the order.
template <typename T> SPMD_DEVICE T addAtomically(T *target, T value) {
  return __atomic_fetch_add(target, value, __ATOMIC_RELAXED);
}

/// Quotient and remainder, by 32-bit division where the numbers allow it: a 64-bit one costs some hundred instructions.
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
