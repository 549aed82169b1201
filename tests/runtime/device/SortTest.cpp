//===- SortTest.cpp - sorts against the standard library ------------------===//

#include "runtime/device/cpu/Library.h"

#include <algorithm>
#include <bit>
#include <cmath>
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
        sort({function, DType::I32, {1, size, 1}, {DType::I32}}, loop, x.data(), result.data());
        EXPECT_EQ(result, expected(x, 1, size, 1, descends)) << size << " elements in " << runs << " runs";
        std::vector<int64_t> wide(x.size());
        sort({function, DType::I32, {1, size, 1}, {DType::I64}}, loop, x.data(), wide.data());
        EXPECT_TRUE(std::equal(wide.begin(), wide.end(), result.begin())) << size << " elements in " << runs << " runs";
      }
}

TEST(Argsort, SeveralLinesShareTheirScratch) {
  std::mt19937 random(8);
  for (int threads : {1, 3}) {
    ParallelFor loop(threads, std::chrono::nanoseconds(0));
    int64_t outer = 9, size = 300, inner = 4;
    std::vector<int32_t> x = drawRuns(random, outer * size * inner, 5, false), result(x.size());
    sort({LibraryFunction::Argsort, DType::I32, {outer, size, inner}, {DType::I32}}, loop, x.data(), result.data());
    EXPECT_EQ(result, expected(x, outer, size, inner, false));
  }
}

/// Returns the bits of the floats in order. Ascending: zeros of both signs are equal, and so are all NaN, which are
/// last. Descending: 0 before -0, NaN of positive sign first and others last. Equal elements stay in their order.
std::vector<uint32_t> expectedBits(const std::vector<uint32_t> &bits, bool descends) {
  auto less = [&](uint32_t a, uint32_t b) {
    float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
    if (descends) {
      auto rank = [](float v) { return std::isnan(v) ? (std::signbit(v) ? 0 : 2) : 1; };
      if (rank(x) != rank(y) || rank(x) != 1)
        return rank(x) > rank(y);
      return x > y || (x == y && !std::signbit(x) && std::signbit(y));
    }
    return std::isnan(y) ? !std::isnan(x) : x < y;
  };
  std::vector<size_t> order(bits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return less(bits[i], bits[j]) || (!less(bits[j], bits[i]) && i < j); });
  std::vector<uint32_t> result;
  for (size_t i : order)
    result.push_back(bits[i]);
  return result;
}

TEST(Sort, ValuesKeepAllBits) {
  std::mt19937 random(9);
  ParallelFor loop(2, std::chrono::nanoseconds(0));
  const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
                              0x7fa00001, 0xff800001, 1,          0x80000001, 0x7fffffff, 0x3f800000};
  for (size_t size : {0, 1, 12, 700})
    for (bool descends : {false, true}) {
      std::vector<uint32_t> bits(size), result(size);
      for (uint32_t &word : bits)
        word = random() % 3 ? special[random() % std::size(special)] : static_cast<uint32_t>(random());
      auto function = descends ? LibraryFunction::SortDescending : LibraryFunction::Sort;
      sort({function, DType::F32, {1, static_cast<int64_t>(size), 1}, {}}, loop, bits.data(), result.data());
      EXPECT_EQ(result, expectedBits(bits, descends)) << size << (descends ? " descending" : "");
    }
}

TEST(Sort, ValuesOfInnerDimensions) {
  ParallelFor loop(2, std::chrono::nanoseconds(0));
  std::vector<int64_t> x = {3, 10, 1, 30, 2, 20, -1, 5, -3, 6, -2, 4}, result(x.size());
  sort({LibraryFunction::Sort, DType::I64, {2, 3, 2}, {}}, loop, x.data(), result.data());
  EXPECT_EQ(result, (std::vector<int64_t>{1, 10, 2, 20, 3, 30, -3, 4, -2, 5, -1, 6}));
  sort({LibraryFunction::SortDescending, DType::I64, {2, 3, 2}, {}}, loop, x.data(), result.data());
  EXPECT_EQ(result, (std::vector<int64_t>{3, 30, 2, 20, 1, 10, -1, 6, -2, 5, -3, 4}));
}

