//===- ComplexBitsTest.cpp - bits and orders of complex numbers -----------===//
//
// JAX exports neither bitcasts of complex numbers to other types nor their maxima and roots. The expected values are
// the bytes in memory, and those of the standard library.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/JaxValues.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

using namespace spmdc;

namespace {

/// Values as JSON holds them, which has no -0, NaN or infinity.
template <typename T> nlohmann::json arrayOf(const char *dtype, std::vector<int64_t> shape, const std::vector<T> &of) {
  nlohmann::json values = nlohmann::json::array();
  for (T value : of) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value))
        values.push_back(std::signbit(value) ? "-nan" : "nan");
      else if (std::isinf(value))
        values.push_back(value > 0 ? "inf" : "-inf");
      else if (value == 0 && std::signbit(value))
        values.push_back("-0.0");
      else
        values.push_back(value);
    } else {
      values.push_back(value);
    }
  }
  return {{"dtype", dtype}, {"shape", shape}, {"values", values}};
}

/// Numbers that have no NaN in any type of the same bytes, so that their values tell their bits.
const std::vector<double> kNumbers = {1.5, -2.25, 3e10, -0.0, 1e-10, 7.0, -1e5, 123.456, 0.0, 2.0, -3.5, 1e20};

template <typename To, typename From> std::vector<To> bytesAs(const std::vector<From> &values) {
  std::vector<To> result(values.size() * sizeof(From) / sizeof(To));
  std::memcpy(result.data(), values.data(), values.size() * sizeof(From));
  return result;
}

std::string bitcast(const std::string &from, const nlohmann::json &argument, const std::string &to,
                    const nlohmann::json &result) {
  std::string text = "func.func @main(%x: tensor<" + from + ">) -> tensor<" + to +
                     "> {\n%0 = stablehlo.bitcast_convert %x : (tensor<" + from + ">) -> tensor<" + to +
                     ">\nreturn %0 : tensor<" + to + ">\n}";
  return runBesideJax("bits.mlir", text, {{"arguments", {argument}}, {"results", {result}}, {"tolerance", 0}});
}

TEST(ComplexBits, ToOtherTypesAndBack) {
  std::vector<float> singles(kNumbers.begin(), kNumbers.end());
  nlohmann::json complex = arrayOf("f32", {3, 2, 2}, singles);
  struct Other {
    std::string type;
    nlohmann::json array;
  };
  const Other others[] = {
      {"3x2x2xf32", arrayOf("f32", {3, 2, 2}, singles)},
      {"3x2xi64", arrayOf("i64", {3, 2}, bytesAs<int64_t>(singles))},
      {"3x2x2xui32", arrayOf("u32", {3, 2, 2}, bytesAs<uint32_t>(singles))},
      {"3x2x4xi16", arrayOf("i16", {3, 2, 4}, bytesAs<int16_t>(singles))},
      {"3x2x8xui8", arrayOf("u8", {3, 2, 8}, bytesAs<uint8_t>(singles))},
      {"3x2xcomplex<f32>", complex},
  };
  for (const auto &[type, array] : others) {
    SCOPED_TRACE(type);
    EXPECT_EQ(bitcast("3x2xcomplex<f32>", complex, type, array), "");
    EXPECT_EQ(bitcast(type, array, "3x2xcomplex<f32>", complex), "");
  }
}

TEST(ComplexBits, OfDoublePrecision) {
  nlohmann::json complex = arrayOf("f64", {6, 2}, kNumbers),
                 words = arrayOf("u32", {6, 4}, bytesAs<uint32_t>(kNumbers));
  EXPECT_EQ(bitcast("6xcomplex<f64>", complex, "6x4xui32", words), "");
  EXPECT_EQ(bitcast("6x4xui32", words, "6xcomplex<f64>", complex), "");
  EXPECT_EQ(bitcast("6xcomplex<f64>", complex, "6x2xi64", arrayOf("i64", {6, 2}, bytesAs<int64_t>(kNumbers))), "");
  // Each part of 8 bytes is a complex number of two floats: the low half is the real part.
  std::vector<double> sums;
  for (auto [low, high] : {std::pair{1.5f, -2.0f}, {3.0f, 0.25f}})
    sums.push_back(std::bit_cast<double>(std::array{low, high}));
  EXPECT_EQ(bitcast("1xcomplex<f64>", arrayOf("f64", {1, 2}, sums), "1x2xcomplex<f32>",
                    arrayOf<float>("f32", {1, 2, 2}, {1.5f, -2.0f, 3.0f, 0.25f})),
            "");
}

