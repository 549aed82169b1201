//===- ConvolutionLayoutsTest.cpp - arrays and kernels in any layout ------===//
//
// A convolution means the same in every layout: each is compared with a loop over batch, positions, taps and channels.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>

#include <map>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;

namespace {

/// Sizes by letters. All differ, so that a mix-up of two dimensions cannot go unnoticed.
const std::map<char, int64_t> kArraySizes = {{'N', 2}, {'H', 5}, {'W', 4}, {'C', 3}};
const std::map<char, int64_t> kKernelSizes = {{'H', 3}, {'W', 2}, {'I', 3}, {'O', 6}};

using Index = std::map<char, int64_t>;

/// The row-major number of an element.
int64_t offsetOf(const std::string &layout, const std::map<char, int64_t> &sizes, const Index &index) {
  int64_t offset = 0;
  for (char letter : layout)
    offset = offset * sizes.at(letter) + index.at(letter);
  return offset;
}

std::string shapeOf(const std::string &layout, const std::map<char, int64_t> &sizes) {
  std::string text;
  for (char letter : layout)
    text += (text.empty() ? "[" : ", ") + std::to_string(sizes.at(letter));
  return text + "]";
}

int64_t countOf(const std::map<char, int64_t> &sizes) {
  int64_t count = 1;
  for (auto [letter, size] : sizes)
    count *= size;
  return count;
}

/// Small numbers without a pattern in any dimension.
double arrayElement(int64_t offset) { return static_cast<double>(offset * 7 % 11); }
double kernelElement(int64_t offset) { return static_cast<double>(offset * 5 % 7 - 3); }

TEST(ConvolutionLayouts, everyOrder) {
  std::string kernel = "HIOW";
  std::vector<std::string> arrays = {"NHWC", "NCHW", "CHWN", "HWNC", "WHCN"};
  for (const std::string &array : arrays)
    for (const std::string &result : {std::string("NHWC"), std::string("NCHW"), std::string("WNCH")}) {
      std::next_permutation(kernel.begin(), kernel.end());
      SCOPED_TRACE(array + " " + kernel + " " + result);
      Compiled compiled("fn main() {\n  let x = reshape(arange(" + std::to_string(countOf(kArraySizes)) +
                        ".0) * 7.0 % 11.0, " + shapeOf(array, kArraySizes) + ");\n  let k = reshape(arange(" +
                        std::to_string(countOf(kKernelSizes)) + ".0) * 5.0 % 7.0 - 3.0, " +
                        shapeOf(kernel, kKernelSizes) +
                        ");\n  return conv2d(x, k, padding=\"VALID\", strides=[2, 1], dimension_numbers=(\"" + array +
                        "\", \"" + kernel + "\", \"" + result + "\"));\n}");
      ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
      std::map<char, int64_t> sizes = {{'N', 2}, {'H', 2}, {'W', 3}, {'C', 6}};
      Tensor found = compiled.run().at(0);
      ASSERT_EQ(static_cast<int64_t>(found.elements.size()), countOf(sizes));
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t w = 0; w < 3; ++w)
            for (int64_t o = 0; o < 6; ++o) {
              double sum = 0;
              for (int64_t i = 0; i < 3; ++i)
                for (int64_t p = 0; p < 3; ++p)
                  for (int64_t q = 0; q < 2; ++q)
                    sum += arrayElement(
                               offsetOf(array, kArraySizes, {{'N', n}, {'H', 2 * h + p}, {'W', w + q}, {'C', i}})) *
                           kernelElement(offsetOf(kernel, kKernelSizes, {{'H', p}, {'W', q}, {'I', i}, {'O', o}}));
              ASSERT_EQ(found.elements[offsetOf(result, sizes, {{'N', n}, {'H', h}, {'W', w}, {'C', o}})].f, sum);
            }
    }
}

TEST(ConvolutionLayouts, oneDimension) {
  Compiled compiled("fn main() { return conv1d(reshape(arange(12.0), [1, 2, 6]), reshape(arange(12.0), [3, 2, 2]), "
                    "dimension_numbers=(\"NCW\", \"OIW\", \"NCW\"), padding=\"VALID\"); }");
  ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  EXPECT_EQ(compiled.resultTypes().front(), "f32[1, 3, 5]");
  Tensor found = compiled.run().at(0);
  for (int64_t o = 0; o < 3; ++o)
    for (int64_t w = 0; w < 5; ++w) {
      double sum = 0;
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t q = 0; q < 2; ++q)
          sum += static_cast<double>((6 * i + w + q) * (4 * o + 2 * i + q));
      EXPECT_EQ(found.elements[5 * o + w].f, sum);
    }
}

