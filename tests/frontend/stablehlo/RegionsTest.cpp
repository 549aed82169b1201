//===- RegionsTest.cpp - regions with branches and loops ------------------===//
//
// Reductions, windows, scatters, sorts and maps by scalar code with control flow. XLA's compiler for CPUs ends with a
// failed check on a loop in a reduction, so the expected values are computed here.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/JaxValues.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace spmdc;

namespace {

using Numbers = std::vector<int64_t>;

nlohmann::json arrayOf(const std::vector<int64_t> &shape, const Numbers &values) {
  return {{"dtype", "i32"}, {"shape", shape}, {"values", values}};
}

/// %g is Euclid's greatest common divisor of %a and %b: each pair takes another number of iterations.
const std::string kGcd = R"(
  %g:2 = stablehlo.while(%p = %a, %q = %b) : tensor<i32>, tensor<i32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %more = stablehlo.compare NE, %q, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %rest = stablehlo.remainder %p, %q : tensor<i32>
    stablehlo.return %q, %rest : tensor<i32>, tensor<i32>
  }
)";

/// The larger one of %a and %b as %m, through branches; the one that is not taken never ends.
const std::string kMax = R"(
  %less = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %m = "stablehlo.if"(%less) ({
    stablehlo.return %b : tensor<i32>
  }, {
    %end = stablehlo.while(%r = %a) : tensor<i32>
    cond {
      %below = stablehlo.compare LT, %r, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %below : tensor<i1>
    } do {
      stablehlo.return %r : tensor<i32>
    }
    stablehlo.return %end : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
)";

/// b + n * `addend` as %c#2, by a loop that counts to n = `limit`, which `define` defines in the condition. A carry of
/// the number of the region's argument %a has a constant.
std::string counted(const std::string &define, const std::string &limit, const std::string &addend) {
  return R"(
  %five = stablehlo.constant dense<5> : tensor<i32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %c:3 = stablehlo.while(%other = %five, %i = %first, %s = %b) : tensor<i32>, tensor<i32>, tensor<i32>
  cond {
    )" + define +
         "\n    %more = stablehlo.compare LT, %i, " + limit + R"( : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %sum = stablehlo.add %s, )" +
         addend + R"( : tensor<i32>
    stablehlo.return %other, %next, %sum : tensor<i32>, tensor<i32>, tensor<i32>
  }
)";
}

/// 3 a + b, by a constant count: not associative.
const std::string kCounted = counted("%limit = stablehlo.constant dense<3> : tensor<i32>", "%limit", "%a");
/// a + b, counting up to an element.
const std::string kCountedByElement = counted("", "%a", "%one");

std::string regionOf(const std::string &code, const std::string &result) {
  return "({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):" + code + "  stablehlo.return " + result + " : tensor<i32>\n})";
}

Numbers randomNumbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers numbers(count);
  for (int64_t &number : numbers)
    number = static_cast<int64_t>(1 + random() % 12) * static_cast<int64_t>(1 + random() % 20) * 6;
  return numbers;
}

/// Runs `operation` on %x, of `shape`, which gives %0. On eight devices %x is sharded along its first dimension.
std::string run(const std::string &operation, const std::vector<int64_t> &shape, const Numbers &values,
                const std::vector<int64_t> &resultShape, const Numbers &results, bool isSharded) {
  auto tensor = [](const std::vector<int64_t> &sizes) {
    std::string text = "tensor<";
    for (int64_t size : sizes)
      text += std::to_string(size) + "x";
    return text + "i32>";
  };
  std::string text =
      std::string("module {\n  sdy.mesh @mesh = <[\"d\"=8]>\n") + "func.func @main(%x: " + tensor(shape) +
      (isSharded
           ? " {sdy.sharding = #sdy.sharding<@mesh, [{\"d\"}" + std::string(shape.size() > 1 ? ", {}" : "") + "]>}"
           : "") +
      ") -> " + tensor(resultShape) + " {\n  %none = stablehlo.constant dense<0> : tensor<i32>\n" + operation +
      "\n  return %0 : " + tensor(resultShape) + "\n}\n}";
  nlohmann::json test = {
      {"arguments", {arrayOf(shape, values)}}, {"results", {arrayOf(resultShape, results)}}, {"tolerance", 0}};
  std::string difference = runBesideJax("regions.mlir", text, test);
  return difference.empty() ? "" : difference + "\n" + text;
}

class Regions : public ::testing::TestWithParam<bool> {};

TEST_P(Regions, ReduceByLoopOfEachElement) {
  Numbers values = randomNumbers(13 * 5, 1), expected(5, 0), largest(5, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    expected[i % 5] = std::gcd(expected[i % 5], values[i]);
    largest[i % 5] = std::max(largest[i % 5], values[i]);
  }
  auto reduce = [](const std::string &region) {
    return "%0 = \"stablehlo.reduce\"(%x, %none) <{dimensions = array<i64: 0>}> " + region +
           " : (tensor<13x5xi32>, tensor<i32>) -> tensor<5xi32>";
  };
  EXPECT_EQ(run(reduce(regionOf(kGcd, "%g#0")), {13, 5}, values, {5}, expected, GetParam()), "");
  EXPECT_EQ(run(reduce(regionOf(kMax, "%m")), {13, 5}, values, {5}, largest, GetParam()), "");
}

