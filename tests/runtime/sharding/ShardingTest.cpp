// Owned ranges: nested ceilings, short and empty shards, sub-axes, groups.

#include "runtime/sharding/Sharding.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

const MeshShape kMesh{{{"a", 4}, {"b", 2}}};

// 10 rows over a=4: shards of ceil(10/4) = 3, the last one short.
TEST(Sharding, LastShardIsShort) {
  EXPECT_EQ(shardRange(10, {4}, {0}), (ShardRange{0, 3}));
  EXPECT_EQ(shardRange(10, {4}, {3}), (ShardRange{9, 1}));
}

// 5 rows over 4: shards of 2, and the last device owns nothing.
TEST(Sharding, LaterShardsMayBeEmpty) {
  EXPECT_EQ(shardRange(5, {4}, {2}), (ShardRange{4, 1}));
  EXPECT_EQ(shardRange(5, {4}, {3}).size, 0);
}

// The rule of LANGUAGE.md: gathering the minor axis gives exactly the shards of the major axis alone.
TEST(Sharding, GatheringTheMinorAxisGivesTheShardsOfTheMajorOne) {
  for (int64_t n = 0; n <= 40; ++n)
    for (int64_t i = 0; i < 4; ++i) {
      ShardRange whole = shardRange(n, {4}, {i});
      int64_t next = whole.start, total = 0;
      for (int64_t j = 0; j < 3; ++j) {
        ShardRange piece = shardRange(n, {4, 3}, {i, j});
        if (piece.size)
          EXPECT_EQ(piece.start, next) << "n=" << n;
        EXPECT_LE(piece.size, localDimSize(n, {4, 3}));
        next += piece.size;
        total += piece.size;
      }
      EXPECT_EQ(total, whole.size) << "n=" << n << " i=" << i;
    }
}

TEST(Sharding, SubAxisCoordinates) {
  MeshShape mesh{{{"a", 8}}};
  AxisRef major{"a", 1, 2}, minor{"a", 2, 4};
  EXPECT_EQ(major.coordinateIn(mesh, {5}), 1);
  EXPECT_EQ(minor.coordinateIn(mesh, {5}), 1);
  EXPECT_EQ(minor.coordinateIn(mesh, {7}), 3);
  EXPECT_EQ(minor.str(), "a:(2)4");
}

TEST(Sharding, GroupsAreOrderedByTheirAxes) {
  EXPECT_EQ(groupOf(kMesh, {{"b"}}, 5), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(groupOf(kMesh, {{"a"}}, 5), (std::vector<int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(groupOf(kMesh, {{"b"}, {"a"}}, 0), (std::vector<int64_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  MeshShape mesh{{{"a", 8}}};
  EXPECT_EQ(groupOf(mesh, {{"a", 1, 2}}, 5), (std::vector<int64_t>{1, 5}));
}

TEST(Sharding, PrintsAsTheLanguageWritesIt) {
  EXPECT_EQ((Sharding{{{{"a"}}, {}}, {}}).str(), "P(a, _)");
  EXPECT_EQ((Sharding{{{}, {{"a"}, {"b"}}}, {}}).str(), "P(_, (a, b))");
  EXPECT_EQ((Sharding{{{}, {}}, {}}).str(), "P()");
  EXPECT_EQ((Sharding{{{}, {}}, {{"b"}}}).str(), "P() unreduced(b)");
}

} // namespace
} // namespace spmd
