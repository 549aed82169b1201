//===- ScatterTest.cpp - scatters against their definition ----------------===//
//
// The definition is a loop over the updates in their order. Results must have the same bits for any number of threads,
// so also for each way to share the work: columns, rows, and copies.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Library.h"
#include "runtime/support/Float16.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace spmd;

namespace {

struct Shape {
  int64_t outer, rows, count, inner;
};

/// Small ones, and one for each way to share the work.
const std::vector<Shape> kShapes = {{1, 7, 9, 1},      {3, 5, 11, 2},     {1, 1, 5, 3},      {2, 4, 0, 3},
                                    {1, 0, 5, 2},      {2, 3, 4, 0},      {1, 40, 40000, 1}, {1, 300000, 20000, 1},
                                    {1, 50, 2100, 33}, {1, 30, 50, 1500}, {5, 60, 3000, 2}};

template <typename T> T combine(ScatterKind kind, T x, T y) {
  using Limits = std::numeric_limits<T>;
  switch (kind) {
  case ScatterKind::Replace:
    return y;
  case ScatterKind::Sum:
  case ScatterKind::Prod:
    if constexpr (std::is_integral_v<T>) {
      __int128 wide = kind == ScatterKind::Sum ? static_cast<__int128>(x) + y : static_cast<__int128>(x) * y;
      return static_cast<T>(wide);
    } else {
      return kind == ScatterKind::Sum ? x + y : x * y;
    }
  case ScatterKind::Max:
  case ScatterKind::Min:
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x) || std::isnan(y))
        return Limits::quiet_NaN();
      if (x == y)
        return std::signbit(x) == (kind == ScatterKind::Max) ? y : x;
    }
    return (x < y) == (kind == ScatterKind::Max) ? y : x;
  case ScatterKind::And:
  case ScatterKind::Or:
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(kind == ScatterKind::And ? x & y : x | y);
  }
  return x;
}

template <typename Index> std::vector<Index> drawIndices(std::mt19937_64 &random, int64_t size, int64_t rows) {
  std::vector<Index> indices(size);
  for (Index &index : indices)
    index = random() % 8 ? static_cast<Index>(random() % std::max<int64_t>(1, rows))
                         : static_cast<Index>(random() % 2 ? -1 - int64_t(random() % 3) : rows + int64_t(random() % 3));
  return indices;
}

