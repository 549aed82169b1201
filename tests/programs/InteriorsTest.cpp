//===- InteriorsTest.cpp - updates of interiors, executed -----------------===//
//
// Steps of stencils as users write them: random sums of slices of arrays, which replace the interior of an array by
// `update`, are concatenated with its ends, or get a border by `pad`. Random shardings and sizes, also in loops. Every
// stage gives the results of the unpartitioned program, and devices send no more bytes than the halos that the slices
// need.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace spmdc;

namespace {

class Interiors : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  /// The numbers of rows and columns at either end that do not belong to the interior.
  struct Border {
    int64_t low = 0, high = 0;
  };

  static std::string range(int64_t from, int64_t size) {
    return std::to_string(from) + ":" + std::to_string(from + size);
  }

  /// Returns a slice of the interior's size, at most a few elements away from it.
  std::string slice(const std::string &array) {
    int64_t row = random.integer(0, rowBorder.low + rowBorder.high);
    int64_t column = random.integer(0, columnBorder.low + columnBorder.high);
    before = std::max(before, rowBorder.low - row);
    behind = std::max(behind, row - rowBorder.low);
    return array + "[" + range(row, rows - rowBorder.low - rowBorder.high) + ", " +
           range(column, columns - columnBorder.low - columnBorder.high) + "]";
  }

  std::string makeSum(const std::string &array) {
    std::string sum = slice(array);
    for (int64_t i = random.integer(1, 3); i > 0; --i)
      sum += random.pick(std::vector<std::string>{" + 2.0 * ", " - ", " + "}) + slice(random.chance(80) ? array : "f");
    return sum;
  }

  /// Returns a statement that puts the interior back.
  std::string makeStep(const std::string &array) {
    std::string sum = makeSum(array);
    switch (random.integer(0, columnBorder.low + columnBorder.high == 0 ? 2 : 1)) {
    case 0:
      return "update(" + array + ", " + sum + ", start=[" + std::to_string(rowBorder.low) + ", " +
             std::to_string(columnBorder.low) + "])";
    case 1:
      return "pad(" + sum + ", [(" + std::to_string(rowBorder.low) + ", " + std::to_string(rowBorder.high) + "), (" +
             std::to_string(columnBorder.low) + ", " + std::to_string(columnBorder.high) + ")], 3.0)";
    default:
      return "concatenate([" + array + "[" + range(0, rowBorder.low) + "], " + sum + ", " + array + "[" +
             range(rows - rowBorder.high, rowBorder.high) + "]], axis=0)";
    }
  }

  void drawBorders() {
    rowBorder = {random.integer(0, 2), random.integer(0, 2)};
    columnBorder = random.chance(50) ? Border() : Border{random.integer(0, 1), random.integer(0, 1)};
    before = behind = 0;
  }

  std::string makeText(const std::string &body, const std::string &functions = "") {
    std::string type = "f32[" + std::to_string(rows) + "@" + cut + ", " + std::to_string(columns) + "]";
    return "mesh m(a=" + std::to_string(devices) + ", b=2)\n" + functions + "fn main(x: " + type + ", f: " + type +
           ") -> " + type + " {\n" + body + "}\n";
  }

  Random random{static_cast<uint64_t>(91000 + GetParam())};
  int64_t devices = 2, rows = 1, columns = 6;
  std::string cut = "a";
  Border rowBorder, columnBorder;
  int64_t before = 0, behind = 0; ///< The widths of the halo.
};

constexpr int kBlocks = 2, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(Interiors, SendTheEdgesOnce) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    rows = devices * random.integer(14, 20); // Borders are small compared with a shard.
    columns = 40;
    cut = "a";
    drawBorders();
    std::string text = makeText("  return " + makeStep("x") + ";\n");
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    // The halos of x and of f.
    EXPECT_LE(sentBytes(*module), 2 * 4.0 * static_cast<double>(columns * (before + behind)));
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

TEST_P(Interiors, OfAnySizesAndShardings) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    rows = random.integer(5, 40);
    columns = random.integer(3, 12);
    cut = random.pick(std::vector<std::string>{"a", "b", "(a, b)", "(b, a)"});
    drawBorders();
    std::string text =
        makeText(random.pick(std::vector<std::string>{
                     "  return " + makeStep("x") + ";\n",
                     "  let y = " + makeStep("x") + ";\n  return " + makeStep("y") + ";\n",
                     "  let y = " + makeStep("x") + ";\n  return y + transpose(transpose(" + makeStep("x") + "));\n",
                     "  return for i in 0..3 carry (t = x) { yield " + makeStep("t") + "; };\n",
                     "  return grad(loss)(x, f);\n",
                 }),
                 "fn loss(x, f) { return sum(" + makeStep("x") + " * f); }\n");
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random);
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Interiors, ::testing::Range(0, kBlocks));

} // namespace
