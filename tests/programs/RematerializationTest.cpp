//===- RematerializationTest.cpp - rematerializable values, executed --------------===//
//
// Biases and masks that are broadcast along full arrays with random shardings: each device receives every bias at most,
// and neither broadcast rows nor values computed from them. Random programs, in loops and branches too; every stage
// gives the results of the unpartitioned program.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

class Rematerialization : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  std::string cut(int64_t size) {
    return std::to_string(size) + random.pick(std::vector<std::string>{"@a", "@b", "@(a, b)", "@(b, a)", "@_"});
  }

  /// Returns a value for each element of the array, computed from biases, masks and numbers.
  std::string makeTerm(int depth) {
    std::string next = depth > 0 ? makeTerm(depth - 1) : "c";
    return random.pick(std::vector<std::string>{"c", "r[:, None]", "(c * 2.0 - c)", "(" + next + " + r[:, None])",
                                                "max(" + next + ", broadcast_to(s, [n, m]))",
                                                "where(rows >= columns, " + next + ", 0.0)",
                                                "where(rows == 2, c, r[:, None])", "where(p, ones(f32[n, m]), c)"});
  }

  std::string makeText() {
    rowCount = random.integer(3, 30), columnCount = random.integer(3, 30);
    std::string n = std::to_string(rowCount), m = std::to_string(columnCount);
    std::string text = "mesh m(a=" + std::to_string(random.pick({2, 3})) + ", b=2)\nconst n = " + n +
                       ";\nconst m = " + m + ";\nfn main(x: f32[n@_, m@_], c: f32[" + cut(columnCount) + "], r: f32[" +
                       cut(rowCount) +
                       "], s: f32, p: bool) -> f32[n@_, m@_] {\n"
                       "  let rows = iota(i32[n, m], axis=0);\n  let columns = iota(i32[n, m], axis=1);\n  let y = " +
                       random.pick(std::vector<std::string>{"x + ", "x * 2.0 - ", "relu(x) * "}) + makeTerm(2) + ";\n";
    return text +
           random.pick(std::vector<std::string>{
               "  return y;\n",
               "  return y + " + makeTerm(1) + ";\n",
               "  return relu(y) - y;\n",
               "  return for i in 0..3 carry (t = y) { yield relu(t - " + makeTerm(1) + "); };\n",
               "  return if p { y + " + makeTerm(1) + " } else { x - " + makeTerm(1) + " };\n",
           }) +
           "}\n";
  }

  Random random{static_cast<uint64_t>(81000 + GetParam())};
  int64_t rowCount = 0, columnCount = 0;
  int sending = 0; ///< The number of programs that gather a bias.
};

constexpr int kBlocks = 2, kPerBlock = 60, kCompiledEvery = 6;

TEST_P(Rematerialization, SendsNoMoreThanItIsMadeOf) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::string text = makeText();
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    // Each bias, and a function of it before it is broadcast (twice a bias, or its sum with itself).
    EXPECT_LE(sentBytes(*module), 2 * 4.0 * static_cast<double>(rowCount + columnCount));
    sending += sentBytes(*module) > 0;
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
  EXPECT_GE(sending, kPerBlock / 4);
}

INSTANTIATE_TEST_SUITE_P(Blocks, Rematerialization, ::testing::Range(0, kBlocks));

} // namespace
