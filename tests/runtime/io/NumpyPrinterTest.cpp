#include "runtime/io/NumpyPrinter.h"

#include "runtime/artifact/Sha256.h"
#include "runtime/io/FloatText.h"
#include "runtime/support/File.h"
#include "tests/runtime/io/IoTestSupport.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

using namespace spmd;
using namespace spmd::testing_io;

namespace {

/// Takes values from the front of print_cases.bin.
class CaseReader {
public:
  explicit CaseReader(std::string_view bytes) : bytes(bytes) {}
  std::string_view take(size_t size) {
    std::string_view part = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return part;
  }
  template <typename T> T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

private:
  std::string_view bytes;
};

// Scalars, alignment, exponents, NaN, wrapping, summaries, empty arrays: the text that NumPy 2 printed.
TEST(NumpyPrinter, prints_what_numpy_prints) {
  MappedFile file(dataFile("print_cases.bin"));
  CaseReader reader(file.bytes());
  auto count = reader.number<uint32_t>();
  ASSERT_GT(count, 60u);
  for (uint32_t i = 0; i < count; ++i) {
    std::string name(reader.take(4));
    std::optional<DType> dtype = parseDType(name.substr(0, name.find('\0')));
    ASSERT_TRUE(dtype);
    std::vector<int64_t> shape(reader.number<uint32_t>());
    for (int64_t &size : shape)
      size = reader.number<int64_t>();
    std::string raw(reader.take(reader.number<uint32_t>()));
    std::string expected(reader.take(reader.number<uint32_t>()));
    EXPECT_EQ(numpyText(*dtype, shape, raw.data()), expected) << "case " << i << ", " << name;
  }
}

TEST(NumpyPrinter, narrow_numbers) {
  std::vector<uint8_t> codes = {0x38, 0xc2, 0x7f, 0x01};
  EXPECT_EQ(numpyText(DType::U8, {3}, codes.data(), ElementFormat::F8E4M3FN), "[ 1.  -2.5  nan]");
  EXPECT_EQ(numpyText(DType::U8, {}, &codes[3], ElementFormat::F8E4M3FN), "0.001953125");
  std::vector<uint8_t> integers = {0x08, 0x07}; // The high bits have no effect.
  EXPECT_EQ(numpyText(DType::I8, {2}, integers.data(), ElementFormat::I4), "[-8  7]");
}

TEST(NumpyPrinter, bf16_and_keys) {
  std::vector<uint16_t> values = {floatToBf16(1), floatToBf16(2.5f), floatToBf16(-0.1f)};
  EXPECT_EQ(numpyText(DType::BF16, {3}, values.data()), "[ 1.   2.5 -0.1]");
  EXPECT_EQ(numpyText(DType::BF16, {}, &values[1]), "2.5");
  std::vector<uint32_t> keys = {0, 42, 7, 1000};
  EXPECT_EQ(numpyText(DType::Key, {2}, keys.data()), "[[   0   42]\n [   7 1000]]");
}

std::string digestOf(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += (text.empty() ? "" : "\n") + line;
  return toHex(sha256({text}));
}

// The digests are those of make_data.py: str() of the same NumPy scalars, one per line.
TEST(FloatText, every_f16_as_numpy) {
  std::vector<std::string> lines;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    if (double value = f16ToFloat(static_cast<uint16_t>(bits)); std::isfinite(value))
      lines.push_back(scalarText(value, DType::F16));
  EXPECT_EQ(lines.size(), 63488u);
  EXPECT_EQ(digestOf(lines), "75e7e1802ccff22850f03a30b8ca80e7052dbe4f373c09a8e54efc4acd89a1fd");
}

TEST(FloatText, twenty_thousand_f32_and_f64_as_numpy) {
  std::vector<std::string> narrow, wide;
  for (uint64_t i = 0; i < 20000; ++i) {
    auto value = std::bit_cast<float>(static_cast<uint32_t>(i * 2654435761u));
    if (std::isfinite(value))
      narrow.push_back(scalarText(value, DType::F32));
    auto wideValue = std::bit_cast<double>(i * 11400714819323198485ull);
    if (std::isfinite(wideValue))
      wide.push_back(scalarText(wideValue, DType::F64));
  }
  EXPECT_EQ(digestOf(narrow), "2d8fdbc51c33f0082e088719e2dbc903104c824bb948b94079f2bfb9373a2e37");
  EXPECT_EQ(digestOf(wide), "5ce6d321f9dd108d0769519fd6645fa21481f91ca9fb58b1fe11e37618ae217e");
}

// Every bf16 reads back as itself, and conversions are exact both ways.
TEST(FloatText, every_bf16_reads_back) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = bf16ToFloat(static_cast<uint16_t>(bits));
    if (!std::isfinite(value))
      continue;
    ASSERT_EQ(floatToBf16(value), bits);
    std::string text = scalarText(value, DType::BF16);
    ASSERT_EQ(floatToBf16(std::strtof(text.c_str(), nullptr)), bits) << text;
    ASSERT_LE(text.size(), 10u) << text;
  }
}

TEST(Float16, rounds_to_nearest_even) {
  for (uint32_t bits = 0; bits < 65536; ++bits)
    if (float value = f16ToFloat(static_cast<uint16_t>(bits)); !std::isnan(value))
      ASSERT_EQ(floatToF16(value), bits);
  EXPECT_EQ(floatToF16(65519.996f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToF16(0x1p-25f), 0);
  EXPECT_EQ(floatToF16(0x1.8p-25f), 1);
  EXPECT_EQ(floatToF16(0x1.8p-24f), 2);
  EXPECT_EQ(floatToF16(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(floatToF16(1 + 0x1.8p-10f), 0x3c02);
  EXPECT_EQ(floatToBf16(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(floatToBf16(1 + 0x1.8p-7f), 0x3f82);
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(NAN))));
  EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(NAN))));
}

} // namespace
