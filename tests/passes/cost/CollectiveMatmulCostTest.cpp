//===- CollectiveMatmulCostTest.cpp - rings against numbers worked out by hand --------===//

#include "passes/cost/CollectiveMatmulCost.h"

#include <gtest/gtest.h>

namespace spmdc {
namespace {

constexpr double us = 1e-6, ms = 1e-3;

/// 10 us and 1 GB/s; a transfer can overlap completely with computation.
CollectiveMatmulWork workOf(int64_t devices, double chunkBytes, double chunkProduct) {
  CollectiveMatmulWork work;
  work.devices = devices;
  work.rates = {10, 1e9, 1};
  work.chunkBytes = chunkBytes;
  work.chunkProduct = chunkProduct;
  work.fullProduct = static_cast<double>(devices) * chunkProduct;
  return work;
}

double total(const CollectiveMatmulWork &work, RingDirections way) { return collectiveMatmulTime(work, way).total(); }

TEST(RingCost, TransfersRunUnderLongerProducts) {
  // A step with one chunk of 1 MB takes 1.01 ms, with two chunks 2.01 ms; one collective of three chunks takes 3.01 ms.
  CollectiveMatmulWork work = workOf(4, 1e6, 1.5 * ms);
  EXPECT_DOUBLE_EQ(total(work, RingDirections::None), 6 * ms + 3.01 * ms);
  EXPECT_DOUBLE_EQ(total(work, RingDirections::One), 6 * ms);
  // A transfer of two chunks takes longer than the first product.
  EXPECT_DOUBLE_EQ(total(work, RingDirections::Both), 6 * ms + 0.51 * ms);
  EXPECT_EQ(chooseRingDirections(work), RingDirections::One);
}

TEST(RingCost, BothWaysHalveTheLatencies) {
  // A step takes 20 us with one chunk and 30 us with two; a product takes 12 us.
  CollectiveMatmulWork work = workOf(5, 1e4, 12 * us);
  EXPECT_NEAR(total(work, RingDirections::None), (60 + 50) * us, 1e-12);
  EXPECT_NEAR(total(work, RingDirections::One), (60 + 4 * 8) * us, 1e-12);
  EXPECT_NEAR(total(work, RingDirections::Both), (60 + 18 + 6) * us, 1e-12);
  EXPECT_EQ(chooseRingDirections(work), RingDirections::Both);
  // With six devices, one more chunk arrives during the last two products: 20 us under 24 us.
  work = workOf(6, 1e4, 12 * us);
  EXPECT_NEAR(total(work, RingDirections::Both), (72 + 18 + 6 + 0) * us, 1e-12);
  EXPECT_EQ(collectiveMatmulTime(work, RingDirections::Both).computation, 72 * us);
}

TEST(RingCost, LatenciesThatHideNothingDoNotPay) {
  CollectiveMatmulWork work = workOf(4, 0, 2 * us);
  EXPECT_NEAR(total(work, RingDirections::None), 18 * us, 1e-12);
  EXPECT_NEAR(total(work, RingDirections::One), (8 + 3 * 8) * us, 1e-12);
  EXPECT_EQ(chooseRingDirections(work), RingDirections::None);
}

TEST(RingCost, WhatDoesNotOverlapIsExposed) {
  CollectiveMatmulWork work = workOf(2, 1e6, 1.5 * ms);
  work.rates.overlap = 0.5;
  EXPECT_NEAR(total(work, RingDirections::None), 4.01 * ms, 1e-12);
  EXPECT_NEAR(total(work, RingDirections::One), 3.505 * ms, 1e-12);
  EXPECT_EQ(chooseRingDirections(work), RingDirections::One);
  // By default nothing overlaps, so a ring is not faster.
  work.rates.overlap = LinkRates().overlap;
  EXPECT_NEAR(total(work, RingDirections::One), 4.01 * ms, 1e-12);
  EXPECT_EQ(chooseRingDirections(work), RingDirections::None);
  for (int64_t devices = 2; devices < 100; ++devices) {
    CollectiveMatmulWork many = workOf(devices, 1e6, 1.5 * ms);
    many.rates.overlap = 0;
    EXPECT_EQ(chooseRingDirections(many), RingDirections::None) << devices;
  }
}

TEST(RingCost, CopiesAndOtherProductsCountAgainstIt) {
  CollectiveMatmulWork work = workOf(4, 1e6, 1.5 * ms);
  work.once = 1 * ms;
  work.chunkProduct = 2 * ms; // It includes half a millisecond of copies.
  EXPECT_NEAR(total(work, RingDirections::One), 9 * ms, 1e-12);
  EXPECT_EQ(chooseRingDirections(work), RingDirections::One);
  // All but 0.01 ms of the collective overlaps with other products already.
  work.otherProducts = 3 * ms;
  EXPECT_NEAR(total(work, RingDirections::None), 6.01 * ms, 1e-12);
  EXPECT_EQ(chooseRingDirections(work), RingDirections::None);
}

TEST(RingCost, AScatterAddsWhatArrives) {
  CollectiveMatmulWork work = workOf(4, 1e6, 1.5 * ms);
  work.isScatter = true;
  work.addition = 0.1 * ms;
  // Three steps, one addition after each: the transfer before the last product waits for none.
  EXPECT_NEAR(total(work, RingDirections::One), 6.3 * ms, 1e-12);
  EXPECT_NEAR(collectiveMatmulTime(work, RingDirections::One).exposed, 0, 1e-12);
  EXPECT_NEAR(total(work, RingDirections::Both), 6.3 * ms + 0.51 * ms, 1e-12);
  EXPECT_NEAR(total(work, RingDirections::None), 9.01 * ms, 1e-12);
}

TEST(RingCost, TwoDevicesHaveOneWay) {
  EXPECT_EQ(chooseRingDirections(workOf(2, 1e4, 12 * us)), RingDirections::One);
  EXPECT_EQ(chooseRingDirections(workOf(1, 1e4, 12 * us)), RingDirections::None);
}

} // namespace
} // namespace spmdc
