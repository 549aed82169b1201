//===- MatrixUnits.h - instructions of matrix units -------------*- C++ -*-===//
//
// Products of 16-bit floats and of bytes by a warp (sm_80 and newer), and copies from global to shared memory that run
// beside them.
// By the PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions" and "Data Movement and Conversion Instructions:
// cp.async". A matrix is 8 rows of 16 bytes, which are 8 values of 16 bits, or 16 bytes; lane l has 4 bytes of row l
// / 4.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {

/// An address in shared memory.
using SharedAddress = uint64_t;
SPMD_DEVICE SharedAddress toShared(const void *pointer) {
  return reinterpret_cast<SharedAddress>((__attribute__((address_space(3))) const void *)pointer);
}

/// Loads four matrices. Lane 8 i + r gives the address of row r of matrix i; with `transposes`, of column r.
template <bool transposes> SPMD_DEVICE void loadMatrices(SharedAddress row, uint32_t (&matrices)[4]) {
  if (transposes)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "l"(row)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "l"(row)
                 : "memory");
}

/// sums [16, 8] += left [16, 16] right [16, 8]. `left` is its matrices (rows 0, k 0), (rows 8, k 0), (rows 0, k 8),
/// (rows 8, k 8); `right` is (k 0), (k 8), with k in the rows of its transpose. Lane l has sums of rows l / 4 and l / 4
/// + 8, at columns 2 (l % 4) and the next one.
template <bool isBf16>
SPMD_DEVICE void multiplyMatrices(const uint32_t (&left)[4], uint32_t right0, uint32_t right1, float (&sums)[4]) {
  if (isBf16)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, "
        "%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}

/// sums [16, 8] += left [16, 32] right [32, 8] of bytes, which wraps; the matrices are in the same order.
template <bool isSigned>
SPMD_DEVICE void multiplyBytes(const uint32_t (&left)[4], uint32_t right0, uint32_t right1, uint32_t (&sums)[4]) {
  if (isSigned)
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
  else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}

/// Returns two 16-bit floats, each rounded to nearest even; `low` is in the lower half.
template <bool isBf16> SPMD_DEVICE uint32_t packHalves(float low, float high) {
  uint32_t both;
  if (isBf16)
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(both) : "f"(low), "f"(high));
  else
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(both) : "f"(low), "f"(high));
  return both;
}

/// Starts a copy of 16 bytes, both sides aligned; behind the first `bytes` the target becomes zero.
SPMD_DEVICE void startCopy(SharedAddress target, const void *source, uint32_t bytes) {
  asm volatile(
      "{\n.reg .u64 from;\ncvta.to.global.u64 from, %1;\ncp.async.cg.shared.global [%0], [from], 16, %2;\n}" ::"l"(
          target),
      "l"(source), "r"(bytes)
      : "memory");
}
/// Makes a group of the copies that this thread has started.
SPMD_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `running` groups of this thread are not finished.
template <int running> SPMD_DEVICE void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(running) : "memory");
}

} // namespace spmd::cuda
