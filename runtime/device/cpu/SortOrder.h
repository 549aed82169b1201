//===- SortOrder.h - elements as integers of the same order -----*- C++ -*-===//
//
// A sort compares integers. The key of an element is an unsigned integer of its width whose order is the requested one;
// an entry is a key above a position, so that entries are all different and a sort of them is stable. In ascending
// order, zeros of both signs are equal, and all NaN are equal and last. Descending order uses the complement of the
// key, and also distinguishes the signs of zeros and of NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Elements.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace spmd {

template <size_t bytes>
using UnsignedOfSize =
    std::conditional_t<bytes == 1, uint8_t,
                       std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

/// The exponent's bits of a format of floats, which are those of infinity.
template <typename Element> constexpr auto infinityBits() {
  if constexpr (std::is_same_v<Element, PlainElement<double>>)
    return uint64_t(0x7ff) << 52;
  else if constexpr (std::is_same_v<Element, PlainElement<float>>)
    return uint32_t(0x7f800000);
  else if constexpr (std::is_same_v<Element, Bf16Element>)
    return uint16_t(0x7f80);
  else
    return uint16_t(0x7c00);
}

template <typename Element, bool descends> struct SortOrder {
  using Stored = typename Element::Stored;
  using Key = UnsignedOfSize<sizeof(Stored)>;

  static Key keyOf(Stored stored) {
    Key key = ascendingKeyOf(stored);
    return descends ? static_cast<Key>(~key) : key;
  }

private:
  static constexpr Key sign = static_cast<Key>(Key(1) << (8 * sizeof(Key) - 1)), largest = static_cast<Key>(~Key(0));

  static Key ascendingKeyOf(Stored stored) {
    using Value = typename Element::Value;
    if constexpr (std::is_same_v<Value, bool>) {
      return Element::load(stored);
    } else if constexpr (std::is_floating_point_v<Value>) {
      Key bits = std::bit_cast<Key>(stored), magnitude = bits & static_cast<Key>(~sign);
      bool isNegative = (bits & sign) != 0;
      Key key = static_cast<Key>(isNegative ? ~bits : bits | sign);
      if (!descends && magnitude == 0)
        key = sign;
      return magnitude > infinityBits<Element>() ? (descends && isNegative ? Key(0) : largest) : key;
    } else {
      return static_cast<Key>(static_cast<Key>(stored) ^ (std::is_signed_v<Stored> ? sign : Key(0)));
    }
  }
};

/// A key of up to 32 bits with a position of up to 32 bits; or any key with any position.
using NarrowEntry = uint64_t;
__extension__ using WideEntry = unsigned __int128;

template <typename Entry> constexpr int positionBits = 4 * sizeof(Entry);

template <typename Entry> Entry makeEntry(uint64_t key, int64_t position) {
  return static_cast<Entry>(key) << positionBits<Entry> | static_cast<Entry>(position);
}

template <typename Entry> int64_t positionOf(Entry entry) {
  return static_cast<int64_t>(entry & ((Entry(1) << positionBits<Entry>)-1));
}

} // namespace spmd
