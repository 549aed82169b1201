//===- NarrowTest.cpp - conversions of narrow numbers ---------------------===//
//
// The formulas of the importer over all f16, all codes and random f32, beside the runtime's conversions, which
// ElementFormatTest compares with ml_dtypes.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/SpmdTypes.h"
#include "runtime/support/ElementFormat.h"
#include "runtime/support/Float16.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace spmdc;
using spmd::NarrowFormat;

namespace {

class Narrow : public ::testing::TestWithParam<spmd::ElementFormat> {
protected:
  void SetUp() override { loadDialects(context); }

  Tensor numbers(spmd::DType dtype, size_t count) {
    return Tensor({static_cast<int64_t>(count)}, getElementType(&context, dtype));
  }

  /// The result of a program that converts one array to another type.
  Tensor convert(const Tensor &x, const std::string &from, const std::string &to) {
    std::string size = std::to_string(x.elements.size());
    std::string types = "tensor<" + size + "x" + from + ">", result = "tensor<" + size + "x" + to + ">";
    std::string text = "func.func public @main(%x: " + types + ") -> " + result +
                       " {\n  %0 = stablehlo.convert %x : (" + types + ") -> " + result + "\n  return %0 : " + result +
                       "\n}\n";
    std::string error;
    auto artifact = compileText("convert.mlir", text, /*optimizationLevel=*/2, error);
    EXPECT_EQ(error, "");
    if (!artifact)
      return x;
    auto results = CompiledProgram(artifact).run(context, {x}, Poison::Nan, error);
    EXPECT_EQ(error, "");
    return mlir::succeeded(results) ? results->front() : x;
  }

  /// Every number of a type of 16 bits, rounded to the format.
  void checkAllOf(spmd::DType type, float (*valueOf)(uint16_t bits), const NarrowFormat &format) {
    Tensor wide = numbers(type, 65536);
    for (size_t bits = 0; bits < 65536; ++bits)
      wide.elements[bits] = Scalar::ofFloat(valueOf(static_cast<uint16_t>(bits)));
    Tensor codes = convert(wide, std::string(spmd::dtypeName(type)), std::string(format.name()));
    for (size_t bits = 0; bits < 65536; ++bits) {
      float value = valueOf(static_cast<uint16_t>(bits));
      ASSERT_EQ(codes.elements[bits].i, spmd::encodeNarrow(format, value)) << value;
    }
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

std::string typeName(const NarrowFormat &format) { return std::string(format.name()); }

TEST_P(Narrow, EveryCodeHasItsNumber) {
  const NarrowFormat &format = *spmd::findNarrow(GetParam());
  Tensor codes = numbers(spmd::DType::U8, 256);
  for (int code = 0; code < 256; ++code)
    codes.elements[static_cast<size_t>(code)] = Scalar::ofInt(code);
  Tensor values = convert(codes, typeName(format), "f32");
  for (int code = 0; code < 256; ++code) {
    double expected = spmd::decodeNarrow(format, static_cast<uint8_t>(code));
    double value = values.elements[static_cast<size_t>(code)].f;
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(value)
                                     : value == expected && std::signbit(value) == std::signbit(expected))
        << code << ": " << value << ", not " << expected;
  }
}

TEST_P(Narrow, EveryF16IsRounded) {
  checkAllOf(
      spmd::DType::F16, [](uint16_t bits) -> float { return spmd::f16ToFloat(bits); }, *spmd::findNarrow(GetParam()));
}

TEST_P(Narrow, EveryBf16IsRounded) {
  checkAllOf(
      spmd::DType::BF16, [](uint16_t bits) -> float { return spmd::bf16ToFloat(bits); }, *spmd::findNarrow(GetParam()));
}

TEST_P(Narrow, AnyF32IsRounded) {
  const NarrowFormat &format = *spmd::findNarrow(GetParam());
  std::mt19937 random(5);
  std::vector<float> values;
  // Any bits, and numbers of the range; each with those whose last bits make or break a tie.
  for (int i = 0; i < 30000; ++i) {
    auto bits = static_cast<uint32_t>(random());
    float scaled =
        std::ldexp(std::bit_cast<float>((bits & 0x807fffff) | 0x3f800000), static_cast<int>(random() % 40) - 22);
    uint32_t tie = (std::bit_cast<uint32_t>(scaled) & 0xfff80000) | 0x00080000;
    for (uint32_t each : {bits, std::bit_cast<uint32_t>(scaled), tie, tie - 1, tie + 1})
      values.push_back(std::bit_cast<float>(each));
  }
  Tensor floats = numbers(spmd::DType::F32, values.size());
  for (size_t i = 0; i < values.size(); ++i)
    floats.elements[i] = Scalar::ofFloat(values[i]);
  Tensor codes = convert(floats, "f32", typeName(format));
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(codes.elements[i].i, spmd::encodeNarrow(format, values[i])) << values[i];
}

std::vector<spmd::ElementFormat> floatFormats() {
  std::vector<spmd::ElementFormat> formats;
  for (const NarrowFormat &format : spmd::kNarrowFormats)
    if (format.isFloat())
      formats.push_back(format.format);
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats, Narrow, ::testing::ValuesIn(floatFormats()),
                         [](const auto &info) { return typeName(*spmd::findNarrow(info.param)); });

} // namespace
