//===- Sort.cpp - sorts along a dimension ---------------------------------===//
//
// Maps every element to an unsigned key whose order is the requested one, and sorts pairs of key and position, which
// makes the sort stable. The result has the positions, or the elements there with all their bits. In ascending order,
// zeros of both signs are equal, and all NaN are equal and last. Descending order uses the complement of the key, and
// also distinguishes the signs of zeros and of NaN.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Library.h"
#include "runtime/support/Elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace spmd {
namespace {

template <typename Index> struct KeyedPosition {
  uint64_t key;
  Index position;
  bool operator<(const KeyedPosition &other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};

/// Maps a float to an unsigned integer with the same order.
uint64_t keyOfFloat(double value, bool isTotal) {
  if (std::isnan(value))
    return isTotal && std::signbit(value) ? 0 : ~uint64_t(0);
  auto bits = std::bit_cast<uint64_t>(value == 0 && !isTotal ? 0.0 : value);
  return bits >> 63 ? ~bits : bits | uint64_t(1) << 63;
}

template <typename T> uint64_t keyOf(T value, bool isTotal) {
  if constexpr (std::is_floating_point_v<T>)
    return keyOfFloat(value, isTotal);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ uint64_t(1) << 63;
  else
    return value;
}

/// `read(i)` returns the key of element i of the operand; `write(i, first, position)` stores, as element i of the
/// result, what is at `position` of the line whose first element is `first`.
template <typename Index, typename Read, typename Write>
void sortLines(const LibraryCall &call, ParallelFor &parallelFor, Read read, Write write) {
  int64_t size = call.sizes[1], inner = call.sizes[2];
  uint64_t flip = isDescending(call.function) ? ~uint64_t(0) : 0;
  using Line = std::vector<KeyedPosition<Index>>;
  std::vector<Line> scratch(parallelFor.getThreadCount(), Line(size));
  int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, size));
  parallelFor.run(call.sizes[0] * inner, grain, [&](int64_t begin, int64_t end, int thread) {
    Line &line = scratch[thread];
    for (int64_t number = begin; number < end; ++number) {
      int64_t first = number / inner * size * inner + number % inner;
      for (int64_t i = 0; i < size; ++i)
        line[i] = {read(first + i * inner) ^ flip, static_cast<Index>(i)};
      std::sort(line.begin(), line.end());
      for (int64_t i = 0; i < size; ++i)
        write(first + i * inner, first, line[i].position);
    }
  });
}

} // namespace

void sort(const LibraryCall &call, ParallelFor &parallelFor, const void *operand, void *result) {
  bool isTotal = isDescending(call.function);
  visitElement(call.dtype, [&](auto element) {
    using Stored = typename decltype(element)::Stored;
    auto *elements = static_cast<const Stored *>(operand);
    auto read = [=](int64_t i) { return keyOf(element.load(elements[i]), isTotal); };
    if (returnsSortedValues(call.function)) {
      auto *values = static_cast<Stored *>(result);
      int64_t inner = call.sizes[2];
      auto write = [=](int64_t i, int64_t first, int64_t position) { values[i] = elements[first + position * inner]; };
      if (call.sizes[1] <= INT32_MAX)
        return sortLines<int32_t>(call, parallelFor, read, write);
      return sortLines<int64_t>(call, parallelFor, read, write);
    }
    visitIndexType(call.indexTypes[0], [&](auto index) {
      using Index = decltype(index);
      auto *positions = static_cast<Index *>(result);
      sortLines<Index>(call, parallelFor, read, [=](int64_t i, int64_t, Index position) { positions[i] = position; });
    });
  });
}

} // namespace spmd
