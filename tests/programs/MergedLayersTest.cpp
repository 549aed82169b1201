//===- MergedLayersTest.cpp - layers on merged dimensions, executed -------===//
//
// Random programs as model code has them: a reshape merges batch and sequence, products, reductions and element-wise
// operations follow, and the two dimensions are split again or summed over; also gradients. Each program is also
// written without the reshapes, which gives the expected results and the number of bytes that it may send. Elements are
// small integers.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

/// Steps of a layer, and the use of the last one.
enum class Step { Product, Relu, Double, Bias, Shift, Multiply, Sort, Part, Twice, Count };
enum class End { Apart, Sum, SumOfRows, Gradient, Count };

struct Recipe {
  int64_t batch, length, width;
  std::vector<std::string> axes; ///< The axes of the three dimensions.
  std::vector<Step> steps;
  std::vector<int64_t> widths; ///< The widths of products.
  End end;
  bool infersRows; ///< -1 in the reshape.

  std::string dim(size_t which, int64_t size) const {
    return std::to_string(size) + (axes[which].empty() ? "" : "@" + axes[which]);
  }

  /// Returns the program, with batch and sequence merged or separate.
  std::string str(bool isMerged) const {
    std::string rows = std::to_string(batch * length), text, weights, names;
    auto merge = [&](const std::string &name) {
      std::string count = infersRows ? "-1" : rows;
      return isMerged ? "reshape(" + name + ", [" + count + ", " + std::to_string(width) + "])" : name;
    };
    std::string x = "f64[" + dim(0, batch) + ", " + dim(1, length) + ", " + dim(2, width) + "]";
    text = "  let g = " + merge("y") + ";\n  let c0 = " + merge("x") + ";\n";
    int64_t now = width, product = 0;
    int i = 0;
    for (Step step : steps) {
      std::string c = "c" + std::to_string(i), e;
      std::string weight = "w" + std::to_string(i);
      auto parameter = [&](const std::string &type) {
        weights += ", " + weight + ": " + type;
        names += ", " + weight;
      };
      switch (step) {
      case Step::Product: {
        int64_t next = widths[static_cast<size_t>(product++)];
        parameter("f64[" + std::to_string(now) + "@_, " + std::to_string(next) + "@_]");
        now = next;
        e = c + " @ " + weight;
        break;
      }
      case Step::Relu:
        e = "relu(" + c + ")";
        break;
      case Step::Double:
        e = "2.0 * " + c;
        break;
      case Step::Bias:
        parameter("f64[" + std::to_string(now) + "@_]");
        e = c + " + " + weight;
        break;
      case Step::Shift:
        // The derivative of a maximum divides by the number of equal elements, which gives fractions.
        e = c + " - stop_gradient(max(" + c + ", axis=-1, keepdims=true))";
        break;
      case Step::Multiply:
        e = now == width ? c + " * g" : "abs(" + c + ")";
        break;
      case Step::Sort:
        e = "sort(" + c + ", axis=-1)";
        break;
      case Step::Part:
        e = now > 1 ? c + (isMerged ? "[:, 1:]" : "[:, :, 1:]") : c + " * " + c;
        now -= now > 1;
        break;
      case Step::Twice:
        e = "concatenate([" + c + ", " + c + "], axis=-1)";
        now *= 2;
        break;
      case Step::Count:
        break;
      }
      text += "  let c" + std::to_string(++i) + " = " + e + ";\n";
    }
    std::string last = "c" + std::to_string(i), result, value;
    switch (end) {
    case End::Apart:
      result = " -> f64[" + dim(0, batch) + ", " + dim(1, length) + ", " + std::to_string(now) + "@_]";
      value = isMerged ? "reshape(" + last + ", [" + std::to_string(batch) + ", " + std::to_string(length) + ", " +
                             std::to_string(now) + "])"
                       : last;
      break;
    case End::Sum:
    case End::Gradient:
      value = "sum(" + last + " * " + last + ")";
      break;
    case End::SumOfRows:
      result = " -> f64[" + std::to_string(now) + "@_]";
      value = "sum(" + last + ", axis=" + (isMerged ? "0" : "[0, 1]") + ")";
      break;
    case End::Count:
      break;
    }
    std::string first = "p: f64[" + std::to_string(width) + "@_]",
                parameters = first + weights + ", x: " + x + ", y: " + x;
    std::string body = "  let x = x * p;\n" + text + "  return " + value + ";\n}\n";
    if (end != End::Gradient)
      return "fn main(" + parameters + ")" + result + " {\n" + body;
    return "fn loss(" + parameters + ") {\n" + body + "fn main(" + parameters + ") {\n  return grad(loss)(p" + names +
           ", x, y);\n}\n";
  }
};

class MergedLayers : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  Random random{static_cast<uint64_t>(64000 + GetParam())};

  Recipe makeRecipe() {
    Recipe recipe;
    recipe.batch = random.integer(2, 5);
    recipe.length = random.integer(2, 9);
    recipe.width = random.integer(1, 5);
    recipe.axes = {"", "a", ""};
    if (random.chance(50))
      recipe.axes[random.chance(70) ? 0 : 2] = "b";
    if (random.chance(20))
      recipe.axes = {"", random.chance(50) ? "(a, b)" : "(b, a)", ""};
    for (int64_t i = random.integer(1, 4); i > 0; --i) {
      recipe.steps.push_back(static_cast<Step>(random.integer(0, static_cast<int64_t>(Step::Count) - 1)));
      if (recipe.steps.back() == Step::Product)
        recipe.widths.push_back(random.integer(1, 5));
    }
    recipe.end = static_cast<End>(random.integer(0, static_cast<int64_t>(End::Count) - 1));
    recipe.infersRows = random.chance(50);
    return recipe;
  }
};

constexpr int kBlocks = 4, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(MergedLayers, SendNoMoreThanWithoutReshapes) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::string mesh = "mesh m(a=" + std::to_string(random.integer(2, 4)) + ", b=2)\n";
    Recipe recipe = makeRecipe();
    std::string text = mesh + recipe.str(/*isMerged=*/true), apart = mesh + recipe.str(/*isMerged=*/false);
    SCOPED_TRACE(text + apart);
    Random same = random;
    auto [sample, module] = partition(text, random, bytesAlone());
    auto [sampleApart, moduleApart] = partition(apart, same, bytesAlone());
    ASSERT_TRUE(module && moduleApart);
    for (auto [result, expected] : llvm::zip_equal(sample.results, sampleApart.results))
      for (auto [x, y] : llvm::zip_equal(result.elements, expected.elements))
        ASSERT_EQ(x.f, y.f);
    EXPECT_LE(sentBytes(*module), sentBytes(*moduleApart));
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, MergedLayers, ::testing::Range(0, kBlocks));

} // namespace
