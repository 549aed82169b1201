//===- FourierTest.cpp - transforms against their definition --------------===//

#include "runtime/device/cpu/Fourier.h"

#include "runtime/support/RootOfUnity.h"

#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <numbers>
#include <random>

using namespace spmd;

namespace {

/// A transform of [outer, n, inner] numbers.
struct Case {
  int64_t outer, length, inner;
  int64_t from = 2, to = 2; ///< Parts of the operand and of the result.
  bool isInverse = false;

  int64_t operandSize() const { return to == 1 ? length / 2 + 1 : length; }
  int64_t resultSize() const { return from == 1 ? length / 2 + 1 : length; }
  int64_t operandElements() const { return outer * operandSize() * inner * from; }
  int64_t resultElements() const { return outer * resultSize() * inner * to; }
  LibraryCall call(DType dtype, int64_t divisor = 1) const {
    return {isInverse ? LibraryFunction::InverseFft : LibraryFunction::Fft,
            dtype,
            {outer, length, inner, from, to, divisor},
            {}};
  }
};

std::ostream &operator<<(std::ostream &os, const Case &c) {
  return os << c.outer << " x " << c.length << " x " << c.inner << ", " << c.from << " parts to " << c.to
            << (c.isInverse ? ", inverse" : "");
}

/// All four kinds of transforms of a shape.
std::vector<Case> kindsOf(int64_t outer, int64_t length, int64_t inner) {
  return {{outer, length, inner},
          {outer, length, inner, 2, 2, true},
          {outer, length, inner, 1, 2},
          {outer, length, inner, 2, 1, true}};
}

template <typename T> std::vector<T> draw(int64_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T &number : numbers)
    number = static_cast<T>(normal(random));
  return numbers;
}

template <typename T> std::vector<T> run(const Case &c, const std::vector<T> &x, int threads = 1, int64_t divisor = 1) {
  ParallelFor loop(threads, std::chrono::nanoseconds(0));
  std::vector<T> result(static_cast<size_t>(c.resultElements()), T(NAN));
  Fourier::create(c.call(sizeof(T) == 4 ? DType::F32 : DType::F64, divisor))->run(loop, x.data(), result.data());
  return result;
}

/// The definition, in extended precision, at every `step`-th frequency; the relative error in the 2-norm.
template <typename T> double errorOf(const Case &c, const std::vector<T> &x, const std::vector<T> &result) {
  using Wide = std::complex<long double>;
  int64_t n = c.length, step = std::max<int64_t>(1, n / 20);
  std::vector<Wide> roots;
  for (int64_t j = 0; j < n; ++j)
    roots.push_back(std::polar(1.0L, (c.isInverse ? 2 : -2) * std::numbers::pi_v<long double> *
                                         static_cast<long double>(j) / static_cast<long double>(n)));
  long double difference = 0, norm = 0;
  for (int64_t line = 0; line < c.outer * c.inner; ++line) {
    int64_t o = line / c.inner, i = line % c.inner;
    auto part = [&](int64_t j, int64_t p) -> long double {
      return p < c.from ? x[static_cast<size_t>(((o * c.operandSize() + j) * c.inner + i) * c.from + p)] : T(0);
    };
    auto number = [&](int64_t j) {
      if (c.to == 2)
        return Wide(part(j, 0), part(j, 1));
      int64_t at = std::min(j, n - j);
      long double im = 2 * at % n == 0 ? 0 : part(at, 1);
      return Wide(part(at, 0), at < j ? -im : im);
    };
    for (int64_t k = 0; k < c.resultSize(); k += step) {
      Wide sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += number(j) * roots[static_cast<size_t>(j * k % n)];
      for (int64_t p = 0; p < c.to; ++p) {
        long double want = p == 0 ? sum.real() : sum.imag();
        long double got = result[static_cast<size_t>(((o * c.resultSize() + k) * c.inner + i) * c.to + p)];
        difference += (got - want) * (got - want);
        norm += want * want;
      }
    }
  }
  return static_cast<double>(std::sqrt(difference / norm));
}

template <typename T> void check(const Case &c) {
  std::vector<T> x = draw<T>(c.operandElements());
  // XLA's transforms of f32 have 2e-7 to 4e-7.
  EXPECT_LT(errorOf(c, x, run(c, x)), sizeof(T) == 4 ? 4e-7 : 1e-15) << c;
}

