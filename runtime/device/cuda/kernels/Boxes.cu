//===- Boxes.cu - copies boxes of bytes -----------------------------------===//

#include "runtime/device/cuda/BoxEntry.h"
#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {
namespace {

struct Unit128 {
  alignas(16) uint64_t words[2];
};

/// Block b works on box b / `boxBlocks`: on every boxBlocks-th chunk of kBlockThreads units of it.
template <typename Unit, bool isZero>
SPMD_DEVICE void moveBox(const BoxEntry *boxes, const Unit *source, Unit *target, int64_t boxBlocks) {
  Quotient number = divide(blockIndex(), boxBlocks);
  const BoxEntry &box = boxes[number.quotient];
  for (int64_t unit = number.remainder * kBlockThreads + threadIndex(); unit < box.units;
       unit += boxBlocks * kBlockThreads) {
    Quotient at = divide(unit, box.run);
    int64_t from = box.source + at.remainder, to = box.target + at.remainder, rest = at.quotient;
    for (int64_t d = box.rank; d-- > 0;) {
      Quotient index = divide(rest, box.counts[d]);
      from += index.remainder * box.sourceStrides[d];
      to += index.remainder * box.targetStrides[d];
      rest = index.quotient;
    }
    if constexpr (isZero)
      target[to] = Unit{};
    else
      target[to] = source[from];
  }
}

} // namespace

#define SPMD_BOXES(name, Unit)                                                                                         \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_copy_boxes_##name(const BoxEntry *boxes, const Unit *source, Unit *target, int64_t boxBlocks) {                 \
    moveBox<Unit, false>(boxes, source, target, boxBlocks);                                                            \
  }                                                                                                                    \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_zero_boxes_##name(const BoxEntry *boxes, const Unit *source, Unit *target, int64_t boxBlocks) {                 \
    moveBox<Unit, true>(boxes, source, target, boxBlocks);                                                             \
  }
SPMD_BOXES(1, uint8_t)
SPMD_BOXES(2, uint16_t)
SPMD_BOXES(4, uint32_t)
SPMD_BOXES(8, uint64_t)
SPMD_BOXES(16, Unit128)

} // namespace spmd::cuda
