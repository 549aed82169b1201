//===- RunCountsTest.cpp - iterations that take a branch ------------------===//
//
// The tests count the executions of negations, in the order of the program.
//
//===----------------------------------------------------------------------===//

#include "passes/cost/RunCounts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace spmdc {
namespace {

class RunCountsOf : public ::testing::Test {
protected:
  RunCountsOf() { context.loadDialect<func::FuncDialect, ArrayDialect, SpmdDialect>(); }

  /// How often each negation runs in a function of a flag %p, with the numbers %c1, %c2, %c3 and %c4.
  std::vector<int64_t> count(const std::string &body) {
    std::string text = "func.func @main(%p: !spmd.array<bool[]>, %x: !spmd.array<f32[]>) {\n";
    for (const char *number : {"1", "2", "3", "4"})
      text += std::string("%c") + number + " = array.constant dense<" + number + "> : tensor<i32> -> <i32[]>\n";
    module = parseSourceString<ModuleOp>(text + body + "return\n}\n", &context);
    EXPECT_TRUE(module) << text + body;
    std::vector<int64_t> counts;
    RunCounts runs;
    if (module)
      module->walk([&](NegateOp op) { counts.push_back(runs.count(op)); });
    return counts;
  }

  static std::string loop(int64_t from, int64_t to, const std::string &counter, const std::string &body) {
    return "array.for " + std::to_string(from) + " to " + std::to_string(to) + " () {\n^bb0(" + counter +
           ": !spmd.array<i32[]>):\n" + body + "array.yield\n} : () -> ()\n";
  }
  static std::string branch(const std::string &condition, const std::string &one, const std::string &other) {
    return "array.if " + condition + " {\n" + one + "array.yield\n} else {\n" + other +
           "array.yield\n} : (!spmd.array<bool[]>) -> ()\n";
  }
  /// Defines `name` as the comparison of a remainder with a number.
  static std::string remainderIs(const std::string &name, const std::string &value, const std::string &by,
                                 const std::string &wanted) {
    return name + "r = array.remainder " + value + ", " + by + " : <i32[]>\n" + name + " = array.compare eq " + name +
           "r, " + wanted + " : <i32[]>, <i32[]> -> <bool[]>\n";
  }

  static inline const std::string kNegate = "array.negate %x : <f32[]>\n";
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
};

using Counts = std::vector<int64_t>;

TEST_F(RunCountsOf, EveryFourthIteration) {
  EXPECT_EQ(count(loop(0, 30, "%i", remainderIs("%q", "%i", "%c4", "%c3") + branch("%q", kNegate, kNegate))),
            (Counts{7, 23}));
}

TEST_F(RunCountsOf, NegativeCountersAndNoIterations) {
  // -5 % 4 is -1 here: 3 is reached by 3 alone.
  EXPECT_EQ(count(loop(-5, 5, "%i", remainderIs("%q", "%i", "%c4", "%c3") + branch("%q", kNegate, kNegate))),
            (Counts{1, 9}));
  EXPECT_EQ(count(loop(5, 5, "%i", remainderIs("%q", "%i", "%c4", "%c3") + branch("%q", kNegate, kNegate))),
            (Counts{0, 0}));
}

TEST_F(RunCountsOf, ArmsInArmsGoTogether) {
  // i % 2 == 1, and of these i % 4 == 3; and never i % 4 == 2.
  std::string inner = remainderIs("%q", "%i", "%c4", "%c3") + branch("%q", kNegate, kNegate) +
                      remainderIs("%s", "%i", "%c4", "%c2") + branch("%s", kNegate, "");
  EXPECT_EQ(count(loop(0, 32, "%i", remainderIs("%o", "%i", "%c2", "%c1") + branch("%o", inner, kNegate))),
            (Counts{8, 8, 0, 16}));
}

TEST_F(RunCountsOf, LoopsInLoops) {
  // A condition on the outer counter around the inner loop, and one on the inner counter inside.
  std::string inner = loop(0, 10, "%j", remainderIs("%q", "%j", "%c3", "%c1") + branch("%q", kNegate, kNegate));
  EXPECT_EQ(count(loop(0, 6, "%i", remainderIs("%o", "%i", "%c3", "%c2") + branch("%o", inner, kNegate))),
            (Counts{6, 14, 4}));
}

TEST_F(RunCountsOf, WhatNobodyKnowsCountsAsTaken) {
  EXPECT_EQ(count(loop(0, 5, "%i", branch("%p", kNegate, kNegate))), (Counts{5, 5}));
  // A condition on both counters.
  std::string sum = "%k = array.add %i, %j : <i32[]>\n" + remainderIs("%q", "%k", "%c4", "%c3");
  EXPECT_EQ(count(loop(0, 4, "%i", loop(0, 4, "%j", sum + branch("%q", kNegate, "")))), (Counts{16}));
  EXPECT_EQ(count(branch("%p", kNegate, kNegate)), (Counts{1, 1}));
}

TEST_F(RunCountsOf, LargeCountsDoNotWrap) {
  std::string body = kNegate;
  for (const char *counter : {"%i", "%j", "%k"})
    body = loop(0, 2147483647, counter, body);
  EXPECT_EQ(count(body), (Counts{INT64_MAX}));
}

TEST_F(RunCountsOf, ShareIsOfThoseThatTakeTheArmsAround) {
  count(loop(0, 32, "%i",
             remainderIs("%o", "%i", "%c2", "%c1") +
                 branch("%o", remainderIs("%q", "%i", "%c4", "%c3") + branch("%q", kNegate, ""), "") +
                 branch("%p", kNegate, "")));
  RunCounts runs;
  std::vector<std::optional<double>> shares;
  module->walk([&](NegateOp op) { shares.push_back(runs.getShare(op->getBlock())); });
  EXPECT_EQ(shares, (std::vector<std::optional<double>>{0.5, std::nullopt}));
}

TEST_F(RunCountsOf, BranchesOfOneIterationAndLoopsInBranches) {
  // In a loop of one iteration, and in the branch that no iteration takes.
  EXPECT_EQ(count(loop(3, 4, "%i", remainderIs("%q", "%i", "%c4", "%c3") + branch("%q", kNegate, kNegate))),
            (Counts{1, 0}));
  // The inner loop runs in the iterations that take the branch around it.
  EXPECT_EQ(count(loop(0, 12, "%i",
                       remainderIs("%q", "%i", "%c4", "%c1") + branch("%q", loop(0, 5, "%j", kNegate), kNegate))),
            (Counts{12 / 4 * 5, 9}));
}

TEST_F(RunCountsOf, EstimatesOfIterations) {
  auto estimate = [&](int64_t from, int64_t to) {
    count(loop(from, to, "%i", kNegate));
    return estimateIterations(*(*module->getOps<func::FuncOp>().begin()).getOps<ForOp>().begin());
  };
  EXPECT_EQ(estimate(2, 9), 7);
  EXPECT_EQ(estimate(0, 1), 1);
  EXPECT_EQ(estimate(0, 0), 1); // At least once.
}

} // namespace
} // namespace spmdc
