//===- ArgsortTest.cpp - argsort against the standard library -------------===//

#include "runtime/device/cpu/Library.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace spmd;

namespace {

/// Returns the argsort of `outer` x `size` x `inner` integers along the middle dimension.
std::vector<int32_t> expected(const std::vector<int32_t> &x, int64_t outer, int64_t size, int64_t inner,
                              bool descends) {
  std::vector<int32_t> result(x.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      auto at = [&](int64_t place) { return (o * size + place) * inner + i; };
      std::vector<int32_t> order(size);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        int32_t left = x[at(a)], right = x[at(b)];
        return left == right ? a < b : (left > right) == descends;
      });
      for (int64_t place = 0; place < size; ++place)
        result[at(place)] = order[place];
    }
  return result;
}

/// Returns sorted runs of random lengths, of few or of many different values.
std::vector<int32_t> drawRuns(std::mt19937 &random, int64_t size, int64_t runs, bool descends) {
  std::vector<int32_t> line(size);
  int32_t values = random() % 2 ? 7 : 1 << 30;
  for (int32_t &value : line)
    value = static_cast<int32_t>(random() % values) - values / 2;
  std::vector<int64_t> cuts{0, size};
  for (int64_t i = 1; i < runs && size > 0; ++i)
    cuts.push_back(static_cast<int64_t>(random() % size));
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = 1; i < cuts.size(); ++i) {
    std::sort(line.begin() + cuts[i - 1], line.begin() + cuts[i]);
    if (descends)
      std::reverse(line.begin() + cuts[i - 1], line.begin() + cuts[i]);
  }
  return line;
}

TEST(Argsort, LinesOfRunsAndOthers) {
  std::mt19937 random(7);
  ParallelFor loop(2, std::chrono::nanoseconds(0));
  for (int64_t size : {0, 1, 2, 3, 17, 64, 1000, 5000})
    for (int64_t runs : {int64_t(1), int64_t(2), int64_t(3), int64_t(8), int64_t(63), size})
      for (bool descends : {false, true}) {
        std::vector<int32_t> x = drawRuns(random, size, runs, descends), result(x.size());
        auto function = descends ? LibraryFunction::ArgsortDescending : LibraryFunction::Argsort;
        argsort({function, DType::I32, {1, size, 1}, {DType::I32}}, loop, x.data(), result.data());
        EXPECT_EQ(result, expected(x, 1, size, 1, descends)) << size << " elements in " << runs << " runs";
        std::vector<int64_t> wide(x.size());
        argsort({function, DType::I32, {1, size, 1}, {DType::I64}}, loop, x.data(), wide.data());
        EXPECT_TRUE(std::equal(wide.begin(), wide.end(), result.begin())) << size << " elements in " << runs << " runs";
      }
}

TEST(Argsort, SeveralLinesShareTheirScratch) {
  std::mt19937 random(8);
  for (int threads : {1, 3}) {
    ParallelFor loop(threads, std::chrono::nanoseconds(0));
    int64_t outer = 9, size = 300, inner = 4;
    std::vector<int32_t> x = drawRuns(random, outer * size * inner, 5, false), result(x.size());
    argsort({LibraryFunction::Argsort, DType::I32, {outer, size, inner}, {DType::I32}}, loop, x.data(), result.data());
    EXPECT_EQ(result, expected(x, outer, size, inner, false));
  }
}

} // namespace
