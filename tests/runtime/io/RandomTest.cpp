#include "runtime/io/Random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

using namespace spmd;

namespace {

// The test vectors of the Threefry paper's reference code, which jax.random is tested with too.
TEST(Random, threefry_known_answers) {
  using Pair = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(threefry2x32({0, 0}, {0, 0}), Pair(0x6b200159, 0x99ba4efe));
  EXPECT_EQ(threefry2x32({~0u, ~0u}, {~0u, ~0u}), Pair(0x1cb996fc, 0xbb002be7));
  EXPECT_EQ(threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}), Pair(0xc4923a9c, 0x483df7a0));
}

// jax.random.normal(jax.random.key(seed), shape) of JAX 0.10.2 on a CPU, printed exactly; the language promises 2 ulp.
TEST(Random, normal_is_jax_within_two_ulp) {
  constexpr std::array<float, 6> expected = {0x1.9f657ap+0f,  0x1.033bep+1f,  -0x1.bc002ep-2f,
                                             -0x1.420444p-4f, 0x1.68a258p-3f, -0x1.f1b5aep-1f};
  for (size_t i = 0; i < expected.size(); ++i) {
    float value = normalElement(0, i), ulp = std::nextafter(std::fabs(expected[i]), INFINITY) - std::fabs(expected[i]);
    EXPECT_LE(std::fabs(value - expected[i]), 2 * ulp) << i;
  }
  EXPECT_NEAR(normalElement(7, 999), -0.41586294770240784, 1e-7);
}

TEST(Random, normal_has_mean_zero_and_variance_one) {
  double sum = 0, squares = 0;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    double value = normalElement(123, static_cast<uint64_t>(i));
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
}

} // namespace
