//===- ScatterAddTest.cpp - scattered additions against a loop ------------===//

#include "runtime/device/cpu/Library.h"
#include "runtime/support/Elements.h"

#include <bit>
#include <ctime>
#include <gtest/gtest.h>
#include <random>

using namespace spmd;

namespace {

struct Shape {
  int64_t outer, rows, count, inner;
};

/// Adds in the order of the updates; indices out of range are dropped.
std::vector<float> expected(const Shape &shape, bool isAlong, const std::vector<int32_t> &indices,
                            const std::vector<float> &updates, std::vector<float> result) {
  for (int64_t o = 0; o < shape.outer; ++o)
    for (int64_t m = 0; m < shape.count; ++m)
      for (int64_t c = 0; c < shape.inner; ++c) {
        int64_t at = (o * shape.count + m) * shape.inner + c, row = indices[isAlong ? at : m];
        if (row >= 0 && row < shape.rows)
          result[(o * shape.rows + row) * shape.inner + c] += updates[at];
      }
  return result;
}

/// With `isExact` small integers, of which f32 holds every sum.
std::vector<float> draw(std::mt19937 &random, int64_t count, bool isExact) {
  std::vector<float> values(count);
  for (float &value : values)
    value = isExact ? static_cast<float>(random() % 3) : std::normal_distribution<float>()(random);
  return values;
}

TEST(ScatterAdd, BlocksOfRowsAndColumns) {
  std::mt19937 random(9);
  for (int threads : {1, 2, 5}) {
    ParallelFor loop(threads, std::chrono::nanoseconds(0));
    for (Shape shape : {Shape{1, 1000, 20000, 1}, Shape{1, 7, 10000, 2}, Shape{1, 100, 1500, 15},
                        Shape{1, 100, 1500, 16}, Shape{1, 40, 1500, 17}, Shape{1, 3, 500, 100}, Shape{3, 50, 1000, 33},
                        Shape{9, 50, 1000, 5}, Shape{1, 3000, 300, 70}, Shape{2, 0, 5, 3}, Shape{1, 4, 0, 3}})
      for (bool isAlong : {false, true})
        for (DType dtype : {DType::F32, DType::BF16}) {
          int64_t size = shape.outer * shape.count * shape.inner;
          std::vector<int32_t> indices(isAlong ? size : shape.count);
          for (int32_t &index : indices)
            index = static_cast<int32_t>(random() % (shape.rows + 3)) - 1;
          bool isExact = dtype == DType::BF16; // It is summed in f32 and rounded once.
          std::vector<float> updates = draw(random, size, isExact);
          std::vector<float> result = draw(random, shape.outer * shape.rows * shape.inner, isExact);
          std::vector<float> wanted = expected(shape, isAlong, indices, updates, result);
          LibraryCall call{isAlong ? LibraryFunction::ScatterAddAlong : LibraryFunction::ScatterAdd,
                           dtype,
                           {shape.outer, shape.rows, shape.count, shape.inner},
                           {DType::I32}};
          if (!isExact) {
            scatterAdd(call, loop, indices.data(), updates.data(), result.data());
            EXPECT_EQ(result, wanted) << threads << " threads, rows of " << shape.inner << (isAlong ? ", along" : "");
            continue;
          }
          auto toHalves = [](const std::vector<float> &values) {
            std::vector<uint16_t> halves;
            visitElement(DType::BF16, [&](auto element) {
              if constexpr (sizeof(typename decltype(element)::Stored) == 2)
                for (float value : values)
                  halves.push_back(std::bit_cast<uint16_t>(element.store(value)));
            });
            return halves;
          };
          std::vector<uint16_t> halves = toHalves(updates), sums = toHalves(result);
          scatterAdd(call, loop, indices.data(), halves.data(), sums.data());
          EXPECT_EQ(sums, toHalves(wanted)) << threads << " threads, rows of " << shape.inner;
        }
  }
}

/// More threads than one must not each walk all indices to find those of their rows.
TEST(ScatterAdd, ThreadsShareTheWork) {
  Shape shape{1, 1000, 1000000, 1};
  std::mt19937 random(10);
  std::vector<int32_t> indices(shape.count);
  for (int32_t &index : indices)
    index = static_cast<int32_t>(random() % shape.rows);
  std::vector<float> updates(shape.count, 1), result(shape.rows);
  LibraryCall call{
      LibraryFunction::ScatterAdd, DType::F32, {shape.outer, shape.rows, shape.count, shape.inner}, {DType::I32}};
  auto workOf = [&](int threads) {
    ParallelFor loop(threads, std::chrono::nanoseconds(0));
    scatterAdd(call, loop, indices.data(), updates.data(), result.data()); // The first call also fills the cache.
    std::clock_t began = std::clock();                                     // The processor time of all threads.
    for (int i = 0; i < 5; ++i)
      scatterAdd(call, loop, indices.data(), updates.data(), result.data());
    return static_cast<double>(std::clock() - began);
  };
  double alone = workOf(1), together = workOf(4);
  EXPECT_LT(together, 3 * alone);
}

} // namespace
