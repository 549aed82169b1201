//===- Slice.cu - update_slice --------------------------------------------===//

#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {
namespace {

/// One dimension of the updated array: the extents of array and window, the stride in the array, and the address of the
/// start, which the kernel reads.
struct Dimension {
  int64_t shape, window, stride;
  const void *start;
  int64_t startBytes;

  SPMD_DEVICE int64_t readStart() const {
    int64_t wanted = startBytes == 8 ? *static_cast<const int64_t *>(start) : *static_cast<const int32_t *>(start);
    int64_t last = shape - window;
    return wanted < 0 ? 0 : wanted > last ? last : wanted;
  }
};

/// Extents and strides are in units; the last dimension's stride is 1.
template <typename Unit>
SPMD_DEVICE void writeWindow(const Unit *update, Unit *result, const Dimension (&dimensions)[kSliceRank],
                             int64_t blocks) {
  int64_t units = 1, origin = 0;
#pragma unroll
  for (uint32_t d = 0; d < kSliceRank; ++d) {
    units *= dimensions[d].window;
    if (dimensions[d].start)
      origin += dimensions[d].readStart() * dimensions[d].stride;
  }
  for (int64_t unit = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); unit < units;
       unit += blocks * kBlockThreads) {
    int64_t rest = unit, place = origin;
#pragma unroll
    for (uint32_t d = kSliceRank; d-- > 0;)
      if (dimensions[d].window > 1) {
        Quotient at = divide(rest, dimensions[d].window);
        place += at.remainder * dimensions[d].stride;
        rest = at.quotient;
      }
    result[place] = update[unit];
  }
}

/// Writes all of the result: the update inside of the window, the operand around it. A copy of the operand and a window
/// behind it write the window twice.
template <typename Unit>
SPMD_DEVICE void copyWithWindow(const Unit *operand, const Unit *update, Unit *result,
                                const Dimension (&dimensions)[kSliceRank], int64_t blocks) {
  int64_t units = 1, starts[kSliceRank];
#pragma unroll
  for (uint32_t d = 0; d < kSliceRank; ++d) {
    units *= dimensions[d].shape;
    starts[d] = dimensions[d].start ? dimensions[d].readStart() : 0;
  }
  for (int64_t unit = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); unit < units;
       unit += blocks * kBlockThreads) {
    int64_t rest = unit, place = 0, stride = 1;
    bool isInside = true;
#pragma unroll
    for (uint32_t d = kSliceRank; d-- > 0;)
      if (dimensions[d].shape > 1) {
        Quotient at = divide(rest, dimensions[d].shape);
        int64_t offset = at.remainder - starts[d];
        isInside = isInside && offset >= 0 && offset < dimensions[d].window;
        place += offset * stride;
        stride *= dimensions[d].window;
        rest = at.quotient;
      }
    result[unit] = isInside ? update[place] : operand[unit];
  }
}

/// The same of a window that is one range of the array: `units` units from the start of its rows on, no divisions.
/// `all`: the units of the array. `copies`: all of it is written, else the window alone.
template <bool copies, typename Unit>
SPMD_DEVICE void writeRange(const Unit *operand, const Unit *update, Unit *result, const Dimension &rows, int64_t units,
                            int64_t all, int64_t blocks) {
  int64_t origin = rows.readStart() * rows.stride, total = copies ? all : units;
  constexpr int64_t kBlockUnits = static_cast<int64_t>(kBlockThreads) * kRangeUnits;
  for (int64_t first = static_cast<int64_t>(blockIndex()) * kBlockUnits + threadIndex(); first < total;
       first += blocks * kBlockUnits) {
    Unit values[kRangeUnits];
#pragma unroll
    for (uint32_t j = 0; j < kRangeUnits; ++j) {
      int64_t unit = first + j * kBlockThreads, inWindow = copies ? unit - origin : unit;
      if (unit < total)
        values[j] = static_cast<uint64_t>(inWindow) < static_cast<uint64_t>(units) ? update[inWindow] : operand[unit];
    }
#pragma unroll
    for (uint32_t j = 0; j < kRangeUnits; ++j) {
      int64_t unit = first + j * kBlockThreads;
      if (unit < total)
        result[copies ? unit : origin + unit] = values[j];
    }
  }
}

/// One access of 16 bytes.
using Unit128 = uint32_t __attribute__((ext_vector_type(4)));

} // namespace

// Take `blocks` blocks. `strides` are in units; a dimension without a start is at 0.
#define SPMD_DIMENSION_PARAMETERS(d)                                                                                   \
  int64_t shape##d, int64_t window##d, int64_t stride##d, const void *start##d, int64_t startBytes##d
#define SPMD_DIMENSION(d) {shape##d, window##d, stride##d, start##d, startBytes##d}
#define SPMD_ALL_DIMENSION_PARAMETERS                                                                                  \
  SPMD_DIMENSION_PARAMETERS(0), SPMD_DIMENSION_PARAMETERS(1), SPMD_DIMENSION_PARAMETERS(2),                            \
      SPMD_DIMENSION_PARAMETERS(3), SPMD_DIMENSION_PARAMETERS(4), SPMD_DIMENSION_PARAMETERS(5),                        \
      SPMD_DIMENSION_PARAMETERS(6), SPMD_DIMENSION_PARAMETERS(7), int64_t blocks
#define SPMD_ALL_DIMENSIONS                                                                                            \
  {SPMD_DIMENSION(0), SPMD_DIMENSION(1), SPMD_DIMENSION(2), SPMD_DIMENSION(3),                                         \
   SPMD_DIMENSION(4), SPMD_DIMENSION(5), SPMD_DIMENSION(6), SPMD_DIMENSION(7)}
#define SPMD_SLICE(name, Unit)                                                                                         \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_slice_##name(const Unit *update, Unit *result, SPMD_ALL_DIMENSION_PARAMETERS) {                                 \
    const Dimension dimensions[kSliceRank] = SPMD_ALL_DIMENSIONS;                                                      \
    writeWindow<Unit>(update, result, dimensions, blocks);                                                             \
  }                                                                                                                    \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_slice_copy_##name(const Unit *update, Unit *result, const Unit *operand, SPMD_ALL_DIMENSION_PARAMETERS) {       \
    const Dimension dimensions[kSliceRank] = SPMD_ALL_DIMENSIONS;                                                      \
    copyWithWindow<Unit>(operand, update, result, dimensions, blocks);                                                 \
  }                                                                                                                    \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_range_##name(const Unit *update, Unit *result, SPMD_DIMENSION_PARAMETERS(0), int64_t units, int64_t blocks) {   \
    writeRange<false, Unit>(nullptr, update, result, SPMD_DIMENSION(0), units, units, blocks);                         \
  }                                                                                                                    \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_range_copy_##name(const Unit *update, Unit *result, const Unit *operand, SPMD_DIMENSION_PARAMETERS(0),          \
                         int64_t units, int64_t all, int64_t blocks) {                                                 \
    writeRange<true, Unit>(operand, update, result, SPMD_DIMENSION(0), units, all, blocks);                            \
  }
SPMD_SLICE(1, uint8_t)
SPMD_SLICE(2, uint16_t)
SPMD_SLICE(4, uint32_t)
SPMD_SLICE(8, uint64_t)
SPMD_SLICE(16, Unit128)

} // namespace spmd::cuda
