//===- ScatterAdd.cpp - adds updates at indices ---------------------------===//
//
// One thread owns a block of the result. It walks all indices and adds the updates that fall into its block, in their
// order: the same bits for any number of threads, and no atomics. Threads share the columns of a result, never its
// rows: a thread mispredicts whether the next index is in its rows, which costs more than a short row's additions (4
// million numbers added into 1000: 10 ms by one thread, 57 ms by two that share the rows). Half precision is summed in
// f32 and rounded once, in scratch memory as large as the block, and so that the scratch stays small, blocks have some
// rows.
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
/// The columns of a block are a multiple of these: a cache line of f32.
constexpr int64_t kLeastColumns = 16;

struct Sizes {
  int64_t outer, rows, count, inner;
};

/// Rows [first, last) and columns [left, right) of line `outer`.
struct Block {
  int64_t outer, first, last, left, right;

  int64_t columns() const { return right - left; }
  int64_t elements() const { return (last - first) * columns(); }
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

/// Adds all updates of the block, whose first element is `target`; its rows are `stride` elements apart.
template <typename Index, typename T, typename U, typename Widen>
void addBlock(const Sizes &sizes, bool isAlong, const Block &block, const Index *indices, const U *updates, T *target,
              int64_t stride, const Widen &widen) {
  int64_t begin = block.outer * sizes.count * sizes.inner + block.left, columns = block.columns();
  const U *source = updates + begin;
  if (!isAlong) {
    for (int64_t m = 0; m < sizes.count; ++m)
      if (indices[m] >= block.first && indices[m] < block.last)
        addRow(target + (indices[m] - block.first) * stride, source + m * sizes.inner, columns, widen);
    return;
  }
  const Index *places = indices + begin;
  for (int64_t m = 0; m < sizes.count; ++m)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t row = places[m * sizes.inner + c];
      if (row >= block.first && row < block.last)
        addRow(target + (row - block.first) * stride + c, source + m * sizes.inner + c, 1, widen);
    }
}

/// Splits the result into blocks: enough for the threads if rows are long, and small enough for the scratch.
template <typename Body>
void forEachBlock(const Sizes &sizes, ParallelFor &parallelFor, bool isHalf, const Body &body) {
  int64_t additions = sizes.outer * sizes.count * sizes.inner;
  int64_t groups = 1; // Of rows.
  if (isHalf)
    groups = (sizes.rows * sizes.inner + kBlockElements - 1) / kBlockElements;
  groups = std::clamp<int64_t>(groups, 1, std::max<int64_t>(1, sizes.rows));
  int64_t height = (sizes.rows + groups - 1) / groups, width = sizes.inner;
  if (int64_t threads = parallelFor.getThreadCount(); sizes.outer * groups < threads && additions > kGrainAdditions)
    width = (sizes.inner + threads - 1) / threads;
  width = (width + kLeastColumns - 1) / kLeastColumns * kLeastColumns;
  int64_t strips = (sizes.inner + width - 1) / width, blocks = sizes.outer * groups * strips;
  int64_t grain = std::max<int64_t>(1, kGrainAdditions * blocks / std::max<int64_t>(1, additions));
  parallelFor.run(blocks, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t number = begin; number < end; ++number) {
      int64_t first = number / strips % groups * height, left = number % strips * width;
      Block block{number / strips / groups, first, std::min(first + height, sizes.rows), left,
                  std::min(left + width, sizes.inner)};
      if (block.first < block.last)
        body(block);
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
    forEachBlock(sizes, parallelFor, isHalf, [&](const Block &block) {
      int64_t begin = (block.outer * sizes.rows + block.first) * sizes.inner + block.left, columns = block.columns();
      if constexpr (isHalf) {
        Stored *target = static_cast<Stored *>(result) + begin;
        auto load = [=](Stored stored) { return element.load(stored); };
        std::vector<Value> sums(block.elements());
        for (int64_t row = 0; row < block.last - block.first; ++row)
          std::transform(target + row * sizes.inner, target + row * sizes.inner + columns, sums.data() + row * columns,
                         load);
        addBlock(sizes, isAlong, block, indices, static_cast<const Stored *>(updates), sums.data(), columns, load);
        for (int64_t row = 0; row < block.last - block.first; ++row)
          std::transform(sums.data() + row * columns, sums.data() + (row + 1) * columns, target + row * sizes.inner,
                         [=](Value value) { return element.store(value); });
      } else {
        addBlock(sizes, isAlong, block, indices, static_cast<const Value *>(updates),
                 static_cast<Value *>(result) + begin, sizes.inner, [](Value value) { return value; });
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
