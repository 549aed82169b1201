//===- LinearRegionTest.cpp - operations that partial sums pass -----------===//

#include "passes/reductions/LinearRegion.h"

#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

class LinearRegionTest : public ParsedFunction {
protected:
  /// The region that leads to this value.
  std::optional<LinearRegion> collect(Value value) {
    shape = mesh();
    LinearRegion region(shape, runs, &function().getBody().front());
    return region.collect(value) ? std::optional(std::move(region)) : std::nullopt;
  }
  spmd::MeshShape shape;
  RunCounts runs;
};

const std::vector<std::string> kPartials = {"f32[8@_] unreduced(a)", "f32[8@_] unreduced(a)", "f32[8@_] unreduced(b)",
                                            "f32[8@_]"};
const std::string kReduced = "%p = spmd.reshard %x0 : <f32[8@_] unreduced(a)> -> <f32[8@_]>\n"
                             "%q = spmd.reshard %x1 : <f32[8@_] unreduced(a)> -> <f32[8@_]>\n";

// The example of the header: add(reshard(p), reshard(q)) becomes a reduced add(p, q).
TEST_F(LinearRegionTest, ASumOfTwo) {
  parse("a=4, b=2", kPartials, kReduced + "%n = array.negate %q : <f32[8@_]>\n%y = array.subtract %p, %n : <f32[8@_]>",
        "f32[8@_]");
  std::optional<LinearRegion> region = collect(get<SubtractOp>());
  ASSERT_TRUE(region);
  EXPECT_TRUE(region->isClosed());
  EXPECT_EQ(region->getOps().size(), 2u);
  EXPECT_EQ(region->getReductions().size(), 2u);
  EXPECT_TRUE(region->listReplicatedTerms().empty());
  EXPECT_TRUE(region->getEscapes().empty());
  EXPECT_EQ(region->getPartialType(get<SubtractOp>()), type("f32[8@_] unreduced(a)"));
  EXPECT_FALSE(region->getPartialType(argument(3)));
  region->rewrite();
  EXPECT_EQ(get<SubtractOp>().getType(), type("f32[8@_] unreduced(a)"));
  EXPECT_EQ(get<SubtractOp>().getLhs(), argument(0));
  EXPECT_EQ(get<NegateOp>().getOperand(), argument(1));
}

TEST_F(LinearRegionTest, ReplicatedTerms) {
  parse("a=4, b=2", kPartials, kReduced + "%s = array.add %p, %q : <f32[8@_]>\n%y = array.add %s, %x3 : <f32[8@_]>",
        "f32[8@_]");
  std::optional<LinearRegion> region = collect(get<AddOp>(1));
  ASSERT_TRUE(region);
  ASSERT_EQ(region->listReplicatedTerms().size(), 1u);
  EXPECT_EQ(region->listReplicatedTerms()[0].value, argument(3));
  EXPECT_EQ(region->listReplicatedTerms()[0].type, type("f32[8@_] unreduced(a)"));
}

// A value that another operation needs is reduced where it is: no region passes it.
TEST_F(LinearRegionTest, OtherUses) {
  parse("a=4, b=2", kPartials,
        kReduced +
            "%s = array.add %p, %q : <f32[8@_]>\n%y = array.negate %s : <f32[8@_]>\n%e = array.exp %s : <f32[8@_]>",
        "f32[8@_]");
  std::optional<LinearRegion> region = collect(get<NegateOp>());
  ASSERT_TRUE(region);
  EXPECT_TRUE(region->getReductions().empty());
  EXPECT_FALSE(llvm::is_contained(region->getOps(), get<AddOp>()));
  EXPECT_FALSE(region->getPartialType(get<AddOp>()));
}

TEST_F(LinearRegionTest, WhatIsNoRegion) {
  parse("a=4, b=2", kPartials,
        kReduced + "%e = array.exp %p : <f32[8@_]>\n%r = spmd.reshard %x2 : <f32[8@_] unreduced(b)> -> <f32[8@_]>\n"
                   "%y = array.add %q, %r : <f32[8@_]>",
        "f32[8@_]");
  EXPECT_FALSE(collect(get<ExpOp>())); // Not linear.
  EXPECT_FALSE(collect(get<AddOp>())); // Partial sums over other axes.
  EXPECT_FALSE(collect(argument(3)));  // No partial sum leads to it.
}

TEST_F(LinearRegionTest, BranchesThatMayRun) {
  parse("a=4, b=2", {"bool[]", "f32[8@_]"},
        "array.for 0 to 6 () {\n^bb0(%i: !spmd.array<i32[]>):\narray.if %x0 {\n%e = array.exp %x1 : <f32[8@_]>\n"
        "array.yield\n} else {\narray.yield\n} : (!spmd.array<bool[]>) -> ()\narray.yield\n} : () -> ()");
  shape = mesh();
  Block *body = get<IfOp>()->getBlock();
  EXPECT_EQ(LinearRegion(shape, runs, body).getShare(get<ExpOp>()->getBlock()), 0.5); // Not known.
  EXPECT_EQ(LinearRegion(shape, runs, body).getShare(body), 1);
}

} // namespace
} // namespace spmdc
