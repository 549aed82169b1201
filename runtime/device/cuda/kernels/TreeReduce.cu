//===- TreeReduce.cu - element-wise reduction of several arrays -----------===//
//
// The balanced binary tree of runtime/collective/Reduce.h, split at the largest power of two below the size, so that
// the bits are those of the same reduction on CPUs. SPMD_ELEMENT is the element type, SPMD_SIGNED the type in which
// integers are compared; with SPMD_IS_BOOL sums are or, and products are and.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Element.h"

#include <type_traits>

namespace spmd::cuda {
namespace {

using Element = SPMD_ELEMENT;
using Stored = Element::Stored;
using Value = Element::Value;

/// Partial results that wait for their sibling: one per level of the tree, for any number of members below 2^32.
constexpr uint32_t kLevels = 33;

template <int kind, typename Number> SPMD_DEVICE Number combine(Number a, Number b) {
  if constexpr (SPMD_IS_BOOL && sizeof(Number) > 0) {
    return kind == 0 || kind == 2 || kind == 5 ? a | b : a & b;
  } else if constexpr (std::is_floating_point_v<Number>) {
    using Bits = std::conditional_t<sizeof(Number) == 8, uint64_t, uint32_t>;
    if constexpr (kind == 0)
      return a + b;
    else if constexpr (kind == 1)
      return a * b;
    // Equal values differ in bits only if they are zeros of both signs: `and` of the bits is +0, `or` is -0.
    else if constexpr (kind == 2)
      return a == b ? std::bit_cast<Number>(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b)) : a > b || a != a ? a : b;
    else
      return a == b ? std::bit_cast<Number>(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b)) : a < b || a != a ? a : b;
  } else {
    auto signedA = static_cast<SPMD_SIGNED>(a), signedB = static_cast<SPMD_SIGNED>(b);
    if constexpr (kind == 0)
      return static_cast<Number>(a + b);
    else if constexpr (kind == 1)
      return static_cast<Number>(1u * a * b); // The product of two uint16_t is an int, which overflows.
    else if constexpr (kind == 2)
      return signedA > signedB ? a : b;
    else if constexpr (kind == 3)
      return signedA < signedB ? a : b;
    else if constexpr (kind == 4)
      return static_cast<Number>(a & b);
    else
      return static_cast<Number>(a | b);
  }
}

/// Member p's elements begin at slabs + p * pitch (elements).
template <int kind>
SPMD_DEVICE void reduceSlabs(const Stored *slabs, int64_t pitch, int64_t members, Stored *target, int64_t count,
                             int64_t blocks) {
  for (int64_t i = static_cast<int64_t>(blockIndex()) * kBlockThreads + threadIndex(); i < count;
       i += blocks * kBlockThreads) {
    // As in a binary counter: after member p there are as many finished subtrees as p + 1 has bits set.
    Value waiting[kLevels];
    uint32_t depth = 0;
    for (int64_t p = 0; p < members; ++p) {
      Value value = Element::load(slabs[p * pitch + i]);
      for (int64_t bits = p; bits & 1; bits >>= 1)
        value = combine<kind>(waiting[--depth], value);
      waiting[depth++] = value;
    }
    Value value = waiting[--depth];
    while (depth > 0)
      value = combine<kind>(waiting[--depth], value);
    target[i] = Element::store(value);
  }
}

} // namespace

#define SPMD_REDUCE(name, kind)                                                                                        \
  SPMD_KERNEL(1)                                                                                                       \
  spmd_reduce_##name(const Stored *slabs, int64_t pitch, int64_t members, Stored *target, int64_t count,               \
                     int64_t blocks) {                                                                                 \
    reduceSlabs<kind>(slabs, pitch, members, target, count, blocks);                                                   \
  }
SPMD_REDUCE(sum, 0)
SPMD_REDUCE(prod, 1)
SPMD_REDUCE(max, 2)
SPMD_REDUCE(min, 3)
#if SPMD_HAS_BITS
SPMD_REDUCE(and, 4)
SPMD_REDUCE(or, 5)
#endif

} // namespace spmd::cuda
