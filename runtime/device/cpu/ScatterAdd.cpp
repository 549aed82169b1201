//===- ScatterAdd.cpp - adds updates at indices ---------------------------===//
//
// One thread owns a block of the result. It walks all indices and adds the updates that fall into its block, in their
// order: the same bits for any number of threads, and no atomics. Half precision is summed in f32 and rounded once, in
// scratch memory as large as the block.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Library.h"
#include "runtime/support/Elements.h"

#include <algorithm>
#include <type_traits>

namespace spmd {
namespace {

/// Elements of a block of the result, and number of additions that is worth another thread.
constexpr int64_t kBlockElements = 1 << 16, kGrainAdditions = 1 << 14;

struct Sizes {
  int64_t outer, rows, count, inner;
};

/// `target[c] += source[c]`
template <typename T, typename U, typename Widen>
void addRow(T *target, const U *source, int64_t count, const Widen &widen) {
  for (int64_t c = 0; c < count; ++c) {
    if constexpr (std::is_same_v<T, bool>)
      target[c] = target[c] || source[c];
    else if constexpr (std::is_integral_v<T>)
      target[c] = static_cast<T>(static_cast<std::make_unsigned_t<T>>(target[c]) +
                                 static_cast<std::make_unsigned_t<T>>(source[c]));
    else
      target[c] += widen(source[c]);
  }
}

/// Adds all updates of rows [first, last) of line `outer`; `target` is row `first`.
template <typename Index, typename T, typename U, typename Widen>
void addBlock(const Sizes &sizes, bool isAlong, int64_t outer, int64_t first, int64_t last, const Index *indices,
              const U *updates, T *target, const Widen &widen) {
  const U *source = updates + outer * sizes.count * sizes.inner;
  if (!isAlong) {
    for (int64_t m = 0; m < sizes.count; ++m)
      if (indices[m] >= first && indices[m] < last)
        addRow(target + (indices[m] - first) * sizes.inner, source + m * sizes.inner, sizes.inner, widen);
    return;
  }
  const Index *places = indices + outer * sizes.count * sizes.inner;
  for (int64_t m = 0; m < sizes.count; ++m)
    for (int64_t c = 0; c < sizes.inner; ++c) {
      int64_t row = places[m * sizes.inner + c];
      if (row >= first && row < last)
        addRow(target + (row - first) * sizes.inner + c, source + m * sizes.inner + c, 1, widen);
    }
}

/// Splits rows into blocks: enough for the threads, and small enough for a cache (and for the scratch).
template <typename Body>
void forEachBlock(const Sizes &sizes, ParallelFor &parallelFor, bool isHalf, const Body &body) {
  int64_t additions = sizes.outer * sizes.count * sizes.inner;
  int64_t pieces = 1;
  if (isHalf)
    pieces = (sizes.rows * sizes.inner + kBlockElements - 1) / kBlockElements;
  if (sizes.outer < parallelFor.getThreadCount() && additions > kGrainAdditions)
    pieces = std::max<int64_t>(pieces, parallelFor.getThreadCount());
  pieces = std::clamp<int64_t>(pieces, 1, std::max<int64_t>(1, sizes.rows));
  int64_t height = (sizes.rows + pieces - 1) / pieces;
  int64_t grain = std::max<int64_t>(1, kGrainAdditions * sizes.outer * pieces / std::max<int64_t>(1, additions));
  parallelFor.run(sizes.outer * pieces, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t number = begin; number < end; ++number) {
      int64_t first = number % pieces * height, last = std::min(first + height, sizes.rows);
      if (first < last)
        body(number / pieces, first, last);
    }
  });
}

template <typename Index>
void scatterAddAt(const LibraryCall &call, ParallelFor &parallelFor, const Index *indices, const void *updates,
                  void *result) {
  Sizes sizes{call.sizes[0], call.sizes[1], call.sizes[2], call.sizes[3]};
  bool isAlong = call.function == LibraryFunction::ScatterAddAlong;
  if (sizes.outer * sizes.count * sizes.inner == 0)
    return;
  visitElement(call.dtype, [&](auto element) {
    using Stored = typename decltype(element)::Stored;
    using Value = typename decltype(element)::Value;
    constexpr bool isHalf = sizeof(Value) > sizeof(Stored);
    forEachBlock(sizes, parallelFor, isHalf, [&](int64_t outer, int64_t first, int64_t last) {
      int64_t begin = (outer * sizes.rows + first) * sizes.inner;
      if constexpr (isHalf) {
        Stored *target = static_cast<Stored *>(result) + begin;
        std::vector<Value> sums((last - first) * sizes.inner);
        std::transform(target, target + sums.size(), sums.begin(), [=](Stored stored) { return element.load(stored); });
        addBlock(sizes, isAlong, outer, first, last, indices, static_cast<const Stored *>(updates), sums.data(),
                 [=](Stored stored) { return element.load(stored); });
        std::transform(sums.begin(), sums.end(), target, [=](Value value) { return element.store(value); });
      } else {
        addBlock(sizes, isAlong, outer, first, last, indices, static_cast<const Value *>(updates),
                 static_cast<Value *>(result) + begin, [](Value value) { return value; });
      }
    });
  });
}

} // namespace

void scatterAdd(const LibraryCall &call, ParallelFor &parallelFor, const void *indices, const void *updates,
                void *result) {
  visitIndexType(call.indexTypes[0], [&](auto index) {
    scatterAddAt(call, parallelFor, static_cast<const decltype(index) *>(indices), updates, result);
  });
}

} // namespace spmd
