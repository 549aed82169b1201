//===- ByteHash.h - a quick fingerprint of values ---------------*- C++ -*-===//
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace spmd {

/// Tells different bytes apart, but not against malice; the same on all machines of this byte order. Made for about the
/// speed of memory: four independent lanes of a multiplication and a rotation each.
inline uint64_t hashBytes(const void *bytes, size_t size) {
  constexpr uint64_t prime = 0x9e3779b97f4a7c15;
  const char *at = static_cast<const char *>(bytes);
  uint64_t lanes[4] = {size ^ prime, size + prime, ~size, size * prime};
  auto mix = [&](uint64_t &lane, uint64_t word) { lane = std::rotl((lane ^ word) * prime, 29); };
  for (; size >= 32; size -= 32, at += 32)
    for (int i = 0; i < 4; ++i) {
      uint64_t word;
      std::memcpy(&word, at + 8 * i, 8);
      mix(lanes[i], word);
    }
  for (int i = 0; size > 0; ++i) {
    uint64_t word = 0;
    size_t count = std::min<size_t>(size, 8);
    std::memcpy(&word, at, count);
    mix(lanes[i], word);
    at += count;
    size -= count;
  }
  uint64_t result = 0;
  for (uint64_t lane : lanes)
    mix(result, lane ^ (lane >> 32));
  return result ^ (result >> 31);
}

/// Of all bytes, or of as many as `limit` in blocks of a page that are spread evenly.
inline uint64_t hashSample(const void *bytes, size_t size, size_t limit) {
  constexpr size_t block = 4096;
  if (size <= limit)
    return hashBytes(bytes, size);
  uint64_t result = size;
  size_t count = limit / block;
  for (size_t i = 0; i < count; ++i) {
    uint64_t parts[2] = {result, hashBytes(static_cast<const char *>(bytes) + (size - block) * i / (count - 1), block)};
    result = hashBytes(parts, sizeof parts);
  }
  return result;
}

} // namespace spmd
