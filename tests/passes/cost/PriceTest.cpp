//===- PriceTest.cpp - the order of costs and prices ----------------------===//

#include "passes/cost/Price.h"

#include <gtest/gtest.h>

#include <vector>

namespace spmdc {
namespace {

TEST(Price, BytesDecideBetweenAlikeTimes) {
  constexpr double kAlike = Price::kAlike;
  Price slow{100, 10}, fast{100 * (1 - kAlike / 2), 20}, muchFaster{100 * (1 - 2 * kAlike), 20};
  EXPECT_TRUE(slow.isBetterThan(fast));
  EXPECT_FALSE(fast.isBetterThan(slow));
  EXPECT_TRUE(muchFaster.isBetterThan(slow));
  EXPECT_FALSE(slow.isBetterThan(muchFaster));
  // Equal bytes: the time decides, however little it is.
  EXPECT_TRUE((Price{99.999, 10}.isBetterThan(slow)));
  EXPECT_FALSE(slow.isBetterThan(slow));
  EXPECT_FALSE((Price{}.isBetterThan(Price{})));
  EXPECT_TRUE((Price{0, 1}.isBetterThan(Price{1, 0})));
}

// Of two prices at most one is better, and one of them is unless they are equal.
TEST(Price, TwoPricesHaveOneOrder) {
  std::vector<Price> prices;
  for (double seconds : {0.0, 1.0, 1.01, 1.02, 1.05, 2.0})
    for (double bytes : {0.0, 1.0, 5.0})
      prices.push_back({seconds, bytes});
  for (const Price &x : prices)
    for (const Price &y : prices) {
      bool areEqual = x.seconds == y.seconds && x.linkBytes == y.linkBytes;
      EXPECT_EQ(x.isBetterThan(y) + y.isBetterThan(x), areEqual ? 0 : 1);
    }
}

TEST(Price, Arithmetic) {
  Price price{2, 3};
  price += Price{1, 4} * 3;
  EXPECT_EQ(price.seconds, 2 + 3 * 1);
  EXPECT_EQ(price.linkBytes, 3 + 3 * 4);
  price -= Price{5, 15};
  EXPECT_EQ(price.seconds, 0);
  EXPECT_EQ(price.linkBytes, 0);
}

TEST(CollectiveCost, BytesThenExchangesThenStepsThenMemory) {
  std::vector<CollectiveCost> ascending(6);
  ascending[1].peakBytes = 1;
  ascending[2].steps = 1;
  ascending[3].exchanges = 1;
  ascending[4] = {.linkBytes = 1, .peakBytes = 1};
  ascending[5] = {.linkBytes = 1, .exchanges = 0, .steps = 2};
  for (size_t i = 0; i < ascending.size(); ++i)
    for (size_t j = 0; j < ascending.size(); ++j)
      EXPECT_EQ(ascending[i] < ascending[j], i < j) << i << " " << j;
}

TEST(CollectiveCost, SumsAndMultiples) {
  CollectiveCost one{.wireBytes = 1, .linkBytes = 2, .exchanges = 1, .steps = 1, .peakBytes = 8, .latencySeconds = 1};
  CollectiveCost other{.wireBytes = 4, .linkBytes = 8, .exchanges = 0, .steps = 2, .peakBytes = 5, .latencySeconds = 2};
  CollectiveCost both = one + other;
  EXPECT_EQ(both.wireBytes, 1 + 4);
  EXPECT_EQ(both.linkBytes, 2 + 8);
  EXPECT_EQ(both.exchanges, 1);
  EXPECT_EQ(both.steps, 1 + 2);
  EXPECT_EQ(both.peakBytes, 8); // The largest of one step.
  EXPECT_EQ(both.latencySeconds, 3);
  CollectiveCost half = both.scaledBy(0.5);
  EXPECT_EQ(half.linkBytes, 5);
  EXPECT_EQ(half.latencySeconds, 1.5);
  EXPECT_EQ(half.steps, both.steps);
  EXPECT_EQ(half.peakBytes, both.peakBytes);
}

TEST(CollectiveCost, ExchangesOfNothingAreNone) {
  CollectiveCost cost;
  cost.addExchange(0);
  EXPECT_EQ(cost.steps, 0);
  cost.addExchange(12);
  EXPECT_EQ(cost.steps, 1);
  EXPECT_EQ(cost.exchanges, 1);
  EXPECT_EQ(cost.wireBytes, 12);
  EXPECT_EQ(cost.linkBytes, 12);
}

TEST(CollectiveCost, LessInBothIsLessInOneAndMoreInNone) {
  auto cost = [](double bytes, int64_t exchanges) {
    return CollectiveCost{.linkBytes = bytes, .exchanges = exchanges};
  };
  EXPECT_TRUE(cost(1, 1).isLessInBoth(cost(2, 1)));
  EXPECT_TRUE(cost(2, 0).isLessInBoth(cost(2, 1)));
  EXPECT_FALSE(cost(1, 2).isLessInBoth(cost(2, 1)));
  EXPECT_FALSE(cost(3, 0).isLessInBoth(cost(2, 1)));
  EXPECT_FALSE(cost(2, 1).isLessInBoth(cost(2, 1)));
}

} // namespace
} // namespace spmdc
