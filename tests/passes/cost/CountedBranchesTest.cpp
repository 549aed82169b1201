//===- CountedBranchesTest.cpp - branches that count in sums --------------===//

#include "passes/cost/CountedBranches.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class CountedBranchesTest : public ParsedFunction {
protected:
  /// A branch of %x0 with these two bodies.
  static std::string branch(const std::string &one, const std::string &other) {
    return "array.if %x0 {\n" + one + "array.yield\n} else {\n" + other +
           "array.yield\n} : (!spmd.array<bool[]>) -> ()\n";
  }
  static std::string loop(const std::string &iterations, const std::string &body) {
    return "array.for 0 to " + iterations + " () {\n^bb0(%i: !spmd.array<i32[]>):\n" + body +
           "array.yield\n} : () -> ()\n";
  }
  /// For each operation of `Op`, whether it counts.
  template <typename Op> std::vector<bool> counts(const std::string &body) {
    parse("a=2", {"bool[]", "f32[4, 8]"}, body);
    CountedBranches branches(function(), getMesh(*module));
    std::vector<bool> found;
    module->walk([&](Op op) { found.push_back(branches.counts(op)); });
    return found;
  }
};

using Flags = std::vector<bool>;
// 32 and 64 FLOP, and two gathers: among two devices each receives as many bytes as it has.
const std::string kExp = "%e = array.exp %x1 : <f32[4, 8]>\n";
const std::string kTwice = kExp + "%s = array.exp %e : <f32[4, 8]>\n";
const std::string kGather = "%g = spmd.all_gather %x1 dim 0 over <a> : <f32[4, 8]> -> <f32[8, 8]>\n";

TEST_F(CountedBranchesTest, MoreBytesThenMoreFlopsThenTheFirst) {
  EXPECT_EQ(counts<ExpOp>(branch(kExp, kTwice)), (Flags{false, true, true}));
  EXPECT_EQ(counts<ExpOp>(branch(kTwice, kExp)), (Flags{true, true, false}));
  EXPECT_EQ(counts<ExpOp>(branch(kExp, kExp)), (Flags{true, false}));
  // One gather outweighs any arithmetic.
  EXPECT_EQ(counts<ExpOp>(branch(kTwice, kExp + kGather)), (Flags{false, false, true}));
  EXPECT_EQ(counts<AllGatherOp>(branch(kTwice, kExp + kGather)), Flags{true});
}

TEST_F(CountedBranchesTest, LoopsMultiply) {
  EXPECT_EQ(counts<ExpOp>(branch(kTwice, loop("3", kExp))), (Flags{false, false, true}));
  EXPECT_EQ(counts<ExpOp>(branch(kTwice, loop("2", kExp))), (Flags{true, true, false}));
  EXPECT_EQ(counts<ExpOp>(branch(kExp, loop("0", kTwice))), (Flags{true, false, false}));
}

TEST_F(CountedBranchesTest, InnerBranches) {
  // The second outer branch has 64 FLOP in one of its own branches.
  EXPECT_EQ(counts<ExpOp>(branch(kExp, branch(kExp, kTwice))), (Flags{false, false, true, true}));
  EXPECT_EQ(counts<ExpOp>(branch(kTwice, branch(kExp, kExp))), (Flags{true, true, false, false}));
}

// If it is known how often each branch runs, both count.
TEST_F(CountedBranchesTest, KnownConditions) {
  std::string body = "%c2 = array.constant dense<2> : tensor<i32> -> <i32[]>\n"
                     "%r = array.remainder %i, %c2 : <i32[]>\n"
                     "%c1 = array.constant dense<1> : tensor<i32> -> <i32[]>\n"
                     "%p = array.compare eq %r, %c1 : <i32[]>, <i32[]> -> <bool[]>\narray.if %p {\n" +
                     kExp + "array.yield\n} else {\n" + kTwice + "array.yield\n} : (!spmd.array<bool[]>) -> ()\n";
  EXPECT_EQ(counts<ExpOp>(loop("10", body)), (Flags{true, true, true}));
}

TEST_F(CountedBranchesTest, Flops) {
  parse("a=2", {"f32[3, 5]", "f32[5, 7]"},
        "%d = array.dot_general %x0, %x1 contract [1] x [0] batch [] x [] : <f32[3, 5]>, <f32[5, 7]> -> <f32[3, 7]>\n"
        "%a = array.add %d, %d : <f32[3, 7]>\n%r = array.reduce sum %x0 dims [1] : <f32[3, 5]> -> <f32[3]>\n"
        "%t = array.transpose %x0 perm [1, 0] : <f32[3, 5]> -> <f32[5, 3]>");
  EXPECT_EQ(countFlops(get<DotGeneralOp>()), 2 * 3 * 5 * 7);
  EXPECT_EQ(countFlops(get<AddOp>()), 3 * 7);
  EXPECT_EQ(countFlops(get<ReduceOp>()), 3 * 5);
  EXPECT_EQ(countFlops(get<TransposeOp>()), 0);
}

} // namespace
} // namespace spmdc
