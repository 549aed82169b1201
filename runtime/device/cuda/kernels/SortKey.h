//===- SortKey.h - elements as unsigned keys --------------------*- C++ -*-===//
//
// The orders of runtime/device/cpu/Sort.cpp, in as many bits as the element has. In ascending order, zeros of both
// signs are equal, and all NaN are equal and last. Descending order uses the complement, and also distinguishes the
// signs of zeros and of NaN.
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

template <typename Key> SPMD_DEVICE Key keyOfFloat(Key bits, bool isTotal, Key infinity) {
  constexpr Key kSign = static_cast<Key>(Key(1) << (8 * sizeof(Key) - 1));
  bool isNegative = bits & kSign;
  Key magnitude = bits & static_cast<Key>(~kSign);
  Key key = isNegative ? static_cast<Key>(~bits) : bits | kSign;
  if (magnitude == 0 && !isTotal)
    key = kSign;
  if (magnitude > infinity)
    key = isTotal && isNegative ? Key(0) : static_cast<Key>(~Key(0));
  return key;
}

/// Converts the bits of elements to keys. `order` is a SortOrder; `infinity` has the bits of +inf of a float type.
/// kUnsignedKeys alone leaves them unchanged. The kind is tested once for all elements: a branch for each would
/// serialise their loads.
template <int kItems, typename Key> SPMD_DEVICE void makeKeys(Key (&keys)[kItems], uint64_t order, Key infinity) {
  constexpr Key kSign = static_cast<Key>(Key(1) << (8 * sizeof(Key) - 1));
  uint64_t kind = order & kKindOfKeys;
  if (kind == kSignedKeys) {
#pragma unroll
    for (Key &key : keys)
      key = key ^ kSign;
  } else if (kind == kBoolKeys) {
#pragma unroll
    for (Key &key : keys)
      key = key != 0;
  } else if (kind == kFloatKeys) {
#pragma unroll
    for (Key &key : keys)
      key = keyOfFloat(key, order & kTotalOrder, infinity);
  }
  if (order & kDescending) {
#pragma unroll
    for (Key &key : keys)
      key = static_cast<Key>(~key);
  }
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
