//===- ManualTest.cpp - per-device regions --------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/VaryingAxes.h"
#include "tests/ir/support/IrTest.h"

using namespace spmdc;

namespace {

class ManualTest : public IrTest {
protected:
  /// A program whose body is one manual region over x: f32[4@a, 4@b] on a mesh of 2 x 2.
  mlir::OwningOpRef<mlir::ModuleOp> parseBody(const std::string &body, const std::string &result) {
    return parse("module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {\n"
                 "func.func @main(%x: !spmd.array<f32[4@a, 4@b]>) -> !spmd.array<" +
                 result + "> {\n%0 = spmd.manual(%x) {\n^bb0(%p: !spmd.array<f32[2, 2]>):\n" + body +
                 "\n} : (!spmd.array<f32[4@a, 4@b]>) -> !spmd.array<" + result + ">\nreturn %0 : !spmd.array<" +
                 result + ">\n}\n}");
  }
};

// Each device adds its neighbours' shards along b: by hand, columns j and j + 2 are added.
TEST_F(ManualTest, RunsTheBodyOnEveryPiece) {
  auto module = parseBody("%s = spmd.all_reduce sum %p over <b> : <f32[2, 2]> -> <f32[2, 2]>\n"
                          "spmd.yield %s : !spmd.array<f32[2, 2]>",
                          "f32[4@a, 2@_]");
  ASSERT_TRUE(module) << diagnosticText();
  auto results = evaluateGlobal(functionOf(*module), {iotaF32({4, 4})});
  ASSERT_TRUE(mlir::succeeded(results)) << diagnosticText();
  EXPECT_EQ(floatsOf((*results)[0]), (std::vector<double>{2, 4, 10, 12, 18, 20, 26, 28}));
  auto again = parseValid(print(*module));
  EXPECT_EQ(print(*again), print(*module));
}

// The evaluator finds results that are declared replicated but differ.
TEST_F(ManualTest, CopiesMustAgree) {
  auto module = parseBody("spmd.yield %p : !spmd.array<f32[2, 2]>", "f32[4@a, 2@_]");
  ASSERT_TRUE(module) << diagnosticText();
  EXPECT_TRUE(mlir::failed(evaluateGlobal(functionOf(*module), {iotaF32({4, 4})})));
  EXPECT_NE(diagnosticText().find("result 0"), std::string::npos) << diagnosticText();
}

/// x: f32[4@a, 4] in shards along a, and these in shards along b.
const char *const within =
    "module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {\n"
    "func.func @main(%x: !spmd.array<f32[4@a, 4]>) -> (!spmd.array<f32[4@a, 2]>, !spmd.array<f32[4@a, 4]>) {\n"
    "%0:2 = spmd.manual(%x) over <a> {\n"
    "^bb0(%p: !spmd.array<f32[2, 4]>):\n"
    "  %c = spmd.constraint %p : !spmd.array<f32[2, 4]> -> <f32[2@_, 4@b]>\n"
    "  %1:2 = spmd.manual(%c) over <b> {\n"
    "  ^bb0(%q: !spmd.array<f32[2, 2]>):\n"
    "    %s = spmd.all_reduce sum %q over <b> : <f32[2, 2]> -> <f32[2, 2]>\n"
    "    %t = spmd.collective_permute %q pairs [0, 3, 3, 0, 1, 1, 2, 2] over <a, b> : <f32[2, 2]> -> <f32[2, 2]>\n"
    "    spmd.yield %s, %t : !spmd.array<f32[2, 2]>, !spmd.array<f32[2, 2]>\n"
    "  } : (!spmd.array<f32[2@_, 4@b]>) -> (!spmd.array<f32[2@_, 2@_]>, !spmd.array<f32[2@_, 4@b]>)\n"
    "  spmd.yield %1#0, %1#1 : !spmd.array<f32[2@_, 2@_]>, !spmd.array<f32[2@_, 4@b]>\n"
    "} : (!spmd.array<f32[4@a, 4]>) -> (!spmd.array<f32[4@a, 2]>, !spmd.array<f32[4@a, 4]>)\n"
    "return %0#0, %0#1 : !spmd.array<f32[4@a, 2]>, !spmd.array<f32[4@a, 4]>\n}\n}";

// By hand: columns j and j + 2 are added; the blocks on the diagonal are exchanged.
TEST_F(ManualTest, RunsARegionWithinOnPiecesOfPieces) {
  auto module = parseValid(within);
  ASSERT_TRUE(module) << diagnosticText();
  auto results = evaluateGlobal(functionOf(*module), {iotaF32({4, 4})});
  ASSERT_TRUE(mlir::succeeded(results)) << diagnosticText();
  EXPECT_EQ(floatsOf((*results)[0]), (std::vector<double>{2, 4, 10, 12, 18, 20, 26, 28}));
  EXPECT_EQ(floatsOf((*results)[1]), (std::vector<double>{10, 11, 2, 3, 14, 15, 6, 7, 8, 9, 0, 1, 12, 13, 4, 5}));
  auto again = parseValid(print(*module));
  EXPECT_EQ(print(*again), print(*module));
}

// Outside of the inner region no value varies over its axis; inside of it, values from outside vary as outside.
TEST_F(ManualTest, KnowsWhatVariesInARegionWithin) {
  auto module = parseValid(within);
  ASSERT_TRUE(module) << diagnosticText();
  ManualOp outer = *functionOf(*module).getOps<ManualOp>().begin();
  ManualOp inner = *outer.getBlock().getOps<ManualOp>().begin();
  VaryingAxes varying(outer);
  EXPECT_EQ(varying.of(inner.getBlock().getArgument(0)), (VaryingAxes::Axes{"a", "b"}));
  std::vector<VaryingAxes::Axes> found;
  for (mlir::Value yielded : inner.getBlock().getTerminator()->getOperands())
    found.push_back(varying.of(yielded));
  for (mlir::Value output : inner.getOutputs())
    found.push_back(varying.of(output));
  EXPECT_EQ(found, (std::vector<VaryingAxes::Axes>{{"a"}, {"a", "b"}, {"a"}, {"a"}}));
  EXPECT_EQ(varying.ofAll(inner), (VaryingAxes::Axes{"a"}));
  varying.setInside(inner, {});
  EXPECT_EQ(varying.of(inner.getBlock().getArgument(0)), (VaryingAxes::Axes{"b"}));
}

// The axes of an inner region are checked against those of the region around.
TEST_F(ManualTest, AxesOfARegionWithin) {
  auto replaced = [](const std::string &from, const std::string &to) {
    std::string text = within;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_FALSE(parse(replaced("over <b> {", "{")));
  EXPECT_NE(diagnosticText().find("is in a region that is manual along some axes, and does not name its own axes"),
            std::string::npos)
      << diagnosticText();
  EXPECT_FALSE(parse(replaced("over <b> {", "over <a, b> {")));
  EXPECT_NE(diagnosticText().find("is over axis 'a', which is already manual in the region around it"),
            std::string::npos)
      << diagnosticText();
}

TEST_F(ManualTest, KnowsWhatVaries) {
  auto module = parseBody("%c = array.constant dense<1.0> : tensor<2x2xf32> -> <f32[2, 2]>\n"
                          "%r = spmd.all_reduce sum %p over <b> : <f32[2, 2]> -> <f32[2, 2]>\n"
                          "%g = spmd.all_gather %r dim 0 over <a> : <f32[2, 2]> -> <f32[4, 2]>\n"
                          "%i = spmd.axis_index <b> : <i32[]>\n"
                          "%q = spmd.collective_permute %c pairs [0, 1] over <a> : <f32[2, 2]> -> <f32[2, 2]>\n"
                          "%m = array.add %q, %r : <f32[2, 2]>\n"
                          "spmd.yield %p : !spmd.array<f32[2, 2]>",
                          "f32[4@a, 4@b]");
  ASSERT_TRUE(module) << diagnosticText();
  ManualOp manual = *functionOf(*module).getOps<ManualOp>().begin();
  VaryingAxes varying(manual);
  std::vector<VaryingAxes::Axes> found;
  for (mlir::Operation &op : manual.getBlock().without_terminator())
    found.push_back(varying.of(op.getResult(0)));
  EXPECT_EQ(varying.of(manual.getBlock().getArgument(0)), (VaryingAxes::Axes{"a", "b"}));
  EXPECT_EQ(found, (std::vector<VaryingAxes::Axes>{{}, {"a"}, {}, {"b"}, {"a"}, {"a"}}));
}

// Each carry separately; values computed under a varying condition vary over its axes, too.
TEST_F(ManualTest, KnowsWhatVariesInLoopsAndBranches) {
  auto module = parseBody("%c = array.constant dense<1.0> : tensor<f32> -> <f32[]>\n"
                          "%z = array.constant dense<0> : tensor<i32> -> <i32[]>\n"
                          "%i = spmd.axis_index <b> : <i32[]>\n"
                          "%f = array.convert %i : <i32[]> -> <f32[]>\n"
                          "%p0 = array.compare gt %i, %z : <i32[]>, <i32[]> -> <bool[]>\n"
                          "%l:3 = array.for 0 to 3 (%c, %c, %c) {\n"
                          "^bb0(%k: !spmd.array<i32[]>, %u: !spmd.array<f32[]>, %v: !spmd.array<f32[]>, "
                          "%w: !spmd.array<f32[]>):\n"
                          "  array.yield %u, %w, %f : !spmd.array<f32[]>, !spmd.array<f32[]>, !spmd.array<f32[]>\n"
                          "} : (!spmd.array<f32[]>, !spmd.array<f32[]>, !spmd.array<f32[]>) -> (!spmd.array<f32[]>, "
                          "!spmd.array<f32[]>, !spmd.array<f32[]>)\n"
                          "%b = array.if %p0 {\n"
                          "  %n = array.negate %c : <f32[]>\n"
                          "  array.yield %n : !spmd.array<f32[]>\n"
                          "} else {\n"
                          "  array.yield %c : !spmd.array<f32[]>\n"
                          "} : (!spmd.array<bool[]>) -> !spmd.array<f32[]>\n"
                          "spmd.yield %p : !spmd.array<f32[2, 2]>",
                          "f32[4@a, 4@b]");
  ASSERT_TRUE(module) << diagnosticText();
  ManualOp manual = *functionOf(*module).getOps<ManualOp>().begin();
  VaryingAxes varying(manual);
  ForOp loop = *manual.getBody().getOps<ForOp>().begin();
  EXPECT_EQ(varying.of(loop.getResult(0)), VaryingAxes::Axes{});
  EXPECT_EQ(varying.of(loop.getResult(1)), VaryingAxes::Axes{"b"});
  EXPECT_EQ(varying.of(loop.getCarries()[1]), VaryingAxes::Axes{"b"});
  EXPECT_EQ(varying.of(loop.getResult(2)), VaryingAxes::Axes{"b"});
  IfOp branch = *manual.getBody().getOps<IfOp>().begin();
  EXPECT_EQ(varying.of(branch.getResult(0)), VaryingAxes::Axes{"b"});
  EXPECT_EQ(varying.of(branch.getThenRegion().front().front().getResult(0)), VaryingAxes::Axes{"b"});
  EXPECT_FALSE(findDividedCollective(manual.getBlock(), varying));
}

TEST_F(ManualTest, FindsCollectivesThatSomeDevicesDoNotReach) {
  auto divided = [&](const std::string &init, const std::string &axes) {
    auto module = parseBody("%z = array.constant dense<0> : tensor<i32> -> <i32[]>\n"
                            "%i = spmd.axis_index <b> : <i32[]>\n"
                            "%c = array.while (" +
                                init +
                                ") {\n"
                                "^bb0(%k: !spmd.array<i32[]>):\n"
                                "  %q = array.compare gt %k, %z : <i32[]>, <i32[]> -> <bool[]>\n"
                                "  array.yield %q : !spmd.array<bool[]>\n"
                                "} do {\n"
                                "^bb0(%k: !spmd.array<i32[]>):\n"
                                "  %s = spmd.all_reduce sum %k over <" +
                                axes +
                                "> : <i32[]> -> <i32[]>\n"
                                "  array.yield %s : !spmd.array<i32[]>\n"
                                "} : (!spmd.array<i32[]>) -> !spmd.array<i32[]>\n"
                                "spmd.yield %p : !spmd.array<f32[2, 2]>",
                            "f32[4@a, 4@b]");
    ManualOp manual = *functionOf(*module).getOps<ManualOp>().begin();
    auto found = findDividedCollective(manual.getBlock(), VaryingAxes(manual));
    return found ? found->axes : VaryingAxes::Axes{"none"};
  };
  EXPECT_EQ(divided("%z", "a"), VaryingAxes::Axes{"none"});
  EXPECT_EQ(divided("%i", "b"), VaryingAxes::Axes{"b"});
  EXPECT_EQ(divided("%i", "a, b"), VaryingAxes::Axes{"b"});
  EXPECT_EQ(divided("%i", "a"), VaryingAxes::Axes{"none"}); // The group agrees.
}

/// A region over `a` alone: its arrays are global along `b`.
static std::string overSomeAxes(const std::string &operand, const std::string &piece, const std::string &body,
                                const std::string &result, const std::string &axes = "a") {
  return "module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {\nfunc.func @main(%x: !spmd.array<" + operand +
         ">) -> !spmd.array<" + result + "> {\n%0 = spmd.manual(%x) over <" + axes + "> {\n^bb0(%p: !spmd.array<" +
         piece + ">):\n" + body + "\n} : (!spmd.array<" + operand + ">) -> !spmd.array<" + result +
         ">\nreturn %0 : !spmd.array<" + result + ">\n}\n}";
}

// Shardings along the other axis, annotations and reshards do not affect the result.
TEST_F(ManualTest, RunsTheBodyOnPiecesAlongSomeAxes) {
  auto module = parse(overSomeAxes("f32[4@\"(a, b)\", 3@_]", "f32[2@b, 3@_]",
                                   "%r = spmd.reshard %p : <f32[2@b, 3@_]> -> <f32[2@_, 3@_]>\n"
                                   "%c = spmd.constraint %r : <f32[2@_, 3@_]> -> <f32[2@_, 3@b]>\n"
                                   "spmd.sharding_group %c group 0 : !spmd.array<f32[2@_, 3@b]>\n"
                                   "%s = spmd.all_reduce sum %c over <a> : <f32[2@_, 3@b]> -> <f32[2@_, 3@b]>\n"
                                   "spmd.yield %s : !spmd.array<f32[2@_, 3@b]>",
                                   "f32[2@_, 3@b]"));
  ASSERT_TRUE(module) << diagnosticText();
  auto results = evaluateGlobal(functionOf(*module), {iotaF32({4, 3})});
  ASSERT_TRUE(mlir::succeeded(results)) << diagnosticText();
  // By hand: rows 0 and 2, and rows 1 and 3, are added.
  EXPECT_EQ(floatsOf((*results)[0]), (std::vector<double>{6, 8, 10, 12, 14, 16}));
  auto again = parseValid(print(*module));
  EXPECT_EQ(print(*again), print(*module));
  ManualOp manual = *functionOf(*module).getOps<ManualOp>().begin();
  EXPECT_EQ(VaryingAxes(manual).of(manual.getBlock().getArgument(0)), VaryingAxes::Axes{"a"});
}

TEST_F(ManualTest, RefusesWhatIsNoPieceAlongSomeAxes) {
  auto message = [&](const std::string &text) {
    diagnostics.clear();
    EXPECT_FALSE(parse(text)) << text;
    return diagnosticText();
  };
  auto expect = [&](const std::string &text, const std::string &wanted) {
    std::string found = message(text);
    EXPECT_NE(found.find(wanted), std::string::npos) << found;
  };
  std::string yield = "spmd.yield %p : !spmd.array<f32[2]>";
  expect(overSomeAxes("f32[4@a]", "f32[2]", yield, "f32[4@a]", "c"), "is over axis 'c', which the mesh does not have");
  expect(overSomeAxes("f32[4@\"(b, a)\"]", "f32[2]", yield, "f32[4@a]"),
         "operand 0 is f32[4@(b, a)]; in dimension 0 the manual axis 'a' comes after an automatic axis");
  expect(overSomeAxes("f32[4@a]", "f32[2]", yield, "f32[2]  unreduced(b)"),
         "result 0 is f32[2] unreduced(b), a partial sum");
  expect(overSomeAxes("f32[4@b]", "f32[2]", yield, "f32[4@a]"), "body takes f32[2] for a shard f32[4@b]");
  expect(overSomeAxes("f32[4@a]", "f32[2@a]", "spmd.yield %p : !spmd.array<f32[2@a]>", "f32[4@a]"),
         "has f32[2@a] in a region where 'a' is manual");
  expect(
      overSomeAxes("f32[4@a]", "f32[2]",
                   "%s = spmd.all_reduce sum %p over <b> : <f32[2]> -> <f32[2]>\nspmd.yield %s : !spmd.array<f32[2]>",
                   "f32[4@a]"),
      "is over 'b', which is not manual in the region around it");
}

TEST_F(ManualTest, RefusesWhatIsNoPiece) {
  auto message = [&](const std::string &body, const std::string &result) {
    diagnostics.clear();
    EXPECT_FALSE(parseBody(body, result));
    return diagnosticText();
  };
  std::string yield = "spmd.yield %p : !spmd.array<f32[2, 2]>";
  EXPECT_NE(message(yield, "f32[4@a, 4]").find("result 0 is f32[4@a, 4]; its sharding must be closed"),
            std::string::npos);
  EXPECT_NE(message(yield, "f32[3@a, 4@b]").find("2 shards do not divide dimension 0"), std::string::npos);
  EXPECT_NE(message(yield, "f32[4@a, 8@b]").find("body yields f32[2, 2] for a shard f32[2, 4]"), std::string::npos);
  EXPECT_NE(message("spmd.yield", "f32[4@a, 4@b]").find("body must yield one value for each of 1 results"),
            std::string::npos);
}

} // namespace
