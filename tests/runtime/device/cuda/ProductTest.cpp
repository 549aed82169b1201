//===- ProductTest.cpp - our own products on a GPU against plain loops ----===//

#include "tests/runtime/device/cuda/LibraryCallsHelper.h"

#include "runtime/device/cpu/Matmul.h"
#include "runtime/support/Elements.h"
#include "runtime/support/Error.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::cuda;

namespace {

struct Types {
  DType operand, result;
};
const Types allPairs[] = {
    {DType::F64, DType::F64}, {DType::F32, DType::F32}, {DType::BF16, DType::BF16}, {DType::BF16, DType::F32},
    {DType::F16, DType::F16}, {DType::F16, DType::F32}, {DType::I64, DType::I64},   {DType::I32, DType::I32},
    {DType::U32, DType::U32}, {DType::I8, DType::I32},  {DType::I8, DType::I8},     {DType::U8, DType::I32},
    {DType::U8, DType::U32},  {DType::U8, DType::U8},   {DType::Bool, DType::Bool}, {DType::U64, DType::U64},
    {DType::I16, DType::I16}, {DType::I16, DType::I32}, {DType::U16, DType::U16},   {DType::U16, DType::I32},
    {DType::U16, DType::U32},
};

class ProductTest : public testing::TestWithParam<Types> {
protected:
  std::vector<char> multiply(const MatmulShape &shape, const std::vector<char> &lhs, const std::vector<char> &rhs) {
    std::vector<char> result(shape.batch * shape.m * shape.n * byteSize(shape.result));
    visitElement(shape.operand, [&](auto in) {
      visitElement(shape.result, [&](auto out) {
        auto *left = reinterpret_cast<const typename decltype(in)::Stored *>(lhs.data());
        auto *right = reinterpret_cast<const typename decltype(in)::Stored *>(rhs.data());
        auto *sums = reinterpret_cast<typename decltype(out)::Stored *>(result.data());
        for (int64_t b = 0; b < shape.batch; ++b)
          for (int64_t i = 0; i < shape.m; ++i)
            for (int64_t j = 0; j < shape.n; ++j) {
              double real = 0;
              uint64_t integer = 0;
              for (int64_t l = 0; l < shape.k; ++l) {
                auto x =
                    in.load(left[b * shape.m * shape.k + (shape.transposeLhs ? l * shape.m + i : i * shape.k + l)]);
                auto y =
                    in.load(right[b * shape.k * shape.n + (shape.transposeRhs ? j * shape.k + l : l * shape.n + j)]);
                if (isFloat(shape.operand))
                  real += static_cast<double>(x) * static_cast<double>(y);
                else if (shape.operand == DType::Bool)
                  integer |= x && y;
                else
                  integer += static_cast<uint64_t>(x) * static_cast<uint64_t>(y);
              }
              sums[(b * shape.m + i) * shape.n + j] = isFloat(shape.operand) ? out.store(real) : out.store(integer);
            }
      });
    });
    return result;
  }

  void check(int64_t batch, int64_t m, int64_t n, int64_t k, bool transposeLhs, bool transposeRhs) {
    MatmulShape shape{batch, m, n, k, transposeLhs, transposeRhs, GetParam().operand, GetParam().result};
    std::vector<char> lhs = drawSmall(random, shape.operand, batch * m * k),
                      rhs = drawSmall(random, shape.operand, batch * k * n), expected = multiply(shape, lhs, rhs);
    for (const spmdc::ThreadOrder &order : threeOrders())
      for (const Library *each : {&library, &newLibrary}) {
        if (each == &newLibrary && !hasMatrixUnit())
          continue;
        driver.setOrder(order);
        DeviceArray left(lhs.data(), lhs.size()), right(rhs.data(), rhs.size()), result(expected.size());
        each->prepare(shape);
        each->multiply(shape, nullptr, left.address(), right.address(), result.address());
        ASSERT_EQ(result.bytes(), expected)
            << batch << " x " << m << " x " << n << " x " << k << (transposeLhs ? " T" : " N")
            << (transposeRhs ? "T" : "N") << (each == &newLibrary ? " on matrix units" : "");
      }
  }

  static bool hasHalves() { return GetParam().operand == DType::BF16 || GetParam().operand == DType::F16; }
  static bool hasMatrixUnit() { return hasHalves() || byteSize(GetParam().operand) == 1; }

  /// The name of the kernel that multiplies on matrix units.
  std::string launchOf(int64_t batch, int64_t m, int64_t n, int64_t k, bool transposeLhs, bool transposeRhs) {
    check(batch, m, n, k, transposeLhs, transposeRhs);
    return driver.takeLaunches().back();
  }

