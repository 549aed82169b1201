//===- DeclarationsTest.cpp - declarations, line by line ------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;

namespace {

// Consts in any order, exact division, generic sizes, parameters without types, defaults that name consts, arguments by
// name, tuples as parameters and results, results inferred, patterns that nest.
const std::string program =
    "fn scale(x, by = B / 4, offset = -1.5) { return x * by + offset; }\n"
    "fn linear<B, I, O>(x: f32[B, I], w: f32[I, O]) -> f32[B, O] { return x @ w; }\n"
    "fn pair(x) -> (f32[4], f32) { return (x, sum(x)); }\n"
    "fn first(t) { let (a, b) = t; return a; }\n"
    "fn two<N>(t: (f32[N], f32[2 * N])) { return t[0] + t[1][:N]; }\n"
    "fn inferred(x) { return (x, x * 2); }\n"
    "fn main() -> (f32[4], S, f32[4], f32[4], f32[4], f32[1, 3]) {\n"
    "  let x = arange(4) * 1.0;\n"
    "  let (u, (v, w)) = (x, inferred(x));\n"
    "  return (scale(x, offset=2), scale(zeros(S)), first(pair(x)), two((x, ones([8]))), u + v + w,\n"
    "          linear(w=ones([4, 3]), x=x[None]));\n"
    "}\n"
    "mesh m(a=2, b=2)\n"
    "struct S { x: f32[H@a] }\n"
    "const H = B * 3 / 2;\n"
    "const B = 8;\n";

// The type of a result is that of the caller's view: names of the body do not change it.
TEST(Declarations, resultTypesSeeParameters) {
  Compiled compiled("const H = 4;\n"
                    "fn ramp(n) -> f32[n] { return arange(n) * 1.0; }\n"
                    "fn four(x) -> f32[H] { let H = 3; return x * H; }\n"
                    "fn main() { return (ramp(3), four(ones([4]))); }");
  ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  EXPECT_THAT(compiled.resultTypes(), ElementsAre("f32[3]", "f32[4]"));
}

TEST(Declarations, work) {
  Compiled compiled(program);
  ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  EXPECT_THAT(compiled.resultTypes(), ElementsAre("f32[4]", "f32[12@a]", "f32[4]", "f32[4]", "f32[4]", "f32[1, 3]"));
  std::vector<double> last;
  for (const Tensor &result : compiled.run())
    last.push_back(result.elements.back().f);
  EXPECT_THAT(last, ElementsAre(8, -1.5, 3, 4, 12, 6));
}

TEST(Declarations, options) {
  FrontendOptions options;
  options.sets = {{"B", "4"}};
  options.meshOverride = "a=8,b=1";
  Compiled compiled(program, options);
  ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  EXPECT_EQ(compiled.resultTypes().at(1), "f32[6@a]");
  EXPECT_EQ(compiled.run().at(0).elements.back().f, 5);
  EXPECT_NE(compiled.print().find("#spmd.mesh<m, a=8, b=1>"), std::string::npos);
  FrontendOptions other;
  other.function = "start";
  EXPECT_EQ(Compiled("fn start(x: f32[3]) { return x; }", other).resultTypes(), std::vector<std::string>{"f32[3]"});
}

// Two sizes that disagree: a note names the argument that determined the first.
TEST(Declarations, whichArgumentFixedASize) {
  EXPECT_THAT(Compiled("fn f<N>(x: f32[N], t: (f32[N], f32)) { return x; }\n"
                       "fn main(x: f32[4], y: f32[5]) { return f(x, (y, 1.0)); }")
                  .errors(),
              ElementsAre("2:46: argument 't' of 'f' is f32[5], but f32[4] is declared (dimension 0 is 5, not 4)",
                          "  2:40: in the call of 'f' here", "  1:24: declared here",
                          "  2:42: 'N' is 4 by this argument"));
  EXPECT_THAT(Compiled("fn f<N>(x: f32[N]) -> f32[N + 1] { return x; }\nfn main(x: f32[4]) { return f(x); }").errors(),
              ElementsAre("1:43: the result of 'f' is f32[4], but f32[5] is declared (dimension 0 is 4, not 5)",
                          "  2:29: in the call of 'f' here", "  1:23: declared here",
                          "  2:31: 'N' is 4 by this argument"));
}

} // namespace