/// A vector of every element type's range, sorted by the standard library, with the places in [begin, end).
template <typename T> void expectRanges(DType dtype, std::mt19937 &random) {
  for (int64_t size : {1, 2, 5, 130, 1000, 150000})
    for (bool descends : {false, true}) {
      std::vector<T> x(size);
      // Many equal elements, or hardly any.
      uint64_t values = random() % 2 ? 5 : ~uint64_t(0);
      for (T &value : x)
        value = static_cast<T>((uint64_t(random()) << 32 | random()) % values);
      std::vector<int32_t> order(size);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(),
                [&](int32_t a, int32_t b) { return x[a] == x[b] ? a < b : (x[a] > x[b]) == descends; });
      for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, size},
                                {0, 1},
                                {size - 1, size},
                                {0, size / 8},
                                {size - size / 6, size},
                                {size / 2, size / 2 + 1},
                                {size / 3, size},
                                {size / 2, size / 2}})
        for (int threads : {1, 3}) {
          ParallelFor loop(threads, std::chrono::nanoseconds(0));
          std::vector<int32_t> positions(end - begin);
          std::vector<T> sorted(end - begin);
          LibraryCall call{descends ? LibraryFunction::ArgsortDescending : LibraryFunction::Argsort,
                           dtype,
                           {1, size, 1, begin, end},
                           {DType::I32}};
          sort(call, loop, x.data(), positions.data());
          EXPECT_EQ(positions, std::vector<int32_t>(order.begin() + begin, order.begin() + end))
              << dtypeName(dtype) << ", " << size << " elements, places " << begin << " to " << end;
          call.function = descends ? LibraryFunction::SortDescending : LibraryFunction::Sort;
          sort(call, loop, x.data(), sorted.data());
          for (int64_t i = 0; i < end - begin; ++i)
            ASSERT_EQ(sorted[i], x[order[begin + i]]);
        }
    }
}

// Selected, separated, sorted by digits, and in parts by several threads.
TEST(Sort, RangesOfPlaces) {
  std::mt19937 random(11);
  expectRanges<int8_t>(DType::I8, random);
  expectRanges<uint8_t>(DType::U8, random);
  expectRanges<int32_t>(DType::I32, random);
  expectRanges<uint32_t>(DType::U32, random);
  expectRanges<int64_t>(DType::I64, random);
}

// NaN, infinities, zeros of both signs.
TEST(Sort, RangesOfSpecialFloats) {
  std::mt19937 random(12);
  const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
                              0x7fa00001, 0xff800001, 1,          0x80000001, 0x7fffffff, 0x3f800000};
  for (int64_t size : {7, 300, 70000})
    for (bool descends : {false, true})
      for (int threads : {1, 2}) {
        ParallelFor loop(threads, std::chrono::nanoseconds(0));
        std::vector<uint32_t> bits(size);
        for (uint32_t &word : bits)
          word = random() % 3 ? special[random() % std::size(special)] : static_cast<uint32_t>(random());
        std::vector<uint32_t> sorted = expectedBits(bits, descends);
        for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, 3}, {size - 3, size}, {size / 2, size / 2 + 2}}) {
          std::vector<uint32_t> result(end - begin);
          auto function = descends ? LibraryFunction::SortDescending : LibraryFunction::Sort;
          sort({function, DType::F32, {1, size, 1, begin, end}, {}}, loop, bits.data(), result.data());
          EXPECT_EQ(result, std::vector<uint32_t>(sorted.begin() + begin, sorted.begin() + end));
        }
      }
}

// Three lines of a middle dimension, of which two places are returned.
TEST(Sort, RangesOfInnerDimensions) {
  ParallelFor loop(2, std::chrono::nanoseconds(0));
  std::vector<int64_t> x = {3, 10, 1, 30, 2, 20, -1, 5, -3, 6, -2, 4}, result(8);
  sort({LibraryFunction::Sort, DType::I64, {2, 3, 2, 1, 3}, {}}, loop, x.data(), result.data());
  EXPECT_EQ(result, (std::vector<int64_t>{2, 20, 3, 30, -2, 5, -1, 6}));
}

} // namespace
