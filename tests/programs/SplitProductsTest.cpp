//===- SplitProductsTest.cpp - products with parts of weights, executed ---===//
//
// Random programs that use parts of products, or multiply concatenated parts, with the derivatives of both, with random
// shardings, in loops too: every stage gives the results of the unpartitioned program. Weights are small, so that the
// partitioner moves their parts.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "ir/array/ArrayOps.h"
#include "passes/pipeline/Pipeline.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

class SplitProducts : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  std::string cut(const std::string &size) {
    return size + random.pick(std::vector<std::string>{"@a", "@b", "@(a, b)", "@(b, a)", "@_"});
  }
  /// Returns two dimensions sharded over different axes.
  std::string shardBoth(const std::string &rows, const std::string &columns) {
    bool isSwapped = random.integer(0, 1) == 1;
    std::string first = random.pick(std::vector<std::string>{"@a", "@a", "@_"}), second = "@b";
    return rows + (isSwapped ? second : first) + ", " + columns + (isSwapped ? first : second);
  }

  /// Returns the parts of `y` with these sizes, along a dimension.
  std::string listParts(const std::vector<int64_t> &sizes, bool areRows) {
    std::string text;
    int64_t start = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      std::string range = std::to_string(start) + ":" + std::to_string(start + sizes[i]);
      text += "  let p" + std::to_string(i) + " = y[" + (areRows ? range : ":, " + range) + "];\n";
      start += sizes[i];
    }
    return text;
  }

  /// Returns an expression of the parts that gives each of them users of its own: a number for the sum of squares, or
  /// rows.
  std::string sumParts(size_t count) {
    std::string text = "0.0";
    for (size_t i = 0; i < count; ++i)
      text += " + sum(p" + std::to_string(i) + ") * " + std::to_string(i + 1) + ".0";
    return text;
  }

  std::string makeText() {
    std::vector<int64_t> sizes;
    int64_t columns = 0, same = random.integer(2, 9);
    bool isEven = random.integer(0, 1) == 1;
    for (int64_t i = random.integer(2, 4); i > 0; --i)
      columns += sizes.emplace_back(isEven ? same : random.integer(1, 12));
    std::string n = std::to_string(random.integer(24, 60)), k = std::to_string(random.integer(2, 5)),
                m = std::to_string(columns);
    std::string text = "mesh m(a=" + std::to_string(random.pick({2, 3})) + ", b=2)\nconst n = " + n +
                       ";\nconst k = " + k + ";\nconst m = " + m + ";\n";
    std::string arguments = "x: f32[" + shardBoth("n", "k") + "], w: f32[" + shardBoth("k", "m") + "], c: f32[" +
                            cut("m") + "], v: f32[" + shardBoth("m", "k") + "]";
    bool areRows = random.integer(0, 3) == 0;
    std::string product = areRows ? "w.T @ x.T" : "x @ w";
    std::string bias = random.pick(std::vector<std::string>{"", areRows ? " + c[:, None]" : " + c", " * 2.0"});
    std::string take = "  let y = " + product + bias + ";\n" + listParts(sizes, areRows);
    std::string parts;
    for (size_t i = 0; i < sizes.size(); ++i)
      parts += (i ? ", p" : "p") + std::to_string(i);
    // Squares of parts, concatenated again: products of a concatenation, and in their derivative products of slices.
    std::string squares = "concatenate([" + parts + "], axis=" + (areRows ? "0" : "1") + ") * " + "2.0";
    std::string joined = areRows ? "(" + squares + ").T @ v" : "(" + squares + ") @ v";
    switch (random.integer(0, 4)) {
    case 0: {
      std::string results;
      for (size_t i = 0; i < sizes.size(); ++i)
        results += (i ? ", f32[" : "f32[") +
                   (areRows ? shardBoth(std::to_string(sizes[i]), "n") : shardBoth("n", std::to_string(sizes[i]))) +
                   "]";
      return text + "fn main(" + arguments + ") -> (" + results + ") {\n" + take + "  return (" + parts + ");\n}\n";
    }
    case 1:
      return text + "fn main(" + arguments + ") -> f32[" + shardBoth("n", "k") + "] {\n" + take + "  return " + joined +
             ";\n}\n";
    case 2:
      return text + "fn loss(x, w, c, v) {\n" + take + "  return " + sumParts(sizes.size()) + ";\n}\nfn main(" +
             arguments + ") { return grad(loss, wrt=(0, 1, 2))(x, w, c, v); }\n";
    case 3:
      return text + "fn loss(x, w, c, v) {\n" + take + "  return sum(" + joined + ");\n}\nfn main(" + arguments +
             ") { return grad(loss, wrt=(0, 1, 2, 3))(x, w, c, v); }\n";
    default:
      return text + "fn loss(x, w, c, v) {\n" + take + "  return sum(" + joined + ");\n}\nfn main(" + arguments +
             ") {\n  return for i in 0..2 carry (g = zeros(f32[k, m]), h = x) {\n"
             "    let (dx, dw) = grad(loss, wrt=(0, 1))(h, w, c, v);\n    yield (g + dw, h - dx);\n  };\n}\n";
    }
  }

  static int64_t countProducts(mlir::ModuleOp module) {
    int64_t count = 0;
    module.walk([&](DotGeneralOp) { ++count; });
    return count;
  }
  int64_t countPropagated(const std::string &text) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
    EXPECT_TRUE(succeeded(runPipeline(*module, Stage::Array, Stage::Propagated, {})));
    return countProducts(*module);
  }

  Random random{static_cast<uint64_t>(97000 + GetParam())};
};

constexpr int kBlocks = 2, kPerBlock = 60, kCompiledEvery = 6;

TEST_P(SplitProducts, AreTheProducts) {
  int split = 0;
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::string text = makeText();
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    split += countProducts(*module) > countPropagated(text);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
  EXPECT_GE(split, kPerBlock / 8);
}

INSTANTIATE_TEST_SUITE_P(Blocks, SplitProducts, ::testing::Range(0, kBlocks));

} // namespace
