//===- RollsTest.cpp - rolls, executed ------------------------------------===//
//
// Periodic stencils: random sums of rolls of one array with random shardings and sizes, along one dimension or several,
// in loops and branches too. Every stage gives the results of the unpartitioned program, and devices send no more bytes
// than the halo of the farthest roll.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace spmdc;

namespace {

class Rolls : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  /// Returns one roll along the rows, and widens the halo by it.
  std::string roll(const std::string &array) {
    int64_t by = random.integer(-3, 3);
    before = std::max(before, by);
    behind = std::max(behind, -by);
    return "roll(" + array + ", " + std::to_string(by) + ", axis=0)";
  }

  std::string makeSum(const std::string &array) {
    std::string sum = roll(array);
    for (int64_t i = random.integer(0, 3); i > 0; --i)
      sum += " + " + std::to_string(i + 1) + ".0 * " + roll(array);
    return sum;
  }

  std::string makeText(const std::string &body) {
    return "mesh m(a=" + std::to_string(devices) + ", b=2)\nfn main(x: f32[" + std::to_string(rows) + "@" + cut +
           ", 5], p: bool) -> f32[" + std::to_string(rows) + "@" + cut + ", 5] {\n" + body + "}\n";
  }

  Random random{static_cast<uint64_t>(83000 + GetParam())};
  int64_t devices = 2, rows = 1;
  std::string cut = "a";
  int64_t before = 0, behind = 0; ///< The widths of the halo.
};

constexpr int kBlocks = 2, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(Rolls, SendTheEdgesOnce) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    before = behind = 0;
    devices = random.pick({2, 3, 4});
    rows = devices * random.integer(4, 9);
    cut = "a";
    std::string text = makeText("  return " + makeSum("x") + " - x;\n");
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    EXPECT_LE(sentBytes(*module), 4.0 * 5 * static_cast<double>(before + behind));
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

TEST_P(Rolls, OfAnySizesAndShardings) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    rows = random.integer(3, 30);
    cut = random.pick(std::vector<std::string>{"a", "b", "(a, b)", "(b, a)"});
    std::string size = std::to_string(rows - 2);
    std::string text = makeText(random.pick(std::vector<std::string>{
        "  return " + makeSum("x") + ";\n",
        "  let y = " + makeSum("x") + ";\n  return " + makeSum("y") + ";\n",
        "  return roll(" + makeSum("x") + ", 2, axis=1);\n",
        "  let y = pad(x[2:], [(1, 1), (0, 0)]);\n  return " + makeSum("x") + " + y;\n",
        "  let y = " + roll("x") + ";\n  return y + pad(y[:" + size + "], [(2, 0), (0, 0)]) - x;\n",
        "  return for i in 0..3 carry (t = x) { yield t * 0.5 + " + makeSum("t") + "; };\n",
        "  return if p { " + makeSum("x") + " } else { x - " + roll("x") + " };\n",
    }));
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Rolls, ::testing::Range(0, kBlocks));

} // namespace
