//===- ExchangePricesTest.cpp - prices of elements that move --------------===//
//
// Links and memory move 1 byte a second. Bytes are counted element by element: those that a device needs and lacks.
//
//===----------------------------------------------------------------------===//

#include "passes/strategy/ExchangePrices.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class ExchangePricesTest : public ParsedFunction {
protected:
  ExchangePricesTest() {
    model.link = {0, 1, 0};
    model.memoryPerSecond = 1;
  }
  void start(Operation *op) {
    planner.emplace(mesh(), model);
    available.emplace(*planner);
    prices.emplace(*planner, *available, windowsOf, cast<ShardingRuleOpInterface>(op));
  }

  static const Windows *noWindows(Operation *) { return nullptr; }

  WindowsOf windowsOf = noWindows;
  CostModel model;
  std::optional<ReshardPlanner> planner;
  std::optional<AvailableShardings> available;
  std::optional<ExchangePrices> prices;
};

const Price kAnyPrice{1e9, 1e9};

// Element i of the result is element i + 1: of each of 4 shards of 4, the last one comes from the next device.
TEST_F(ExchangePricesTest, AShiftedSlice) {
  parse("a=4", {"f32[17@a]"}, "%0 = array.slice %x0 [1] to [17] step [1] : <f32[17@a]> -> <f32[16@a]>");
  start(get<SliceOp>());
  std::optional<Price> price = prices->ofMoves(kAnyPrice);
  ASSERT_TRUE(price);
  double missing = 0;
  for (int64_t device = 0; device < 4; ++device) {
    spmd::ShardRange has = spmd::shardRange(17, {4}, {device}), needs = spmd::shardRange(16, {4}, {device});
    for (int64_t i = needs.start; i < needs.start + needs.size; ++i)
      missing += i + 1 < has.start || i + 1 >= has.start + has.size;
  }
  EXPECT_EQ(price->linkBytes, 4 * missing);
  // The time of the device's average share of the bytes, and of writing its shard of 4 elements.
  EXPECT_DOUBLE_EQ(price->seconds, 4 * missing / 4 + 4 * 4);
  EXPECT_FALSE(prices->ofWindow());
  Value from;
  EXPECT_FALSE(prices->ofReshape(kAnyPrice, from));
}

TEST_F(ExchangePricesTest, LocalMovesAndOtherOperations) {
  parse("a=4", {"f32[16@a, 6@_]", "f32[16@_] unreduced(a)"},
        "%0 = array.slice %x0 [0, 1] to [16, 3] step [1, 1] : <f32[16@a, 6@_]> -> <f32[16@a, 2@_]>\n"
        "%1 = array.exp %x0 : <f32[16@a, 6@_]>\n"
        "%2 = array.slice %x1 [0] to [8] step [1] : <f32[16@_] unreduced(a)> -> <f32[8@_] unreduced(a)>");
  // Nothing is sent, so the slice by its rule is as good.
  start(get<SliceOp>(0));
  EXPECT_FALSE(prices->ofMoves(Price{1, 0}));
  EXPECT_EQ(prices->ofMoves(kAnyPrice)->linkBytes, 0);
  start(get<ExpOp>());
  EXPECT_FALSE(prices->ofMoves(kAnyPrice));
  // Partial sums are not exchanged.
  start(get<SliceOp>(1));
  EXPECT_FALSE(prices->ofMoves(kAnyPrice));
}

// Two parts: both are written, and the result is chosen from them.
TEST_F(ExchangePricesTest, AConcatenation) {
  parse("a=2", {"f32[4@a]", "f32[4@a]"},
        "%0 = array.concatenate %x0, %x1 dim 0 : !spmd.array<f32[4@a]>, !spmd.array<f32[4@a]> -> <f32[8@a]>");
  start(get<ConcatenateOp>());
  std::optional<Price> price = prices->ofMoves(kAnyPrice);
  ASSERT_TRUE(price);
  // The first device lacks half of the first part, the second one half of the second part.
  EXPECT_EQ(price->linkBytes, 2 * (2 * 4));
  EXPECT_DOUBLE_EQ(price->seconds, 2 * (2 * 4) / 2 + (2 + 1) * (4 * 4));
}

// f32[3072@a] as f32[3, 1024@a] (ReshapeExchange.h).
TEST_F(ExchangePricesTest, AReshapeWithoutCommonFactors) {
  parse("a=4", {"f32[3072@a]"}, "%0 = array.reshape %x0 : <f32[3072@a]> -> <f32[3@_, 1024@a]>");
  start(get<ReshapeOp>());
  Value from;
  std::optional<Price> price = prices->ofReshape(kAnyPrice, from);
  ASSERT_TRUE(price);
  EXPECT_EQ(from, argument(0));
  double missing = 0;
  for (int64_t device = 0; device < 4; ++device)
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t i = row * 1024 + 256 * device; i < row * 1024 + 256 * (device + 1); ++i)
        missing += i / 768 != device;
  EXPECT_EQ(price->linkBytes, 4 * missing);
  // Nothing better than sending nothing.
  EXPECT_FALSE(prices->ofReshape(Price{1, 0}, from));
}

} // namespace
} // namespace spmdc
