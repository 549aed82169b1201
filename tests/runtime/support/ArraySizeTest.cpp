//===- ArraySizeTest.cpp - limits of array sizes --------------------------===//

#include "runtime/support/ArraySize.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

using Shape = std::vector<int64_t>;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(ArraySize, Saturated) {
  EXPECT_EQ(spmd::addSaturated(2, 3), 5);
  EXPECT_EQ(spmd::addSaturated(kMost, 0), kMost);
  EXPECT_EQ(spmd::addSaturated(kMost, 1), kMost);
  EXPECT_EQ(spmd::multiplySaturated(2, 3), 6);
  EXPECT_EQ(spmd::multiplySaturated(int64_t(1) << 32, int64_t(1) << 32), kMost);
}

// Exact to the byte, also for products of sizes that wrap around.
TEST(ArraySize, Allowed) {
  EXPECT_TRUE(spmd::isAllowedSize(Shape{}, 8));
  EXPECT_TRUE(spmd::isAllowedSize(Shape{int64_t(1) << 54}, 4));
  EXPECT_FALSE(spmd::isAllowedSize(Shape{(int64_t(1) << 54) + 1}, 4));
  EXPECT_FALSE(spmd::isAllowedSize(Shape{kMost}, 1));
  EXPECT_FALSE(spmd::isAllowedSize(Shape{(int64_t(1) << 62) + 1}, 4));
  EXPECT_FALSE(spmd::isAllowedSize(Shape{int64_t(1) << 32, int64_t(1) << 32}, 1));
}

// Sizes can also be added if the array has no elements.
TEST(ArraySize, Empty) {
  EXPECT_TRUE(spmd::isAllowedSize(Shape{0, int64_t(1) << 54}, 4));
  EXPECT_FALSE(spmd::isAllowedSize(Shape{0, kMost}, 4));
}

} // namespace
