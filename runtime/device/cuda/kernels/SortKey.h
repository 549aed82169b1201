//===- SortKey.h - elements as unsigned keys --------------------*- C++ -*-===//
//
// The orders of runtime/device/cpu/Argsort.cpp, with as many bits as the element has: ascending, zeros of both signs
// are the same, and all NaN are the same and last; descending is by the complement, and goes by the sign of zeros and
// of NaN, too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/Intrinsics.h"

namespace spmd::cuda {

template <int bits> struct UnsignedOfBits;
template <> struct UnsignedOfBits<8> {
  using Type = uint8_t;
};
template <> struct UnsignedOfBits<16> {
  using Type = uint16_t;
};
template <> struct UnsignedOfBits<32> {
  using Type = uint32_t;
};
template <> struct UnsignedOfBits<64> {
  using Type = uint64_t;
};
template <int bits> using KeyOfBits = typename UnsignedOfBits<bits>::Type;

/// `order` is a SortOrder; `infinity` has the bits of +inf of a float type. kUnsignedKeys alone leaves keys as they
/// are.
template <typename Key> SPMD_DEVICE Key keyOf(Key bits, uint64_t order, Key infinity) {
  constexpr Key kSign = static_cast<Key>(Key(1) << (8 * sizeof(Key) - 1)), kAll = static_cast<Key>(~Key(0));
  bool isTotal = order & kTotalOrder;
  Key key = bits;
  switch (order & kKindOfKeys) {
  case kSignedKeys:
    key = bits ^ kSign;
    break;
  case kBoolKeys:
    key = bits != 0;
    break;
  case kFloatKeys: {
    bool isNegative = bits & kSign;
    Key magnitude = bits & static_cast<Key>(~kSign);
    if (magnitude > infinity)
      key = isTotal && isNegative ? 0 : kAll;
    else if (magnitude == 0 && !isTotal)
      key = kSign;
    else
      key = isNegative ? static_cast<Key>(~bits) : bits | kSign;
    break;
  }
  default:
    break;
  }
  return order & kDescending ? static_cast<Key>(~key) : key;
}

/// Lines of `size` elements along the middle dimension of [outer, size, inner]: element i is at startOf(line) + i *
/// inner.
struct Lines {
  int64_t size, inner;
  SPMD_DEVICE int64_t startOf(int64_t line) const {
    if (inner == 1)
      return line * size;
    Quotient at = divide(line, inner);
    return at.quotient * size * inner + at.remainder;
  }
};

/// Stores position `i` as int32_t or int64_t.
SPMD_DEVICE void storePosition(void *positions, int64_t place, uint32_t i, int64_t bytes) {
  if (bytes == 8)
    static_cast<int64_t *>(positions)[place] = i;
  else
    static_cast<uint32_t *>(positions)[place] = i;
}

} // namespace spmd::cuda
