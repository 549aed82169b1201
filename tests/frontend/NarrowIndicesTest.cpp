//===- NarrowIndicesTest.cpp - indices of small integer types -------------===//
//
// An index of i8 or u8 may name every element that its value names, in a dimension of any size: nothing that the
// compiler computes with it (positions to compare with, the sum of a negative index and the size) may wrap in its type.
// Each operation is compared with a loop written here, for every value of the type. (JAX 0.10 is no reference: its
// one_hot takes class 275 for 19 of u8, and jnp.take wraps -1 of i8 around 300 to 43.)
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace spmdc;
using namespace spmdc::testing;

namespace {

constexpr int64_t size = 300; // More than 8 bits matter.

struct IndexType {
  const char *name;
  int64_t low, count; ///< The tested values.
};

class NarrowIndices : public ::testing::TestWithParam<IndexType> {
protected:
  /// The elements of the only result of a `main` with `i`, all values as one array of the type.
  std::vector<Scalar> run(const std::string &expression) {
    const auto &[name, low, count] = GetParam();
    // Types of 32 and 64 bits hold more than arange's i32; the tested values fit in all.
    Compiled compiled("fn pick(x, k) { return x[k]; }\nfn main() { let i = cast(arange(" + std::to_string(low) + ", " +
                      std::to_string(low + count) + "), " + name + ");\n  return " + expression + "; }");
    if (!compiled.isGood()) {
      ADD_FAILURE() << compiled.diagnostics.str();
      return {};
    }
    std::vector<Scalar> elements;
    std::vector<Tensor> results = compiled.run();
    elements.assign(results.at(0).elements.begin(), results.at(0).elements.end());
    return elements;
  }

  std::vector<int64_t> ints(const std::string &expression) {
    std::vector<int64_t> result;
    for (const Scalar &element : run(expression))
      result.push_back(element.i);
    return result;
  }

  /// One number for each value of the type.
  std::vector<int64_t> forEach(llvm::function_ref<int64_t(int64_t value)> of) {
    std::vector<int64_t> result;
    for (int64_t value = GetParam().low; value < GetParam().low + GetParam().count; ++value)
      result.push_back(of(value));
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(, NarrowIndices,
                         ::testing::Values(IndexType{"i8", -128, 256}, IndexType{"u8", 0, 256},
                                           IndexType{"i16", -310, 620}, IndexType{"u16", 0, 310},
                                           IndexType{"i32", -310, 620}, IndexType{"u32", 0, 310},
                                           IndexType{"i64", -310, 620}, IndexType{"u64", 0, 310}),
                         [](const auto &info) { return info.param.name; });

int64_t wrapped(int64_t index) { return index < 0 ? index + size : index; }
bool isInside(int64_t index) { return index >= 0 && index < size; }

TEST_P(NarrowIndices, oneHot) {
  std::vector<Scalar> rows = run("one_hot(i, 300)");
  ASSERT_EQ(rows.size(), static_cast<size_t>(GetParam().count * size));
  for (int64_t row = 0; row < GetParam().count; ++row)
    for (int64_t column = 0; column < size; ++column)
      ASSERT_EQ(rows[row * size + column].f, column == GetParam().low + row ? 1 : 0) << row << " " << column;
}

TEST_P(NarrowIndices, crossEntropy) {
  // Logits are the logarithms of 1, ..., 300: their softmax is known.
  std::vector<Scalar> losses = run("cross_entropy(zeros([i.shape[0], 1]) + log(arange(300) + 1.0), i)");
  ASSERT_EQ(losses.size(), static_cast<size_t>(GetParam().count));
  constexpr double sum = size * (size + 1) / 2.0;
  for (int64_t row = 0; row < GetParam().count; ++row) {
    int64_t label = GetParam().low + row;
    ASSERT_NEAR(losses[row].f, isInside(label) ? -std::log((label + 1) / sum) : 0.0, 1e-5) << label;
  }
}

TEST_P(NarrowIndices, take) {
  auto taken = [](int64_t index) { return isInside(wrapped(index)) ? wrapped(index) : INT32_MIN; };
  EXPECT_EQ(ints("take(arange(300), i, axis=0)"), forEach(taken));
  EXPECT_EQ(ints("take_along_axis(arange(300), i)"), forEach(taken));
}

TEST_P(NarrowIndices, subscript) {
  auto clamped = [](int64_t index) { return std::clamp<int64_t>(wrapped(index), 0, size - 1); };
  EXPECT_EQ(ints("arange(300)[i]"), forEach(clamped));
  EXPECT_EQ(ints("broadcast_to(arange(300), [2, 300])[1, i]"), forEach(clamped));
  // Two indices are merged to one, whose numbers go up to 600.
  EXPECT_EQ(ints("reshape(arange(600), [2, 300])[i * 0 + 1, i]"),
            forEach([&](int64_t index) { return size + clamped(index); }));
}

TEST_P(NarrowIndices, scatterAdd) {
  std::vector<int64_t> expected(size);
  for (int64_t index : forEach(wrapped))
    if (isInside(index))
      ++expected[index];
  EXPECT_EQ(ints("scatter_add(zeros(i32[300]), i, 1)"), expected);
}

TEST_P(NarrowIndices, startAndScalarIndex) {
  for (int64_t row : {int64_t(0), GetParam().count / 2 - 1, GetParam().count - 1}) {
    int64_t index = std::clamp<int64_t>(wrapped(GetParam().low + row), 0, size - 1);
    std::string at = "i[" + std::to_string(row) + "]";
    std::vector<int64_t> expected(size);
    expected[index] = 7;
    EXPECT_EQ(ints("update(zeros(i32[300]), full(i32[1], 7), start=[" + at + "])"), expected) << row;
    EXPECT_EQ(ints("pick(arange(300), " + at + ")"), std::vector<int64_t>{index}) << row;
  }
}

TEST_P(NarrowIndices, comparedWithPositions) {
  EXPECT_EQ(ints("sum(cast(i[:, None] == arange(300), i32), axis=1)"),
            forEach([](int64_t index) { return isInside(index) ? 1 : 0; }));
}

/// Literals behave like arrays of them.
TEST(NarrowIndicesOfLiterals, oneHot) {
  Compiled compiled("fn main() { return one_hot(275, 300); }");
  ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  std::vector<Tensor> results = compiled.run();
  for (int64_t column = 0; column < size; ++column)
    EXPECT_EQ(results.at(0).elements[column].f, column == 275 ? 1 : 0);
}

} // namespace
