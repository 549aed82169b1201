//===- ConstantIndicesTest.cpp - lookups at constant indices, executed -------===//
//
// Lookups as NumPy users write them, by functions of `arange`: forwards and backwards, in steps, repeated, rolled,
// clipped, in windows, along diagonals, of arrays with random shardings and sizes. Every stage gives the results of the
// unpartitioned program, which looks elements up one by one; a roll and a diagonal send only elements that devices do
// not hold.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace spmdc;

namespace {

class ConstantIndices : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  static std::string number(int64_t value) { return std::to_string(value); }

  /// Returns an integer function of positions, of any size.
  std::string makeExpression(const std::string &positions, int depth) {
    if (depth == 0)
      return positions;
    std::string x = makeExpression(positions, depth - 1), k = number(random.integer(1, 4));
    std::string c = number(random.integer(-rows, rows));
    switch (random.integer(0, 10)) {
    case 0:
      return "(" + x + " + " + c + ")";
    case 1:
      return "(" + c + " - " + x + ")";
    case 2:
      return "(" + x + " * " + k + ")";
    case 3:
      return "(" + x + " % " + number(random.integer(1, rows)) + ")";
    case 4:
      return "floor_divide(" + x + ", " + k + ")";
    case 5:
      return "minimum(" + x + ", " + c + ")";
    case 6:
      return "maximum(" + x + ", " + c + ")";
    case 7:
      return "abs(" + x + ")";
    case 8:
      return "where(" + x + " < " + c + ", " + x + ", " + k + ")";
    case 9:
      return "where(" + x + " == " + c + ", 0, " + x + ")";
    default:
      return "(" + x + " + " + positions + ")";
    }
  }

  std::string makeText(const std::string &value) {
    std::string size = number(rows) + "@" + sharding, other = number(columns) + "@" + otherSharding;
    // For an index out of bounds, `take` returns NaN or the least integer.
    bool isTaken = value.starts_with("take");
    return "mesh m(a=" + number(devices) + ", b=2)\nfn loss(x) { return sum((" + value +
           ") ** 2); }\nfn main(x: " + (isTaken ? "i32" : "f32") + "[" + size + ", " + other + "]) {\n  return " +
           (isGradient && !isTaken ? "grad(loss)(x)" : value) + ";\n}\n";
  }

  Random random{static_cast<uint64_t>(98000 + GetParam())};
  int64_t devices = 2, rows = 1, columns = 5;
  std::string sharding = "a", otherSharding = "_";
  bool isGradient = false;
};

constexpr int kBlocks = 2, kPerBlock = 60, kCompiledEvery = 4;

TEST_P(ConstantIndices, AnyFunction) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    rows = random.integer(2, 24);
    columns = random.integer(2, 12);
    sharding = random.pick(std::vector<std::string>{"a", "b", "(a, b)", "_"});
    otherSharding = sharding == "a" && random.chance(30) ? "b" : sharding == "_" && random.chance(70) ? "a" : "_";
    isGradient = random.chance(20);
    std::string count = number(random.integer(1, rows + 3)), few = number(random.integer(1, 3));
    int depth = static_cast<int>(random.integer(0, 4));
    std::string line = makeExpression("arange(" + count + ")", depth);
    std::string windows =
        makeExpression("(arange(" + count + ")[:, None] * " + few + " + arange(" + few + "))", depth / 2);
    std::string grid = makeExpression("reshape(arange(" + number(2 * rows) + "), [2, -1])", depth / 2);
    std::string diagonal = "arange(" + number(std::min(rows, columns)) + ")";
    std::string value = random.pick(std::vector<std::string>{
        "x[" + line + "]",
        "x[:, " + line + "]",
        "take(x, " + windows + ", axis=0)",
        "x[" + windows + "]",
        "x[" + grid + "]",
        "x[" + diagonal + ", " + makeExpression(diagonal, depth / 2) + "]",
        "x[" + line + "[:, None], arange(" + number(columns) + ")]",
        "take_along_axis(x, " + line + "[:, None], axis=0)",
    });
    std::string text = makeText(value);
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, random.chance(50) ? bytesAlone() : CostModel());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

TEST_P(ConstantIndices, SendWhatIsMissing) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    rows = devices * random.integer(3, 8);
    columns = random.chance(50) ? rows : random.integer(rows, rows + 5);
    sharding = "a";
    otherSharding = "_";
    std::string value, type = number(rows) + "@a";
    double most = 0;
    int64_t by = random.integer(-2, 2);
    switch (random.integer(0, 2)) {
    case 0: // A roll.
      value = "x[(arange(" + number(rows) + ") + " + number(by) + ") % " + number(rows) + "]";
      type += ", " + number(columns);
      most = static_cast<double>(std::abs(by) * columns);
      break;
    case 1: // A diagonal of the rows' own elements.
      value = "x[arange(" + number(rows) + "), arange(" + number(rows) + ")]";
      break;
    default: // A diagonal of the columns' own elements.
      columns = rows;
      std::swap(sharding, otherSharding);
      value = "x[arange(" + number(rows) + "), arange(" + number(rows) + ")]";
    }
    std::string text = "mesh m(a=" + number(devices) + ", b=2)\nfn main(x: f32[" + number(rows) + "@" + sharding +
                       ", " + number(columns) + "@" + otherSharding + "]) -> f32[" + type + "] { return " + value +
                       "; }\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    EXPECT_LE(sentBytes(*module), 4.0 * most);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, ConstantIndices, ::testing::Range(0, kBlocks));

} // namespace