std::string errorOf(const std::string &x, const std::string &kernel, const std::string &more = "") {
  Compiled compiled("fn main(x: f32" + x + ", k: f32" + kernel + ") { return conv2d(x, k" + more + "); }");
  return compiled.isGood() ? "" : compiled.diagnostics.getErrors().front().message;
}

TEST(ConvolutionLayouts, othersAreRefused) {
  EXPECT_EQ(
      errorOf("[8, 32, 32, 3]", "[16, 3, 3, 3]"),
      "'conv2d' of f32[8, 32, 32, 3] and f32[16, 3, 3, 3]: a kernel in HWIO has a window of 16 x 3 here, in OIHW one "
      "of 3 x 3; say which: dimension_numbers=(\"NHWC\", \"HWIO\", \"NHWC\") or (\"NHWC\", \"OIHW\", \"NHWC\")");
  EXPECT_EQ(
      errorOf("[8, 32, 32, 3]", "[16, 3, 5, 5]"),
      "'conv2d' of f32[8, 32, 32, 3] and f32[16, 3, 5, 5]: the array has 3 channels, the kernel takes 5 (arrays are "
      "NHWC, kernels HWIO); name other layouts: dimension_numbers=(\"NHWC\", \"OIHW\", \"NHWC\")");
  EXPECT_EQ(
      errorOf("[8, 3, 32, 32]", "[5, 5, 3, 16]"),
      "'conv2d' of f32[8, 3, 32, 32] and f32[5, 5, 3, 16]: the array has 32 channels, the kernel takes 3 (arrays are "
      "NHWC, kernels HWIO); name other layouts: dimension_numbers=(\"NCHW\", \"HWIO\", \"NCHW\")");
  EXPECT_EQ(
      errorOf("[8, 3, 32, 32]", "[16, 3, 5, 5]"),
      "'conv2d' of f32[8, 3, 32, 32] and f32[16, 3, 5, 5]: the array has 32 channels, the kernel takes 5 (arrays are "
      "NHWC, kernels HWIO); name other layouts: dimension_numbers=(\"NCHW\", \"OIHW\", \"NCHW\")");
  EXPECT_EQ(
      errorOf("[8, 32, 32, 4]", "[5, 5, 3, 16]"),
      "'conv2d' of f32[8, 32, 32, 4] and f32[5, 5, 3, 16]: the array has 4 channels, the kernel takes 3 (arrays are "
      "NHWC, kernels HWIO)");
}

TEST(ConvolutionLayouts, areGoodWhereSaid) {
  EXPECT_EQ(errorOf("[8, 32, 32, 3]", "[16, 3, 3, 3]", ", dimension_numbers=(\"NHWC\", \"HWIO\", \"NHWC\")"), "");
  EXPECT_EQ(errorOf("[8, 32, 32, 3]", "[16, 3, 3, 3]", ", dimension_numbers=(\"NHWC\", \"OIHW\", \"NHWC\")"), "");
  // Windows that are not square are accepted if only one layout fits.
  EXPECT_EQ(errorOf("[8, 32, 32, 3]", "[1, 7, 3, 16]"), "");
  EXPECT_EQ(errorOf("[8, 32, 32, 1]", "[7, 1, 1, 1]"), "");
  EXPECT_EQ(errorOf("[8, 32, 32, 3]", "[3, 3, 3, 3]"), "");
  EXPECT_EQ(errorOf("[8, 32, 32, 3]", "[5, 3, 3, 3]"), "");
}

TEST(ConvolutionLayouts, misuse) {
  EXPECT_EQ(
      errorOf("[8, 32, 32, 3]", "[3, 3, 3, 16]", ", dimension_numbers=\"NHWC\""),
      "'dimension_numbers' of 'conv2d' must be three layouts, as in (\"NHWC\", \"HWIO\", \"NHWC\"), not a string");
  EXPECT_EQ(errorOf("[8, 32, 32, 3]", "[3, 3, 3, 16]", ", dimension_numbers=(1, 2, 3)"),
            "'dimension_numbers' of 'conv2d' must be three layouts, as in (\"NHWC\", \"HWIO\", \"NHWC\"), not a tuple");
  EXPECT_EQ(errorOf("[8, 32, 32, 3]", "[3, 3, 3, 16]", ", dimension_numbers=(\"NHWC\", \"OIHQ\", \"NHWC\")"),
            "\"OIHQ\" is not an order of the dimensions HWIO");
  EXPECT_EQ(errorOf("[8, 32, 32, 4]", "[3, 3, 3, 16]", ", dimension_numbers=(\"NHWC\", \"HWIO\", \"NHWC\")"),
            "'conv2d' of f32[8, 32, 32, 4] and f32[3, 3, 3, 16]: the array has 4 channels, the kernel takes 3");
}

} // namespace