TEST(ComplexBits, OfNoElements) {
  EXPECT_EQ(
      bitcast("0x3xcomplex<f32>", arrayOf<float>("f32", {0, 3, 2}, {}), "0x3xi64", arrayOf<int64_t>("i64", {0, 3}, {})),
      "");
}

/// All pairs of these numbers. With NaN on either side the order says nothing: the right one.
TEST(ComplexOrder, OfRealPartsFirst) {
  const float values[] = {-INFINITY, -1, -0.0f, 0, 2, INFINITY, NAN};
  std::vector<std::complex<float>> numbers;
  for (float re : values)
    for (float im : values)
      numbers.emplace_back(re, im);
  std::vector<float> left, right, larger, smaller;
  auto push = [](std::vector<float> &to, std::complex<float> z) { to.insert(to.end(), {z.real(), z.imag()}); };
  for (std::complex<float> x : numbers)
    for (std::complex<float> y : numbers) {
      bool isEqual = x.real() == y.real();
      push(left, x);
      push(right, y);
      push(larger, (isEqual ? x.imag() > y.imag() : x.real() > y.real()) ? x : y);
      push(smaller, (isEqual ? x.imag() < y.imag() : x.real() < y.real()) ? x : y);
    }
  auto count = static_cast<int64_t>(numbers.size() * numbers.size());
  std::string type = "tensor<" + std::to_string(count) + "xcomplex<f32>>";
  std::string text = "func.func @main(%x: " + type + ", %y: " + type + ") -> (" + type + ", " + type +
                     ") {\n%0 = stablehlo.maximum %x, %y : " + type + "\n%1 = stablehlo.minimum %x, %y : " + type +
                     "\nreturn %0, %1 : " + type + ", " + type + "\n}";
  auto array = [&](const std::vector<float> &parts) { return arrayOf("f32", {count, 2}, parts); };
  EXPECT_EQ(
      runBesideJax(
          "order.mlir", text,
          {{"arguments", {array(left), array(right)}}, {"results", {array(larger), array(smaller)}}, {"tolerance", 0}}),
      "");
}

/// A reduction by a maximum is a tree of it.
TEST(ComplexOrder, LargestOfAll) {
  std::vector<float> parts;
  for (int i = 0; i < 14; ++i)
    parts.insert(parts.end(), {static_cast<float>(i * 5 % 7 % 4), static_cast<float>(i * 3 % 11)});
  std::pair<float, float> largest{-INFINITY, 0};
  for (size_t i = 0; i < parts.size(); i += 2)
    largest = std::max(largest, {parts[i], parts[i + 1]});
  std::string text = R"(func.func @main(%x: tensor<14xcomplex<f32>>) -> tensor<complex<f32>> {
  %low = stablehlo.constant dense<(0xFF800000, 0.0)> : tensor<complex<f32>>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<14xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  return %0 : tensor<complex<f32>>
})";
  EXPECT_EQ(runBesideJax("largest.mlir", text,
                         {{"arguments", {arrayOf("f32", {14, 2}, parts)}},
                          {"results", {arrayOf<float>("f32", {2}, {largest.first, largest.second})}},
                          {"tolerance", 0}}),
            "");
}

TEST(ComplexRoots, CubeRoot) {
  std::vector<float> parts, roots;
  for (std::complex<float> z : std::vector<std::complex<float>>{
           {8, 0}, {-8, 0}, {0, 0}, {3, 4}, {0, -27}, {1e30f, -1e30f}, {-1, -1e-6f}, {1e-20f, 1e-20f}}) {
    std::complex<double> root = std::polar(std::cbrt(std::hypot(double(z.real()), double(z.imag()))),
                                           std::atan2(double(z.imag()), double(z.real())) / 3);
    parts.insert(parts.end(), {z.real(), z.imag()});
    roots.insert(roots.end(), {static_cast<float>(root.real()), static_cast<float>(root.imag())});
  }
  std::string type = "tensor<8xcomplex<f32>>";
  std::string text = "func.func @main(%x: " + type + ") -> " + type + " {\n%0 = stablehlo.cbrt %x : " + type +
                     "\nreturn %0 : " + type + "\n}";
  EXPECT_EQ(runBesideJax("root.mlir", text,
                         {{"arguments", {arrayOf("f32", {8, 2}, parts)}},
                          {"results", {arrayOf("f32", {8, 2}, roots)}},
                          {"tolerance", 1e-6}}),
            "");
}

} // namespace
