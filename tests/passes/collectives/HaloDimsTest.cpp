//===- HaloDimsTest.cpp - halos against every element's place -------------===//

#include "passes/collectives/HaloDims.h"

#include "runtime/sharding/Sharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace spmdc {
namespace {

/// A contribution of one device to an element of the sum.
struct Contribution {
  int64_t device, place;
};

/// By the definition of a move without stride: source element e moves to place e * dilation - shift.
std::vector<Contribution> listContributions(int64_t sourceSize, int64_t size, const std::vector<int64_t> &axes,
                                            const std::vector<spmd::DimMove> &moves) {
  std::vector<Contribution> all;
  int64_t devices = 1;
  for (int64_t axis : axes)
    devices *= axis;
  for (int64_t device = 0; device < devices; ++device) {
    std::vector<int64_t> coordinates(axes.size());
    for (int64_t i = static_cast<int64_t>(axes.size()) - 1, rest = device; i >= 0; rest /= axes[i--])
      coordinates[i] = rest % axes[i];
    spmd::ShardRange own = spmd::shardRange(sourceSize, axes, coordinates);
    for (int64_t e = own.start; e < own.start + own.size; ++e)
      for (const spmd::DimMove &move : moves)
        if (int64_t place = e * move.dilation - move.shift;
            place >= std::max<int64_t>(0, move.begin) && place < std::min(size, move.end))
          all.push_back({device, place});
  }
  return all;
}

/// The range of numbers, to be extended one by one.
struct Extent {
  int64_t begin = 0, end = 0;
  bool isEmpty = true;
  void add(int64_t x) {
    begin = isEmpty ? x : std::min(begin, x);
    end = isEmpty ? x + 1 : std::max(end, x + 1);
    isEmpty = false;
  }
};

void check(int64_t sourceSize, int64_t size, const std::vector<int64_t> &axes,
           const std::vector<spmd::DimMove> &moves) {
  std::optional<HaloDim> dim = findHalos(sourceSize, size, axes, moves);
  if (!dim)
    return;
  std::vector<Contribution> all = listContributions(sourceSize, size, axes, moves);
  EXPECT_EQ(dim->shard, spmd::localDimSize(size, axes));
  int64_t low = 0, high = 0;
  std::map<int64_t, Extent> places; // By distance.
  for (auto [device, place] : all) {
    int64_t own = device * dim->shard;
    low = std::max(low, own - place);
    high = std::max(high, place - own - dim->shard + 1);
    if (int64_t distance = place / dim->shard - device; distance != 0)
      places[distance].add(place - own);
  }
  EXPECT_EQ(dim->low, low);
  EXPECT_EQ(dim->high, high);
  ASSERT_EQ(dim->halos.size(), places.size());
  Extent windows;
  std::map<int64_t, Extent> sent;
  for (auto [device, place] : all) {
    int64_t own = device * dim->shard, target = place / dim->shard;
    windows.add(device * dim->getLength() + low + place - own);
    for (const HaloDim::Halo &halo : dim->halos)
      if (halo.distance == target - device) {
        EXPECT_EQ((place - own - halo.begin) % halo.step, 0);
        sent[halo.distance].add(target * halo.getLength() + (place - own - halo.begin) / halo.step);
      }
  }
  EXPECT_EQ(dim->first, windows.begin);
  EXPECT_EQ(dim->last, windows.end);
  for (const HaloDim::Halo &halo : dim->halos) {
    EXPECT_EQ(halo.begin, places[halo.distance].begin);
    EXPECT_EQ(halo.end, places[halo.distance].end);
    EXPECT_EQ(halo.first, sent[halo.distance].begin);
    EXPECT_EQ(halo.last, sent[halo.distance].end);
  }
}

TEST(HaloDims, AgainstEveryElement) {
  unsigned found = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto pick = [&](int64_t least, int64_t most) {
      return least + static_cast<int64_t>(random() % static_cast<unsigned>(most - least + 1));
    };
    std::vector<int64_t> axes = {pick(1, 4)};
    if (random() % 3 == 0)
      axes.push_back(pick(1, 3));
    int64_t dilation = pick(1, 3), sourceSize = pick(1, 20),
            size = std::max<int64_t>(1, sourceSize * dilation + pick(-3, 3));
    std::vector<spmd::DimMove> moves;
    for (int64_t count = pick(1, 3); count > 0; --count) {
      int64_t begin = pick(0, size - 1);
      moves.push_back({pick(-4, 4), 1, random() % 2 ? 0 : begin, size});
      moves.back().dilation = dilation;
    }
    if (listContributions(sourceSize, size, axes, moves).empty())
      continue;
    found += findHalos(sourceSize, size, axes, moves).has_value();
    check(sourceSize, size, axes, moves);
  }
  EXPECT_GT(found, 1500u);
}

// The example of the header: three arrays of 16 elements in shards of 4, moved by -1, 0 and 1.
TEST(HaloDims, AStencil) {
  std::vector<spmd::DimMove> moves = {{-1, 1, 0, 16}, {0, 1, 0, 16}, {1, 1, 0, 16}};
  HaloDim dim = *findHalos(16, 16, {4}, moves);
  EXPECT_EQ(dim.low, 1);
  EXPECT_EQ(dim.high, 1);
  ASSERT_EQ(dim.halos.size(), 2u);
  EXPECT_EQ(dim.halos[0].distance, -1);
  EXPECT_EQ(dim.halos[0].getLength(), 1);
  EXPECT_EQ(dim.halos[1].distance, 1);
}

TEST(HaloDims, WhatHasNoHalos) {
  spmd::DimMove all{0, 1, 0, 7};
  EXPECT_FALSE(findHalos(0, 7, {2}, {all}));
  EXPECT_FALSE(findHalos(7, 0, {2}, {all}));
  // Nested ceilings: 7 = 4 + 3 over 2, and 2 + 2 + 0 + 2 + 1 + 0 over 3, so the fourth shard begins at 4, not at 6.
  EXPECT_FALSE(findHalos(7, 7, {2, 3}, {all}));
  EXPECT_TRUE(findHalos(7, 7, {1}, {all})->halos.empty());
  // Shards of one element that move to 9 other shards.
  std::vector<spmd::DimMove> far;
  for (int64_t shift = 0; shift <= 9; ++shift)
    far.push_back({-shift, 1, 0, 16});
  EXPECT_FALSE(findHalos(16, 16, {16}, far));
  far.pop_back();
  EXPECT_TRUE(findHalos(16, 16, {16}, far));
}

} // namespace
} // namespace spmdc
