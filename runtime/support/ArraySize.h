//===- ArraySize.h - limits of array sizes ----------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <limits>

namespace spmd {

/// Largest number of bytes of an array, of its shards together, and of all intermediate arrays of a device: more than
/// any machine has, and small enough that the sizes of many arrays can be added.
constexpr int64_t kMaxArrayBytes = int64_t(1) << 56;

/// Adds non-negative numbers; returns the largest number on overflow.
constexpr int64_t addSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}
constexpr int64_t multiplySaturated(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

/// Whether an array of this shape is within the limit. A size of 0 counts as 1, so that no single size exceeds the
/// limit.
template <typename Shape> constexpr bool isAllowedSize(const Shape &shape, int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t size : shape)
    bytes = multiplySaturated(bytes, size > 0 ? size : 1);
  return bytes <= kMaxArrayBytes;
}

} // namespace spmd
