//===- WindowDimsTest.cpp - windows against every element -----------------===//

#include "passes/exchange/WindowDims.h"

#include <gtest/gtest.h>

#include <random>

namespace spmdc {
namespace {

int64_t pick(std::mt19937 &random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<unsigned>(most - least + 1));
}

ShardedDim shardedOver(int64_t size, const std::vector<int64_t> &axes) {
  return {size, spmd::localDimSize(size, axes), listShardRanges(size, axes)};
}

/// The windows of a view whose element i reads the elements step * i + taps[k] of an array.
WindowDim makeStencil(int64_t size, const std::vector<int64_t> &axes, int64_t step, int64_t first, int64_t last) {
  WindowDim dim;
  dim.step = step;
  dim.result = shardedOver(size, axes);
  for (const spmd::ShardRange &shard : dim.result.shards)
    dim.ranges.push_back(shard.size == 0 ? WindowDim::Range()
                                         : WindowDim::Range{shard.start * step + first,
                                                            (shard.start + shard.size - 1) * step + last + 1});
  return dim;
}

/// The element of the array at each position of the concatenated windows, by the formulas of DimMoves.h; -1 for none.
std::vector<int64_t> evaluate(const spmd::DimMove &move, const WindowDim &dim) {
  std::vector<int64_t> elements(dim.getNumShards() * dim.getLength(), -1);
  for (int64_t i = move.begin; i < move.end; ++i) {
    int64_t window = i / dim.getLength(), position = i % dim.getLength();
    elements[i] = move.length == 0 ? move.shift + i * move.stride
                                   : move.shift + dim.result.shards[window].start * move.step + position * move.stride;
  }
  return elements;
}

/// Every element that a shard reads is in its window, at the place of its distance from the window's begin.
void check(const WindowDim &dim) {
  std::vector<int64_t> elements = evaluate(dim.getMove(), dim);
  bool isFirstUsed = false, isLastUsed = false;
  for (int64_t shard = 0; shard < dim.getNumShards(); ++shard) {
    const WindowDim::Range &range = dim.ranges[shard];
    for (int64_t e = range.begin; e < range.end; e += dim.stride) {
      int64_t position = (e - dim.getFirst() - dim.getOffset(shard)) / dim.stride;
      ASSERT_GE(position, 0);
      ASSERT_LT(position, dim.getLength());
      EXPECT_EQ(elements[shard * dim.getLength() + position], e);
      isFirstUsed |= position == 0;
      // A short shard's window is shorter by what the shard lacks.
      int64_t lacking = (dim.result.shard - dim.result.shards[shard].size) * dim.step / dim.stride;
      isLastUsed |= position + lacking == dim.getLength() - 1;
    }
  }
  EXPECT_TRUE(isFirstUsed);
  EXPECT_TRUE(isLastUsed);
}

TEST(WindowDims, ShardsCoverADimensionOnce) {
  for (int64_t size = 0; size < 20; ++size)
    for (const std::vector<int64_t> &axes :
         std::vector<std::vector<int64_t>>{{}, {1}, {4}, {2, 3}, {3, 2}, {2, 1, 2}, {7}}) {
      std::vector<spmd::ShardRange> shards = listShardRanges(size, axes);
      size_t count = 1;
      for (int64_t axis : axes)
        count *= static_cast<size_t>(axis);
      EXPECT_EQ(shards.size(), count);
      int64_t next = 0;
      for (const spmd::ShardRange &shard : shards)
        if (shard.size > 0) {
          EXPECT_EQ(shard.start, next);
          next += shard.size;
        }
      EXPECT_EQ(next, size);
    }
}

TEST(WindowDims, StencilsOfAllSizes) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<int64_t> axes = {pick(random, 1, 5)};
    if (random() % 4 == 0)
      axes.push_back(2);
    int64_t first = pick(random, -3, 2);
    check(makeStencil(pick(random, 1, 20), axes, pick(random, 1, 3), first, first + pick(random, 0, 4)));
  }
}

// The example of Windows.h: shards of 4 with one element from either side.
TEST(WindowDims, OneElementFromEitherSide) {
  WindowDim dim = makeStencil(16, {4}, 1, -1, 1);
  EXPECT_EQ(dim.getFirst(), -1);
  EXPECT_EQ(dim.getLength(), 1 + 4 + 1);
  EXPECT_EQ(dim.getOffset(2), 8);
  // Elements that windows of shard size and stride 4 have are adjacent: a move without windows.
  EXPECT_EQ(makeStencil(16, {4}, 1, 0, 0).getMove().length, 0);
  EXPECT_EQ(makeStencil(16, {4}, 1, 0, 1).getMove().length, 5);
}

// Windows that take others contain the elements of both.
TEST(WindowDims, UnitedWindowsContainBoth) {
  unsigned united = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<int64_t> axes = {pick(random, 1, 5)};
    int64_t step = pick(random, 1, 3), first = pick(random, -3, 3), second = pick(random, -3, 3);
    int64_t size = pick(random, 1, 20);
    WindowDim dim = makeStencil(size, axes, step, first, first + pick(random, 0, 3));
    WindowDim other =
        makeStencil(std::max<int64_t>(1, size - pick(random, 0, 1)), axes, step, second, second + pick(random, 0, 3));
    if (!dim.canMerge(other))
      continue;
    ++united;
    WindowDim both = dim;
    both.add(other);
    check(both);
    for (int64_t shard = 0; shard < both.getNumShards(); ++shard)
      for (const WindowDim *part : {&dim, &other}) {
        const WindowDim::Range &range = part->ranges[shard];
        for (int64_t e = range.begin; e < range.end; e += part->stride) {
          EXPECT_LE(both.ranges[shard].begin, e);
          EXPECT_LT(e, both.ranges[shard].end);
          EXPECT_EQ((e - both.ranges[shard].begin) % both.stride, 0);
        }
      }
  }
  EXPECT_GT(united, 500u);
  // Shards at other distances.
  EXPECT_FALSE(makeStencil(16, {4}, 1, 0, 1).canMerge(makeStencil(8, {4}, 1, 0, 1)));
  EXPECT_FALSE(makeStencil(16, {4}, 1, 0, 1).canMerge(makeStencil(16, {2}, 1, 0, 1)));
}

} // namespace
} // namespace spmdc
