//===- GpuRandomControlTest.cpp - random nests of loops and branches ------===//

#include "tests/programs/generator/Random.h"
#include "tests/runtime/exec/cuda/ProgramCheckHelper.h"

#include <gtest/gtest.h>

#include <string>

using namespace spmd::test;

namespace {

/// Statements that give `y` other small integers: loops and branches of random form, whose ends depend on the values.
class RandomControl {
public:
  explicit RandomControl(uint64_t seed) : random(seed) {}

  std::string makeProgram() {
    return "fn main(x: f32[6]) {\n  let y = abs(x) % 9.0;\n" + makeStatements(3, "  ") + "  return y;\n}\n";
  }

private:
  std::string makeStatements(int depth, const std::string &indent) {
    std::string text;
    for (int64_t count = random.integer(0, 2) + 1; count > 0; --count)
      text += indent + "let y = " + makeExpression(depth, indent) + ";\n";
    return text;
  }

  /// `{`, statements, `yield y`, `}`.
  std::string makeBlock(int depth, const std::string &indent, const std::string &results) {
    return "{\n" + makeStatements(depth, indent + "  ") + indent + "  " + results + "\n" + indent + "}";
  }

  std::string makeExpression(int depth, const std::string &indent) {
    const std::string sum = "sum(y) % " + std::to_string(random.integer(0, 3) + 2) + ".0";
    switch (depth == 0 ? 0 : random.integer(0, 3)) {
    case 1:
      return "if " + sum + " < 2.0 " + makeBlock(depth - 1, indent, "y") + " else " +
             (random.integer(0, 1) ? makeBlock(depth - 1, indent, "y") : "{ y }");
    case 2:
      return "(while cast(k, f32) < " + sum + " && k < 4 carry (y = y, k = 0) " +
             makeBlock(depth - 1, indent, "yield (y, k + 1);") + ")[0]";
    case 3:
      return "for i in -1.." + std::to_string(random.integer(0, 2)) + " carry (y = y) " +
             makeBlock(depth - 1, indent, random.integer(0, 1) ? "yield (y + cast(i, f32)) % 9.0;" : "yield y;");
    default: {
      const char *leaves[] = {"sort(y)[::-1]", "cumsum(y) % 9.0", "(y * 2.0 + 1.0) % 7.0", "sort(y + y[::-1]) % 9.0"};
      return leaves[random.integer(0, 3)];
    }
    }
  }

  spmdc::Random random;
};

class GpuRandomControl : public testing::TestWithParam<int> {};

TEST_P(GpuRandomControl, HasTheBitsOfCpus) {
  for (uint64_t i = 0; i < 4; ++i) {
    uint64_t seed = static_cast<uint64_t>(GetParam()) * 4 + i;
    SCOPED_TRACE(seed);
    checkOnGpus(RandomControl(seed).makeProgram(), {.areExact = true, .seed = seed});
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, GpuRandomControl, testing::Range(0, 8));

} // namespace
