#include "runtime/support/ElementFormat.h"
#include "runtime/support/Float16.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace spmd;

namespace {

/// Numbers and rounded codes of all formats, by ml_dtypes (make_data.py).
const nlohmann::json &tables() {
  static const nlohmann::json all =
      nlohmann::json::parse(std::ifstream(SPMDC_SOURCE_DIR "/tests/runtime/support/data/narrow.json"));
  return all;
}

bool isSame(float x, float y) {
  return std::isnan(x) ? std::isnan(y) : std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
}

TEST(ElementFormat, EveryCodeHasItsNumber) {
  for (const NarrowFormat &format : kNarrowFormats) {
    if (!format.isFloat())
      continue;
    const nlohmann::json &values = tables()[std::string(format.name())]["values"];
    for (int code = 0; code < 1 << format.bits; ++code) {
      auto expected = std::bit_cast<float>(values[code].get<uint32_t>());
      float value = decodeNarrow(format, static_cast<uint8_t>(code));
      EXPECT_TRUE(isSame(value, expected)) << format.name() << " " << code << ": " << value << ", not " << expected;
      if (!std::isnan(value))
        EXPECT_EQ(encodeNarrow(format, value), code) << format.name();
    }
  }
}

TEST(ElementFormat, EveryF16IsRoundedAsByMlDtypes) {
  for (const NarrowFormat &format : kNarrowFormats) {
    if (!format.isFloat())
      continue;
    const nlohmann::json &rounded = tables()[std::string(format.name())]["rounded"];
    for (size_t i = 0; i < rounded.size(); ++i) {
      int end = i + 1 < rounded.size() ? rounded[i + 1][0].get<int>() : 65536;
      for (int bits = rounded[i][0]; bits < end; ++bits) {
        float value = f16ToFloat(static_cast<uint16_t>(bits));
        if (std::isnan(value) && format.special == SpecialCodes::Finite)
          continue; // ml_dtypes has -0 or 0, by the sign of NaN.
        ASSERT_EQ(encodeNarrow(format, value), rounded[i][1].get<int>()) << format.name() << " of " << value;
      }
    }
  }
}

TEST(ElementFormat, NumbersBeyondF16AreRounded) {
  const NarrowFormat &format = *findNarrow(ElementFormat::F8E4M3FN);
  EXPECT_EQ(encodeNarrow(format, 464.0f), 0x7e) << "a tie goes to the even number, 448";
  EXPECT_EQ(encodeNarrow(format, std::nextafter(464.0f, 500.0f)), 0x7f);
  EXPECT_EQ(encodeNarrow(format, 3e38f), 0x7f);
  EXPECT_EQ(encodeNarrow(format, -1e-44f), 0x80);
  EXPECT_EQ(encodeNarrow(*findNarrow(ElementFormat::F8E5M2), 3e38f), 0x7c);
  EXPECT_EQ(encodeNarrow(*findNarrow(ElementFormat::F8E5M2FNUZ), -1e-44f), 0);
}

TEST(ElementFormat, NumbersWithoutACodeAreNaNOrTheLargest) {
  const NarrowFormat &exponent = *findNarrow(ElementFormat::F8E8M0FNU), &four = *findNarrow(ElementFormat::F4E2M1FN);
  for (float value : {0.0f, -0.0f, -1.0f, INFINITY, -INFINITY, NAN, 3e38f})
    EXPECT_EQ(encodeNarrow(exponent, value), 255) << value;
  EXPECT_EQ(encodeNarrow(exponent, 1e-45f), 0);
  EXPECT_EQ(encodeNarrow(exponent, std::ldexp(1.5f, -127)), 1) << "a tie goes to the larger one";
  EXPECT_EQ(encodeNarrow(exponent, std::ldexp(1.5f, 126)), 254);
  EXPECT_EQ(encodeNarrow(four, INFINITY), 7);
  EXPECT_EQ(encodeNarrow(four, -1e30f), 15);
  EXPECT_EQ(encodeNarrow(four, NAN), 8);
  EXPECT_EQ(decodeNarrow(four, 0xf3), 1.5f) << "a byte may have any high bits";
}

TEST(ElementFormat, IntegersHaveTheirLowBits) {
  const NarrowFormat &i4 = *findNarrow(ElementFormat::I4), &u2 = *findNarrow(ElementFormat::U2);
  EXPECT_EQ(wrapNarrow(i4, 7), 7);
  EXPECT_EQ(wrapNarrow(i4, 8), 0xf8);
  EXPECT_EQ(wrapNarrow(i4, -9), 7);
  EXPECT_EQ(wrapNarrow(u2, -1), 3);
  EXPECT_EQ(decodeNarrow(i4, 0x0f), -1) << "a byte may have any high bits";
  EXPECT_EQ(decodeNarrow(i4, 0xf8), -8);
  EXPECT_EQ(decodeNarrow(u2, 0xf6), 2);
}

TEST(ElementFormat, NamesTellFormatsApart) {
  EXPECT_EQ(elementName(DType::F32, ElementFormat::Plain), "f32");
  EXPECT_EQ(elementName(DType::F64, ElementFormat::Complex), "c128");
  EXPECT_EQ(elementName(DType::U8, ElementFormat::F8E5M2), "f8E5M2");
  EXPECT_EQ(elementName(DType::I8, ElementFormat::I4), "i4");
  EXPECT_EQ(findNarrow(ElementFormat::Complex), nullptr);
  for (const NarrowFormat &format : kNarrowFormats)
    EXPECT_EQ(byteSize(format.storage), 1);
}

} // namespace
