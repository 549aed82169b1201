//===- FunctionArgumentsTest.cpp - functions as arguments -----------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;

namespace {

/// The value of a program's scalar result.
double valueOf(const std::string &text) {
  Compiled compiled(text);
  if (!compiled.isGood()) {
    ADD_FAILURE() << compiled.diagnostics.str();
    return 0;
  }
  std::vector<Tensor> results = compiled.run();
  return results.empty() ? 0 : results.front().elements.front().f;
}

std::vector<std::string> errors(const std::string &text) { return Compiled(text).errors(); }

const std::string kFunctions = "fn twice(f, x) { return f(f(x)); }\nfn triple(x) { return 3.0 * x; }\n"
                               "fn cube(x) { return x ** 3; }\n";

TEST(FunctionArguments, areCalled) {
  EXPECT_EQ(valueOf(kFunctions + "fn main() { return twice(triple, 5.0); }"), 45);
  EXPECT_EQ(valueOf(kFunctions + "fn main() { return twice(x=5.0, f=triple); }"), 45);
  EXPECT_EQ(valueOf(kFunctions + "fn main() { return twice(sqrt, 16.0); }"), 2);
  EXPECT_EQ(valueOf(kFunctions + "fn main() { return twice(relu, -1.0) + twice(abs, -2.0); }"), 2);
}

TEST(FunctionArguments, arePassedOn) {
  EXPECT_EQ(valueOf(kFunctions + "fn four(f, x) { return twice(f, twice(f, x)); }\n"
                                 "fn main() { return four(triple, 1.0); }"),
            81);
  EXPECT_EQ(valueOf(kFunctions + "fn both(f, g, x) { let h = f; return g(h(x)); }\n"
                                 "fn main() { return both(triple, cube, 2.0); }"),
            216);
}

/// A parameter hides a function of its name.
TEST(FunctionArguments, hideFunctions) {
  EXPECT_EQ(valueOf(kFunctions + "fn call(cube, x) { return cube(x); }\nfn main() { return call(triple, 2.0); }"), 6);
  EXPECT_EQ(valueOf(kFunctions + "fn call(exp, x) { return exp(x); }\nfn main() { return call(triple, 2.0); }"), 6);
}

TEST(FunctionArguments, keepDefaultsAndNames) {
  EXPECT_EQ(valueOf("fn scaled(x, by = 10.0) { return by * x; }\nfn call(f, x) { return f(x) + f(x, by=2.0); }\n"
                    "fn main() { return call(scaled, 3.0); }"),
            36);
}

/// The same function may be called again with other functions: these calls terminate.
TEST(FunctionArguments, nestInOneAnother) {
  EXPECT_EQ(valueOf(kFunctions + "fn inner(x) { return twice(triple, x); }\nfn main() { return twice(inner, 1.0); }"),
            81);
}

TEST(FunctionArguments, gradients) {
  Compiled compiled(kFunctions + "fn slope(f, x) { return grad(f)(x); }\n"
                                 "fn main(x: f32) { return (slope(cube, x), twice(grad(cube), x)); }");
  EXPECT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  EXPECT_NE(compiled.print().find("array.gradient"), std::string::npos);
}

TEST(FunctionArguments, inShardMap) {
  Compiled compiled("mesh m(a=2)\nfn body(x) { return 2.0 * x; }\n"
                    "fn spread(f, x) { return shard_map(f, in=P(a), out=P(a))(x); }\n"
                    "fn main(x: f32[4]) { return spread(body, x); }");
  EXPECT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  EXPECT_THAT(errors("mesh m(a=2)\nfn main(x: f32[4]) { return shard_map(tanh, in=P(a), out=P(a))(x); }"),
              ElementsAre("2:39: 'shard_map' takes a function of the program: 'fn g(x) { return tanh(x); }' is one"));
}

TEST(FunctionArguments, misuse) {
  const char *rule = "(...) to call it (only a parameter without a type takes a function itself)";
  EXPECT_THAT(errors("fn g(x) { return x; }\nfn f(g: f32) { return g; }\nfn main() { return f(g); }"),
              ElementsAre(std::string("3:22: 'g' is a function; write g") + rule));
  EXPECT_THAT(errors("fn g(x) { return x; }\nfn main(x: f32) { return maximum(x, g); }"),
              ElementsAre(std::string("2:37: 'g' is a function; write g") + rule));
  EXPECT_THAT(errors(kFunctions + "fn add(f, x) { return f + x; }\nfn main(x: f32) { return add(grad(cube), x); }"),
              ElementsAre("4:23: '+' takes arrays and numbers, not the function 'grad(cube)'",
                          "  5:26: in the call of 'add' here"));
  EXPECT_THAT(errors(kFunctions + "fn same(f) { return f; }\nfn main() { return same(cube); }"),
              ElementsAre("5:20: a result must be an array, not the function 'cube'"));
  EXPECT_THAT(errors(kFunctions + "fn main(x: f32) { return twice(x, x); }"),
              ElementsAre("1:25: 'f' is a value, not a function", "  4:26: in the call of 'twice' here"));
}

TEST(FunctionArguments, recursionEnds) {
  EXPECT_THAT(errors("fn f(g, x) { return f(g, x); }\nfn h(x) { return x; }\nfn main(x: f32) { return f(h, x); }"),
              ElementsAre("1:21: recursion: 'f' calls itself, and calls are inlined", "  3:26: in the call of 'f' here",
                          "  1:4: 'f' is declared here"));
  EXPECT_THAT(errors("fn f(g, x) { return g(g, x); }\nfn main(x: f32) { return f(f, x); }").front(),
              "1:21: recursion: 'f' calls itself, and calls are inlined");
  // Ever larger functions.
  EXPECT_THAT(errors("fn f(g, x) { return f(grad(g), x); }\nfn h(x) { return x; }\nfn main(x: f32) { return f(h, x); }")
                  .front(),
              "1:21: recursion: 'f' calls itself, and calls are inlined");
}

} // namespace
