//===- GradientErrorsTest.cpp - errors of grad ----------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;

namespace {

/// `f` is line 1, the call line 3.
std::vector<std::string> errorsOf(const std::string &function, const std::string &call) {
  return Compiled(function + "\nfn main(x: f32[4], i: i32[4], n: i32) {\n  return " + call + ";\n}\n").errors();
}

const std::string sumOf = "fn f(x, y = 1.0) { return sum(x * y); }";

TEST(GradientErrors, theFunction) {
  EXPECT_THAT(errorsOf("fn loss(x) { return sum(x); }", "grad(lost)(x)"),
              ElementsAre("3:15: unknown function 'lost'; did you mean 'loss'?", "  1:4: 'loss' is declared here"));
  EXPECT_THAT(errorsOf(sumOf, "grad(x)(x)"), ElementsAre("3:15: 'grad' takes a function; 'x' is a value"));
  EXPECT_THAT(errorsOf(sumOf, "value_and_grad(x + 1)(x)"),
              ElementsAre("3:25: 'value_and_grad' takes a function's name, or grad(f), value_and_grad(f) or "
                          "checkpoint(f) of one"));
  EXPECT_THAT(errorsOf(sumOf, "grad(f)"),
              ElementsAre("3:10: 'grad(f)' is a function: its arguments follow, as in grad(f)(x)"));
  EXPECT_THAT(errorsOf(sumOf, "grad()(x)"), ElementsAre("3:10: 'grad' needs an argument for 'f'; it takes f, wrt"));
  EXPECT_THAT(errorsOf(sumOf, "checkpoint(f, wrt=0)(x)"),
              ElementsAre("3:24: 'checkpoint' has no parameter 'wrt'; it has f"));
}

TEST(GradientErrors, wrt) {
  EXPECT_THAT(errorsOf(sumOf, "grad(f, wrt=2)(x)"),
              ElementsAre("3:22: 'wrt=' of 'grad' is 2, but 'f' takes 2 arguments, numbered from 0"));
  EXPECT_THAT(errorsOf(sumOf, "grad(f, wrt=(0, 0))(x)"), ElementsAre("3:22: 'wrt=' of 'grad' names argument 0 twice"));
  EXPECT_THAT(errorsOf(sumOf, "grad(f, wrt=x)(x)"),
              ElementsAre("3:22: 'wrt=' of 'grad' must be the number of an argument, or a tuple of them, not f32[4]"));
  EXPECT_THAT(errorsOf(sumOf, "grad(f, wrt=[])(x)"),
              ElementsAre("3:22: 'wrt=' of 'grad' must name at least one argument"));
  EXPECT_THAT(errorsOf(sumOf, "grad(f, wrt=1)(x)"),
              ElementsAre("3:10: 'grad' differentiates argument 'y' of 'f', which is not given"));
}

TEST(GradientErrors, theArguments) {
  EXPECT_THAT(errorsOf(sumOf, "grad(f)(i)"),
              ElementsAre("3:18: 'grad' differentiates floats: argument 'x' of 'f' is i32[4]; cast it, or name others "
                          "with 'wrt='",
                          "  1:6: 'x' is declared here"));
  EXPECT_THAT(
      errorsOf("struct P { w: f32[4], step: i32 } fn f(p: P) { return sum(p.w); }", "grad(f)(P { w: x, step: n })"),
      ElementsAre("3:18: 'grad' differentiates floats: argument 'p.step' of 'f' is i32[]",
                  "  1:40: 'p' is declared here"));
  EXPECT_THAT(errorsOf("fn f(x) { return 1.0; }", "grad(f)([])"),
              ElementsAre("3:10: 'grad' has nothing to differentiate: the arguments hold no arrays"));
  EXPECT_THAT(errorsOf(sumOf, "stop_gradient(\"x\")"), ElementsAre("3:24: 'stop_gradient' takes arrays, not a string"));
  EXPECT_THAT(errorsOf(sumOf, "grad(f)(x, x, x)"), ElementsAre("3:24: 'f' takes 2 arguments (x, y), this is one more"));
}

TEST(GradientErrors, theResult) {
  EXPECT_THAT(errorsOf("fn f(x) { return x * x; }", "grad(f)(x)"),
              ElementsAre("3:10: 'grad' differentiates a scalar of floats, but 'f' returns f32[4]",
                          "  1:4: 'f' is declared here"));
  EXPECT_THAT(errorsOf("fn f(x) { return (sum(x), x); }", "value_and_grad(f)(x)"),
              ElementsAre("3:10: 'value_and_grad' differentiates a scalar of floats, but 'f' returns a tuple",
                          "  1:4: 'f' is declared here"));
  EXPECT_THAT(errorsOf("fn f(x) { return argmax(x); }", "grad(f)(x)"),
              ElementsAre("3:10: 'grad' differentiates a scalar of floats, but 'f' returns i32[]",
                          "  1:4: 'f' is declared here"));
  EXPECT_THAT(errorsOf(sumOf, "grad(grad(f))(x)"),
              ElementsAre("3:10: 'grad' differentiates a scalar of floats, but 'f' under 'grad' returns f32[4]",
                          "  1:4: 'f' is declared here"));
}

} // namespace