/// `load` makes an element that is computed with, and `store` rounds it once.
template <typename Stored, typename Index, typename Draw, typename Load, typename Store>
void expectDefinition(DType dtype, ScatterKind kind, bool along, const Draw &draw, const Load &load,
                      const Store &store) {
  std::mt19937_64 random(static_cast<uint64_t>(kind) * 64 + static_cast<uint64_t>(dtype) * 2 + along);
  for (const Shape &shape : kShapes) {
    std::vector<Stored> x(shape.outer * shape.rows * shape.inner), updates(shape.outer * shape.count * shape.inner);
    for (Stored &value : x)
      value = draw(random);
    for (Stored &value : updates)
      value = draw(random);
    std::vector<Index> indices =
        drawIndices<Index>(random, along ? static_cast<int64_t>(updates.size()) : shape.count, shape.rows);
    using Value = decltype(load(Stored()));
    std::vector<Value> exact(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      exact[i] = load(x[i]);
    for (int64_t o = 0; o < shape.outer; ++o)
      for (int64_t m = 0; m < shape.count; ++m)
        for (int64_t i = 0; i < shape.inner; ++i) {
          int64_t source = (o * shape.count + m) * shape.inner + i, row = indices[along ? source : m];
          if (row < 0 || row >= shape.rows)
            continue;
          Value &element = exact[(o * shape.rows + row) * shape.inner + i];
          element = combine<Value>(kind, element, load(updates[source]));
        }
    std::vector<Stored> first;
    for (int threads : {1, 2, 5}) {
      ParallelFor loop(threads, std::chrono::nanoseconds(0));
      LibraryCall call{static_cast<LibraryFunction>(2 * static_cast<int>(kind) + along),
                       dtype,
                       {shape.outer, shape.rows, shape.count, shape.inner},
                       {sizeof(Index) == 8 ? DType::I64 : DType::I32}};
      std::vector<Stored> result(x.size());
      const void *inputs[] = {x.data(), indices.data(), updates.data()};
      runLibrary(call, loop, inputs, result.data());
      if (first.empty())
        first = result;
      EXPECT_EQ(std::memcmp(result.data(), first.data(), x.size() * sizeof(Stored)), 0)
          << dtypeName(dtype) << " kind " << int(kind) << ": other bits on " << threads << " threads";
      for (size_t i = 0; i < x.size(); ++i) {
        Stored wanted = store(exact[i]);
        bool areNaN = load(result[i]) != load(result[i]) && exact[i] != exact[i];
        ASSERT_TRUE(areNaN || std::memcmp(&result[i], &wanted, sizeof(Stored)) == 0)
            << dtypeName(dtype) << " kind " << int(kind) << " along " << along << " of [" << shape.outer << ", "
            << shape.rows << ", " << shape.inner << "] and " << shape.count << " updates at " << i << ": "
            << double(load(result[i])) << " instead of " << double(exact[i]);
      }
    }
  }
}

template <typename T> void expectPlain(DType dtype, ScatterKind kind) {
  auto draw = [=](std::mt19937_64 &random) -> T {
    if constexpr (std::is_floating_point_v<T>) {
      // Zeros of both signs, and NaN where it is no end of all sums; products stay near 1.
      if (kind == ScatterKind::Max || kind == ScatterKind::Min || kind == ScatterKind::Replace) {
        const T special[] = {T(0), T(-0.0), std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
        if (random() % 40 == 0)
          return special[random() % 4];
      }
      T value = static_cast<T>(static_cast<double>(random() % 2001) / 1000 - 1);
      return kind == ScatterKind::Prod ? 1 + value / 16 : value;
    } else {
      return static_cast<T>(random());
    }
  };
  auto keep = [](T value) { return value; };
  expectDefinition<T, int32_t>(dtype, kind, false, draw, keep, keep);
  expectDefinition<T, int64_t>(dtype, kind, true, draw, keep, keep);
}

class Scatters : public testing::TestWithParam<ScatterKind> {
protected:
  static bool combinesBits() { return GetParam() == ScatterKind::And || GetParam() == ScatterKind::Or; }
};

TEST_P(Scatters, Integers) {
  expectPlain<int32_t>(DType::I32, GetParam());
  expectPlain<uint16_t>(DType::U16, GetParam());
  expectPlain<int64_t>(DType::I64, GetParam());
  expectPlain<int8_t>(DType::I8, GetParam());
}

TEST_P(Scatters, Floats) {
  if (combinesBits())
    return;
  expectPlain<float>(DType::F32, GetParam());
  expectPlain<double>(DType::F64, GetParam());
}

// Half precision is combined in f32 and rounded once.
TEST_P(Scatters, HalfFloats) {
  if (combinesBits())
    return;
  auto draw = [](std::mt19937_64 &random) { return floatToBf16(static_cast<float>(random() % 2001) / 1000 - 1); };
  for (bool along : {false, true})
    expectDefinition<uint16_t, int32_t>(DType::BF16, GetParam(), along, draw, bf16ToFloat,
                                        [](float value) { return floatToBf16(value); });
}

TEST_P(Scatters, Bools) {
  auto draw = [](std::mt19937_64 &random) { return static_cast<uint8_t>(random() % 2); };
  // The sum and the maximum of bools is their or; the product and the minimum their and.
  auto load = [](uint8_t value) { return static_cast<int32_t>(value); };
  auto store = [](int32_t value) { return static_cast<uint8_t>(value != 0); };
  for (bool along : {false, true})
    expectDefinition<uint8_t, int32_t>(DType::Bool, GetParam(), along, draw, load, store);
}

TEST(Scatter, RandomKeysAreReplaced) {
  ParallelFor loop(1, std::chrono::nanoseconds(0));
  std::vector<uint64_t> x = {1, 2, 3}, updates = {~uint64_t(0), 5, 6}, result(3);
  std::vector<int32_t> indices = {2, 0, 2};
  const void *inputs[] = {x.data(), indices.data(), updates.data()};
  runLibrary({LibraryFunction::ScatterReplace, DType::Key, {1, 3, 3, 1}, {DType::I32}}, loop, inputs, result.data());
  EXPECT_EQ(result, (std::vector<uint64_t>{5, 2, 6}));
}

std::string nameOf(const testing::TestParamInfo<ScatterKind> &test) {
  const char *names[] = {"Sum", "Replace", "Prod", "Max", "Min", "And", "Or"};
  return names[static_cast<int>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(All, Scatters,
                         testing::Values(ScatterKind::Sum, ScatterKind::Replace, ScatterKind::Prod, ScatterKind::Max,
                                         ScatterKind::Min, ScatterKind::And, ScatterKind::Or),
                         nameOf);

} // namespace
