//===- ConcatenatedSlicesTest.cpp - concatenations of slices, executed -----------===//
//
// Halos of periodic arrays, swapped halves and repeated arrays as programs write them: concatenations of slices of one
// array, also of element-wise functions of them, with random shardings and sizes, along one dimension or several. Every
// stage gives the results of the unpartitioned program, and devices send no more bytes than the elements of their
// shards that they do not hold.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace spmdc;

namespace {

class JoinedPartsPrograms : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  static std::string number(int64_t value) { return std::to_string(value); }

  /// Returns the array with `before` rows in front and `behind` rows behind it, as if it were periodic.
  std::string halo(const std::string &array, int64_t before, int64_t behind, int64_t axis = 0) const {
    std::string all = axis == 0 ? "" : ":, ";
    std::string text = "concatenate([";
    if (before > 0)
      text += array + "[" + all + "-" + number(before) + ":], ";
    text += array;
    if (behind > 0)
      text += ", " + array + "[" + all + ":" + number(behind) + "]";
    return text + "], axis=" + number(axis) + ")";
  }

  /// Returns a sum of rows of `array`, which has a halo, each shifted by at most the width of the halo.
  std::string makeSum(const std::string &array, int64_t before, int64_t behind) {
    std::string sum;
    for (int64_t i = random.integer(2, 4); i > 0; --i) {
      int64_t at = i == 1 ? before : random.integer(0, before + behind);
      sum +=
          (sum.empty() ? "" : " + ") + number(i) + ".0 * " + array + "[" + number(at) + ":" + number(at + rows) + "]";
    }
    return sum;
  }

  /// Returns the array with the parts before and behind `at` swapped, each with its own function.
  std::string makeSwapped(const std::string &array, int64_t at) {
    auto computed = [&](const std::string &part) {
      return random.pick(std::vector<std::string>{part, "-" + part, "2.0 * " + part,
                                                  "(" + part + " * " + part + " - 1.0)", "(" + part + " + x[:1])"});
    };
    return "concatenate([" + computed(array + "[" + number(at) + ":]") + ", " +
           computed(array + "[:" + number(at) + "]") + "], axis=0)";
  }

  std::string makeText(const std::string &body, int64_t resultRows, int64_t resultColumns = 5) {
    std::string size = number(rows) + "@" + cut;
    return "mesh m(a=" + number(devices) + ", b=2)\nfn loss(x, y) { return sum(" + makeSwapped("x", half) +
           " * y); }\nfn main(x: f32[" + size + ", 5], p: bool) -> f32[" + number(resultRows) + "@" + cut + ", " +
           number(resultColumns) + "] {\n" + body + "}\n";
  }

  Random random{static_cast<uint64_t>(97000 + GetParam())};
  int64_t devices = 2, rows = 1, half = 1;
  std::string cut = "a";
};

constexpr int kBlocks = 2, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(JoinedPartsPrograms, SendOnceWhatIsMissing) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    rows = devices * random.integer(4, 9);
    half = random.integer(1, rows - 1);
    cut = "a";
    int64_t before = random.integer(0, 2), behind = random.integer(before == 0 ? 1 : 0, 2);
    std::string text;
    double most = 0; // The rows that one device does not hold.
    if (random.chance(60)) {
      // Each device reads its own rows, and the rows of the halo beside them.
      text = makeText("  let y = " + halo("x", before, behind) + ";\n  return " + makeSum("y", before, behind) + ";\n",
                      rows);
      most = static_cast<double>(before + behind);
    } else {
      // No element of a permutation is needed twice.
      text = makeText("  return concatenate([-x[" + number(half) + ":], x[:" + number(half) + "]], axis=0);\n", rows);
      most = static_cast<double>(std::min(rows / devices, std::min(half, rows - half)));
    }
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    EXPECT_LE(sentBytes(*module), 4.0 * 5 * most);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

TEST_P(JoinedPartsPrograms, OfAnySizesAndShardings) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    rows = random.integer(3, 30);
    half = random.integer(1, rows - 1);
    cut = random.pick(std::vector<std::string>{"a", "b", "(a, b)", "(b, a)"});
    int64_t before = random.integer(0, 2), behind = random.integer(before == 0 ? 1 : 0, 2);
    std::string y = "  let y = " + halo("x", before, behind) + ";\n";
    std::string text;
    switch (random.integer(0, 8)) {
    case 0:
      text = makeText("  return " + halo("x", before, behind) + ";\n", rows + before + behind);
      break;
    case 1:
      text = makeText(y + "  return " + makeSum("y", before, behind) + " - x;\n", rows);
      break;
    case 2:
      text = makeText(y + "  return " + halo("y", 1, 1, 1) + ";\n", rows + before + behind, 7);
      break;
    case 3:
      text = makeText("  let y = " + halo("x", 1, 1, 1) + ";\n  let z = " + halo("y", before, behind) +
                          ";\n  return z[:" + number(rows) + ", 2:] + z[" + number(before + behind) + ":, :-2] - x;\n",
                      rows);
      break;
    case 4:
      text = makeText("  return " + makeSwapped("x", half) + ";\n", rows);
      break;
    case 5:
      text = makeText("  return grad(loss)(x, 2.0 * x);\n", rows);
      break;
    case 6:
      text =
          makeText("  return tile(x, [" + number(random.integer(2, 3)) + ", 1])[:" + number(rows) + "] + x;\n", rows);
      break;
    case 7:
      text = makeText("  return for i in 0..3 carry (t = x) {\n  let y = " + halo("t", before, behind) +
                          ";\n  yield 0.5 * t + " + makeSum("y", before, behind) + ";\n  };\n",
                      rows);
      break;
    default:
      text = makeText("  return if p { " + makeSwapped("x", half) + " } else { roll(" + makeSwapped("x", half) +
                          ", 2, axis=0) };\n",
                      rows);
    }
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, random.chance(50) ? bytesAlone() : CostModel());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, JoinedPartsPrograms, ::testing::Range(0, kBlocks));

} // namespace
