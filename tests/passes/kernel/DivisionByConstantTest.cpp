//===- DivisionByConstantTest.cpp - quotients without a division ----------===//
//
// The processor's division is the second source.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/DivisionByConstant.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace spmdc;

namespace {

template <typename Float> std::optional<ReciprocalPair> pairOf(Float divisor) {
  return findReciprocalPair(llvm::APFloat(divisor));
}

template <typename Float> Float quotient(Float x, const ReciprocalPair &pair) {
  return std::fma(x, static_cast<Float>(pair.high), x * static_cast<Float>(pair.low));
}

template <typename Float> void expectSame(Float x, Float divisor, const ReciprocalPair &pair) {
  Float expected = x / divisor, got = quotient(x, pair);
  if (std::isnan(expected))
    ASSERT_TRUE(std::isnan(got)) << x << " / " << divisor;
  else
    ASSERT_TRUE(got == expected && std::signbit(got) == std::signbit(expected))
        << x << " / " << divisor << " = " << expected << ", not " << got;
}

template <typename Float> void expectSpecialValues(Float divisor, const ReciprocalPair &pair) {
  using Limits = std::numeric_limits<Float>;
  for (Float x : {Float(0), Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Float(1)})
    for (Float signedX : {x, -x})
      expectSame(signedX, divisor, pair);
  // Subnormal numbers, and numbers with subnormal quotients: off by one unit at most.
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000; ++i) {
    Float x =
        std::ldexp(std::uniform_real_distribution<Float>(1, 2)(random), Limits::min_exponent - int(random() % 70));
    Float expected = x / divisor, got = quotient(x, pair);
    Float unit = std::max(Limits::denorm_min(), std::nextafter(expected, Limits::infinity()) - expected);
    ASSERT_LE(std::abs(got - expected), unit) << x << " / " << divisor;
  }
}

// All numbers from 1 to 2: the others differ by a power of two.
TEST(DivisionByConstant, IsTheDivisionForAllSingles) {
  std::mt19937 random(1);
  std::vector<float> divisors = {3, 5, 7, 9, 10, 100, 1000, 768, 0.1f, 0.9f, 0.001f, 0.999f, -3, 1e-8f, 12345.678f};
  for (int i = 0; i < 10; ++i)
    divisors.push_back(std::uniform_real_distribution<float>(1, 2)(random));
  for (float divisor : divisors) {
    std::optional<ReciprocalPair> pair = pairOf(divisor);
    if (!pair)
      continue;
    for (uint32_t mantissa = 0; mantissa < 1u << 23; ++mantissa)
      expectSame(std::ldexp(static_cast<float>(mantissa | 1u << 23), -23), divisor, *pair);
    expectSpecialValues(divisor, *pair);
  }
}

TEST(DivisionByConstant, IsTheDivisionForDoubles) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 300; ++i) {
    double divisor = i < 20 ? i + 0.1 : std::ldexp(std::uniform_real_distribution<double>(-2, 2)(random), i % 100 - 50);
    std::optional<ReciprocalPair> pair = pairOf(divisor);
    if (!pair)
      continue;
    for (int j = 0; j < 3000; ++j) {
      expectSame(std::uniform_real_distribution<double>(1, 2)(random), divisor, *pair);
      // Quotients near the middle between two numbers.
      double w = std::nextafter(std::uniform_real_distribution<double>(1, 2)(random), 2);
      expectSame(std::fma(w, divisor, divisor * std::numeric_limits<double>::epsilon() / 2), divisor, *pair);
    }
    expectSpecialValues(divisor, *pair);
  }
}

TEST(DivisionByConstant, IsFoundForMostDivisors) {
  std::mt19937 random(4);
  int found = 0, count = 4000;
  for (int i = 0; i < count; ++i)
    found += pairOf(std::uniform_real_distribution<float>(1, 2)(random)).has_value();
  EXPECT_GE(found, count * 9 / 10);
  for (float divisor : {3.0f, 10.0f, 1000.0f, 0.1f, 0.9f, 0.001f})
    EXPECT_TRUE(pairOf(divisor)) << divisor;
}

TEST(DivisionByConstant, IsRefusedWhereAPairWouldNotDo) {
  for (float divisor : {0.0f, -0.0f, 1.0f, 2.0f, -0.25f, INFINITY, NAN, 1e30f, 1e-30f, 1e-40f})
    EXPECT_FALSE(pairOf(divisor)) << divisor;
  for (double divisor : {0.0, 4.0, 1e200, 1e-200, double(INFINITY)})
    EXPECT_FALSE(pairOf(divisor)) << divisor;
  EXPECT_FALSE(findReciprocalPair(llvm::APFloat(llvm::APFloat::BFloat(), "3")));
}

} // namespace