TEST(Fourier, AllSmallLengths) {
  for (int64_t n = 1; n <= 128; ++n) {
    if (!isFourierLength(n))
      continue;
    for (const Case &c : kindsOf(3, n, 1)) {
      check<float>(c);
      check<double>(c);
    }
  }
}

TEST(Fourier, LengthsOfManyFactors) {
  for (int64_t n : {144, 169, 210, 243, 256, 343, 360, 512, 625, 640, 729, 1000, 1001, 1024, 1016})
    for (const Case &c : kindsOf(2, n, 1)) {
      check<float>(c);
      check<double>(c);
    }
}

/// Longer than kMaxShortLine: matrices whose sides are multiples of the lanes, and others; real lines of odd length.
TEST(Fourier, LongLines) {
  for (int64_t n : {1025, 1331, 1536, 2000, 2048, 2050, 2187, 3125, 3600, 4096, 4095, 127 * 127, 16384, 65536})
    for (const Case &c : kindsOf(2, n, 1)) {
      check<float>(c);
      check<double>(c);
    }
}

TEST(Fourier, LinesBesideOneAnother) {
  for (int64_t n : {6, 75, 1024, 1125, 2048})
    for (int64_t inner : {2, 7, 21})
      for (const Case &c : kindsOf(2, n, inner)) {
        check<float>(c);
        check<double>(c);
      }
}

/// A line has the same bits alone as in a batch, on any number of threads, and beside other lines.
TEST(Fourier, BitsDependOnTheLineAlone) {
  for (int64_t n : {12, 60, 256, 1000, 2048, 2187, 4096})
    for (const Case &c : kindsOf(37, n, 1)) {
      std::vector<float> x = draw<float>(c.operandElements()), all = run(c, x);
      EXPECT_EQ(all, run(c, x, 3)) << c;
      int64_t from = c.operandElements() / c.outer, to = c.resultElements() / c.outer;
      Case beside = c;
      beside.outer = 1;
      beside.inner = 37;
      std::vector<float> turned(x.size());
      for (int64_t line = 0; line < 37; ++line)
        for (int64_t j = 0; j < c.operandSize(); ++j)
          for (int64_t p = 0; p < c.from; ++p)
            turned[static_cast<size_t>((j * 37 + line) * c.from + p)] =
                x[static_cast<size_t>((line * c.operandSize() + j) * c.from + p)];
      std::vector<float> columns = run(beside, turned, 2);
      Case one = c;
      one.outer = 1;
      for (int64_t line : {0, 5, 36}) {
        std::vector<float> own(x.begin() + line * from, x.begin() + (line + 1) * from);
        std::vector<float> expected(all.begin() + line * to, all.begin() + (line + 1) * to);
        EXPECT_EQ(run(one, own, 2), expected) << c << ", line " << line;
        std::vector<float> column;
        for (int64_t k = 0; k < c.resultSize(); ++k)
          for (int64_t p = 0; p < c.to; ++p)
            column.push_back(columns[static_cast<size_t>((k * 37 + line) * c.to + p)]);
        EXPECT_EQ(column, expected) << c << ", column " << line;
      }
    }
}

TEST(Fourier, DividesAndReturns) {
  for (int64_t n : {48, 4096}) {
    Case there{3, n, 1}, back{3, n, 1, 2, 2, true};
    std::vector<double> x = draw<double>(there.operandElements());
    std::vector<double> y = run(back, run(there, x), 2, n);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(x[i], y[i], 1e-13);
  }
}

/// Frequencies 0 and n / 2 of real lines are real.
TEST(Fourier, RealFrequencies) {
  for (int64_t n : {2, 30, 1024, 4096}) {
    Case c{1, n, 1, 1, 2};
    std::vector<float> result = run(c, draw<float>(n));
    EXPECT_EQ(result[1], 0) << n;
    EXPECT_EQ(result.back(), 0) << n;
  }
}

TEST(Fourier, OfNoLines) {
  for (const Case &c : kindsOf(0, 16, 4))
    EXPECT_TRUE(run(c, std::vector<float>()).empty());
}

} // namespace
