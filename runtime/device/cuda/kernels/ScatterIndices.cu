//===- ScatterIndices.cu - integer scatters, sort keys --------------------===//
//
// 32- and 64-bit integers are added atomically, because their sums do not depend on the order; bools are stored. For
// all other types the indices become keys that are sorted (ScatterRuns.cu).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/ScatterIndex.h"

namespace spmd::cuda {
namespace {

/// One thread per update.
template <typename Use>
SPMD_DEVICE void forEachUpdate(const void *indices, int64_t indexBytes, bool isAlong, Sizes sizes, int64_t blocks,
                               Use use) {
  int64_t units = sizes.outer * sizes.count * sizes.inner;
  for (int64_t unit = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); unit < units;
       unit += blocks * kBlockThreads) {
    Quotient line = divide(unit, sizes.inner), at = divide(line.quotient, sizes.count);
    int64_t row = readIndex(indices, isAlong ? unit : at.remainder, indexBytes, sizes.rows);
    if (row >= 0)
      use((at.quotient * sizes.rows + row) * sizes.inner + line.remainder, unit);
  }
}

} // namespace

// All kernels take `blocks` blocks.

/// keys[line][m] = the row of update m, or `rows` if it is out of range: such updates come last. `inner` is 1 for
/// scatter_add, whose indices are one line.
SPMD_KERNEL(1)
spmd_scatter_keys(const void *indices, int64_t indexBytes, int64_t rows, int64_t count, int64_t inner, int64_t lines,
                  uint32_t *keys, int64_t blocks) {
  for (int64_t i = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); i < lines * count;
       i += blocks * kBlockThreads) {
    Quotient row = divide(i, inner), at = divide(row.quotient, count);
    int64_t index = readIndex(indices, i, indexBytes, rows);
    keys[(at.quotient * inner + row.remainder) * count + at.remainder] =
        static_cast<uint32_t>(index < 0 ? rows : index);
  }
}

#define SPMD_SCATTER_INTEGERS(bits)                                                                                    \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_scatter_atomic_i##bits(const void *indices, int64_t indexBytes, int64_t isAlong, const uint##bits##_t *updates, \
                              uint##bits##_t *result, int64_t outer, int64_t rows, int64_t count, int64_t inner,       \
                              int64_t blocks) {                                                                        \
    forEachUpdate(indices, indexBytes, isAlong, {outer, rows, count, inner}, blocks,                                   \
                  [=](int64_t target, int64_t source) { addAtomically(&result[target], updates[source]); });           \
  }
SPMD_SCATTER_INTEGERS(32)
SPMD_SCATTER_INTEGERS(64)

/// All threads that write to one element write the same value. The stores are atomic, because others of one element by
/// several threads would be a data race.
SPMD_KERNEL(1)
spmd_scatter_atomic_bool(const void *indices, int64_t indexBytes, int64_t isAlong, const uint8_t *updates,
                         uint8_t *result, int64_t outer, int64_t rows, int64_t count, int64_t inner, int64_t blocks) {
  forEachUpdate(indices, indexBytes, isAlong, {outer, rows, count, inner}, blocks, [=](int64_t target, int64_t source) {
    if (updates[source])
      __atomic_store_n(&result[target], uint8_t{1}, __ATOMIC_RELAXED);
  });
}

} // namespace spmd::cuda
