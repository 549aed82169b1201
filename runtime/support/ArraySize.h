//===- ArraySize.h - how large an array may be ------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <limits>

namespace spmd {

/// The bytes of an array, of all its devices together, and of all intermediate arrays of a device, at most: more than
/// any machine has, and so few that the sizes of many arrays can be added.
constexpr int64_t kMaxArrayBytes = int64_t(1) << 56;

/// Of numbers that are not negative; the largest number in place of what is larger.
constexpr int64_t addSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}
constexpr int64_t multiplySaturated(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

/// Whether an array of this shape is not too large. A size of 0 counts as 1, so that no size exceeds the limit.
template <typename Shape> constexpr bool isAllowedSize(const Shape &shape, int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t size : shape)
    bytes = multiplySaturated(bytes, size > 0 ? size : 1);
  return bytes <= kMaxArrayBytes;
}

} // namespace spmd
