//===- Bf16ArithmeticTest.cpp - every bf16 in compiled arithmetic ---------===//
//
// Sums, differences, products and quotients of all 65,536 bf16 with numbers of every kind. Each result is that of
// float, rounded to bf16 with ties to even; a NaN is a NaN, whatever its bits are. The rounding expected here is in
// doubles.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/CompiledRun.h"
#include "tests/programs/support/ExactPrograms.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace spmdc;

namespace {

float ofBits(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// The nearest bf16, in the default mode of rounding, which decides ties by evenness.
float nearest(float value) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent = std::max(std::ilogb(value), -126);
  double unit = std::ldexp(1.0, exponent - 7);
  double rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) >= 0x1p128 ? std::copysign(INFINITY, value) : static_cast<float>(rounded);
}

// Zeros, ones, subnormal numbers, the largest ones, infinities, numbers between, and NaNs: a quiet one without further
// bits, one with all bits, and signalling ones.
constexpr uint16_t kOperands[] = {0x0000, 0x8000, 0x3f80, 0xbf81, 0x0001, 0x807f, 0x0080, 0x7f7f, 0xff7f,
                                  0x7f80, 0xff80, 0x40ab, 0x3eaa, 0x7fc0, 0xffff, 0x7f81, 0xffbf};

class Bf16Arithmetic : protected ExactPrograms, public ::testing::TestWithParam<unsigned> {};

TEST_P(Bf16Arithmetic, RoundsLikeFloat) {
  constexpr int64_t kAll = 65536, kCount = std::size(kOperands);
  std::string n = std::to_string(kCount), error;
  // The last result goes through several operations: what is rounded in registers must be what memory would hold.
  auto artifact = compileText("arithmetic.spmd",
                              "fn main(p: u16[65536], q: u16[" + n +
                                  ", 1]) {\n"
                                  "  let x = bitcast(p, bf16);\n  let y = bitcast(q, bf16);\n"
                                  "  let sum = x + y;\n  let product = x * y;\n"
                                  "  return (cast(sum, f32), cast(x - y, f32), cast(product, f32), cast(x / y, f32),\n"
                                  "          bitcast(sum * y, u16), cast(is_nan(product - x), f32));\n}\n",
                              GetParam(), error);
  ASSERT_TRUE(artifact) << error;
  mlir::Type u16 = getElementType(&context, spmd::DType::U16);
  Tensor p({kAll}, u16), q({kCount, 1}, u16);
  for (int64_t i = 0; i < kAll; ++i)
    p.elements[i] = Scalar::ofInt(i);
  for (int64_t i = 0; i < kCount; ++i)
    q.elements[i] = Scalar::ofInt(kOperands[i]);
  auto results = CompiledProgram(artifact).run(context, {p, q}, Poison::Nan, error);
  ASSERT_TRUE(succeeded(results)) << error;
  for (int64_t i = 0; i < kAll * kCount; ++i) {
    float x = ofBits(i % kAll), y = ofBits(kOperands[i / kAll]);
    auto check = [&](float expected, float actual, const char *what) {
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(actual)
                                       : actual == expected && std::signbit(actual) == std::signbit(expected))
          << x << what << y << " is " << actual << ", expected " << expected;
    };
    auto float32 = [&](int number) { return static_cast<float>((*results)[number].elements[i].f); };
    float sum = nearest(x + y), product = nearest(x * y);
    check(sum, float32(0), " + ");
    check(nearest(x - y), float32(1), " - ");
    check(product, float32(2), " * ");
    check(nearest(x / y), float32(3), " / ");
    check(nearest(sum * y), ofBits((*results)[4].elements[i].i), " (+, then *) ");
    check(std::isnan(nearest(product - x)), float32(5), " (*, then -, is NaN) ");
    if (HasFatalFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimized, Bf16Arithmetic, ::testing::Values(0u, 3u));

} // namespace