  std::mt19937 random{3};
  EmulatedDriver driver;
  /// Of a GPU without matrix units for 16-bit floats and bytes, and of one with them.
  Library library{driver.getDriver(), /*capability=*/75}, newLibrary{driver.getDriver(), /*capability=*/80};
};

struct Sizes {
  int64_t batch, m, n, k;
};

TEST_P(ProductTest, AllShapes) {
  for (const Sizes &s :
       {Sizes{1, 1, 1, 1}, Sizes{2, 5, 7, 3}, Sizes{1, 64, 64, 16}, Sizes{1, 70, 65, 17}, Sizes{1, 1, 100, 33},
        Sizes{1, 130, 1, 40}, Sizes{2, 4, 67, 300}, Sizes{3, 39, 3, 301}, Sizes{3, 3, 4, 0}, Sizes{1, 0, 4, 5},
        Sizes{0, 3, 4, 5}, Sizes{1, 2, 3, 500}, Sizes{1, 72, 80, 136}, Sizes{2, 16, 8, 8}, Sizes{1, 65, 66, 100}})
    for (bool transposeLhs : {false, true})
      for (bool transposeRhs : {false, true})
        check(s.batch, s.m, s.n, s.k, transposeLhs, transposeRhs);
}

// Enough work for the larger tile, with remainders on both sides.
TEST_P(ProductTest, LargeTiles) {
  driver.takeLaunches();
  check(66, 129, 150, 9, false, false);
  check(66, 150, 129, 17, true, true);
  bool hasLarge = byteSize(GetParam().operand) < 8;
  for (const std::string &launch : driver.takeLaunches())
    EXPECT_THAT(launch,
                testing::AnyOf(hasLarge ? "spmd_multiply_128" : "spmd_multiply_64", "spmd_multiply_halves_nn_64",
                               "spmd_multiply_halves_tt_64", "spmd_multiply_bytes_nn_64", "spmd_multiply_bytes_tt_64"));
}

// Lines of multiples of 16 bytes are copied asynchronously; an empty sum is zero.
TEST_P(ProductTest, MatrixUnitsOfHalves) {
  if (!hasHalves())
    return;
  EXPECT_EQ(launchOf(1, 16, 24, 64, false, false), "spmd_multiply_halves_nn_aligned_64");
  EXPECT_EQ(launchOf(1, 16, 24, 60, false, true), "spmd_multiply_halves_nt_64");
  EXPECT_EQ(launchOf(1, 16, 20, 64, false, false), "spmd_multiply_halves_nn_64");
  EXPECT_EQ(launchOf(1, 20, 24, 64, false, true), "spmd_multiply_halves_nt_aligned_64");
  EXPECT_EQ(launchOf(66, 128, 128, 40, true, false), "spmd_multiply_halves_tn_aligned_128");
  EXPECT_EQ(launchOf(1, 16, 24, 0, true, true), "spmd_multiply_halves_tt_aligned_64");
  EXPECT_EQ(launchOf(1, 16, 23, 64, false, true), "spmd_multiply_halves_nt_64");
  // More rows of tiles than a group has.
  if (GetParam().result == DType::BF16)
    EXPECT_EQ(launchOf(1, 8 * 128 + 8, 9 * 128, 8, true, true), "spmd_multiply_halves_tt_aligned_128");
}

// Lines of places, which are transposed, are read in squares of four.
TEST_P(ProductTest, MatrixUnitsOfBytes) {
  if (!hasMatrixUnit() || hasHalves())
    return;
  EXPECT_EQ(launchOf(1, 16, 24, 64, false, true), "spmd_multiply_bytes_nt_aligned_64");
  EXPECT_EQ(launchOf(1, 16, 24, 72, false, true), "spmd_multiply_bytes_nt_64");
  EXPECT_EQ(launchOf(2, 70, 76, 144, false, false), "spmd_multiply_bytes_nn_aligned_64");
  EXPECT_EQ(launchOf(1, 16, 22, 64, false, false), "spmd_multiply_bytes_nn_64");
  EXPECT_EQ(launchOf(2, 76, 68, 67, true, false), "spmd_multiply_bytes_tn_aligned_64");
  EXPECT_EQ(launchOf(1, 76, 16, 64, true, true), "spmd_multiply_bytes_tt_aligned_64");
  EXPECT_EQ(launchOf(1, 16, 23, 64, false, true), "spmd_multiply_bytes_nt_64");
  EXPECT_EQ(launchOf(66, 128, 128, 208, false, true), "spmd_multiply_bytes_nt_aligned_128");
  EXPECT_EQ(launchOf(66, 132, 140, 39, true, false), "spmd_multiply_bytes_tn_aligned_128");
  EXPECT_EQ(launchOf(66, 132, 140, 0, true, false), "spmd_multiply_bytes_tn_aligned_128");
}

INSTANTIATE_TEST_SUITE_P(All, ProductTest, testing::ValuesIn(allPairs), [](const auto &info) {
  return std::string(dtypeName(info.param.operand)) + "_" + std::string(dtypeName(info.param.result));
});

// CPU and GPU support the same pairs of types.
TEST(ProductTypes, AreThoseOfTheCpu) {
  EmulatedDriver driver;
  Library library(driver.getDriver(), /*capability=*/80);
  for (int operand = 0; operand <= static_cast<int>(DType::Key); ++operand)
    for (int result = 0; result <= static_cast<int>(DType::Key); ++result) {
      MatmulShape shape{1, 2, 2, 2, false, false, static_cast<DType>(operand), static_cast<DType>(result)};
      auto isRefused = [](const auto &body) {
        try {
          body();
          return false;
        } catch (const Error &) {
          return true;
        }
      };
      bool onCpu = isRefused([&] { Matmul::create(shape, nullptr, 1); });
      bool onGpu = isRefused([&] { library.prepare(shape); });
      EXPECT_EQ(onGpu, onCpu) << dtypeName(shape.operand) << " to " << dtypeName(shape.result);
    }
}

} // namespace