TEST_P(Regions, ReduceOfOneAndOfNone) {
  std::string reduce = "%0 = \"stablehlo.reduce\"(%x, %none) <{dimensions = array<i64: 1>}> " + regionOf(kGcd, "%g#0") +
                       " : (tensor<8x1xi32>, tensor<i32>) -> tensor<8xi32>";
  Numbers values = randomNumbers(8, 2);
  EXPECT_EQ(run(reduce, {8, 1}, values, {8}, values, GetParam()), "");
  std::string none = "%0 = \"stablehlo.reduce\"(%x, %none) <{dimensions = array<i64: 1>}> " + regionOf(kGcd, "%g#0") +
                     " : (tensor<8x0xi32>, tensor<i32>) -> tensor<8xi32>";
  EXPECT_EQ(run(none, {8, 0}, {}, {8}, Numbers(8, 0), GetParam()), "");
}

TEST_P(Regions, Windows) {
  Numbers values = randomNumbers(19, 3), expected;
  for (size_t i = 0; i + 4 <= values.size(); ++i)
    expected.push_back(std::accumulate(values.begin() + i, values.begin() + i + 4, int64_t(0),
                                       [](int64_t x, int64_t y) { return std::gcd(x, y); }));
  EXPECT_EQ(run("%0 = \"stablehlo.reduce_window\"(%x, %none) <{window_dimensions = array<i64: 4>}> " +
                    regionOf(kGcd, "%g#0") + " : (tensor<19xi32>, tensor<i32>) -> tensor<16xi32>",
                {19}, values, {16}, expected, GetParam()),
            "");
}

TEST_P(Regions, MapsByCountedLoops) {
  Numbers values = randomNumbers(11, 4), expected;
  for (int64_t value : values)
    expected.push_back(4 * value);
  EXPECT_EQ(run("%0 = \"stablehlo.map\"(%x, %x) <{dimensions = array<i64: 0>}> " + regionOf(kCounted, "%c#2") +
                    " : (tensor<11xi32>, tensor<11xi32>) -> tensor<11xi32>",
                {11}, values, {11}, expected, GetParam()),
            "");
}

// The end of the loop is an argument of the region around it, not a carry of the same number.
TEST_P(Regions, MapsByLoopsThatCountToAnElement) {
  Numbers values = {0, 1, 2, 3, 5, 8, 13, 21, 4, 6, 7}, expected;
  for (int64_t value : values)
    expected.push_back(2 * value);
  EXPECT_EQ(run("%0 = \"stablehlo.map\"(%x, %x) <{dimensions = array<i64: 0>}> " + regionOf(kCountedByElement, "%c#2") +
                    " : (tensor<11xi32>, tensor<11xi32>) -> tensor<11xi32>",
                {11}, values, {11}, expected, GetParam()),
            "");
}

/// Branches by an index: the last one is taken by every index outside of the range.
TEST_P(Regions, MapsByIndices) {
  Numbers values = {-3, 0, 1, 2, 3, 100, -1, 1, 0}, expected;
  for (int64_t value : values)
    expected.push_back(value == 0 ? 1000 : value == 1 ? -value : 2 * value);
  std::string code = R"(
  %m = "stablehlo.case"(%a) ({
    %t = stablehlo.constant dense<1000> : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }, {
    %t = stablehlo.negate %b : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }, {
    %t = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
)";
  EXPECT_EQ(run("%0 = \"stablehlo.map\"(%x, %x) <{dimensions = array<i64: 0>}> " + regionOf(code, "%m") +
                    " : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32>",
                {9}, values, {9}, expected, GetParam()),
            "");
}

/// A comparator with a branch is the order that it computes.
TEST_P(Regions, Sorts) {
  Numbers values = randomNumbers(24, 5), expected = values;
  std::sort(expected.begin(), expected.end(), std::greater<>());
  std::string code = R"(
  %less = stablehlo.compare LT, %b, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %m = "stablehlo.if"(%less) ({
    %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
    %t = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<i1>) -> tensor<i1>
  stablehlo.return %m : tensor<i1>
})";
  EXPECT_EQ(run("%0 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n^bb0(%a: tensor<i32>, %b: "
                "tensor<i32>):" +
                    code + ") : (tensor<24xi32>) -> tensor<24xi32>",
                {24}, values, {24}, expected, GetParam()),
            "");
}

/// At unique indices a scatter combines each element once, by any code; at others, branches are found to be
/// associative.
TEST_P(Regions, Scatters) {
  Numbers values = randomNumbers(16, 6), once = values, often = values;
  const int64_t indices[] = {3, 3, 9, 14, 3};
  std::string text = "%u = stablehlo.constant dense<[12, 90, 36, 7, 660]> : tensor<5xi32>\n";
  const int64_t updates[] = {12, 90, 36, 7, 660};
  const int64_t unique[] = {3, 4, 9, 14, 0};
  for (size_t i = 0; i < 5; ++i) {
    often[indices[i]] = std::max(often[indices[i]], updates[i]);
    once[unique[i]] = std::gcd(once[unique[i]], updates[i]);
  }
  auto scatter = [&](const std::string &at, const std::string &isUnique, const std::string &region) {
    return text + "%i = stablehlo.constant dense<" + at + "> : tensor<5x1xi32>\n" +
           "%0 = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<"
           "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = " +
           isUnique + "}> " + region + " : (tensor<16xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<16xi32>";
  };
  EXPECT_EQ(
      run(scatter("[[3], [4], [9], [14], [0]]", "true", regionOf(kGcd, "%g#0")), {16}, values, {16}, once, GetParam()),
      "");
  std::string choose = R"(
  %less = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %m = "stablehlo.if"(%less) ({
    stablehlo.return %b : tensor<i32>
  }, {
    stablehlo.return %a : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
)";
  EXPECT_EQ(run(scatter("[[3], [3], [9], [14], [3]]", "false", regionOf(choose, "%m")), {16}, values, {16}, often,
                GetParam()),
            "");
}

INSTANTIATE_TEST_SUITE_P(Sharded, Regions, ::testing::Bool());

} // namespace
