//===- ControlErrorsTest.cpp - errors of loops and branches ---------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

/// The expression begins in line 2, column 10.
std::vector<std::string> errorsOf(const std::string &expression) {
  return Compiled("fn main(x: f32[4], n: i32[], c: bool, b: bool[4]) {\n  return " + expression + ";\n}\n").errors();
}

TEST(ControlErrors, bounds) {
  EXPECT_THAT(errorsOf("for i in 0..n carry (x = x) { yield x; }"),
              ElementsAre("2:22: a bound of 'for' must be an integer known while compiling, not i32[]; 'while' takes a "
                          "run-time condition"));
  EXPECT_THAT(errorsOf("for i in 0.5..3 carry (x = x) { yield x; }"),
              ElementsAre("2:19: a bound of 'for' must be an integer known while compiling, not the number 0.5"));
  EXPECT_THAT(errorsOf("for i in 0..3000000000 carry (x = x) { yield x; }"),
              ElementsAre("2:22: a bound of 'for' must fit in 32 bits; this is 3000000000"));
}

TEST(ControlErrors, carries) {
  EXPECT_THAT(errorsOf("for i in 0..3 carry (s = n) { yield s * 0.5; }"),
              ElementsAre("2:46: carry 's' is i32[], but the body yields f32[] for it; convert one of them with "
                          "cast(..., i32)",
                          "  2:35: 's' starts as i32[] here"));
  EXPECT_THAT(
      errorsOf("for i in 0..3 carry (s = 0.0) { yield s + x; }"),
      ElementsAre("2:48: carry 's' is f32[], but the body yields f32[4] for it; an iteration must not change the "
                  "shape",
                  "  2:35: 's' starts as f32[] here"));
  EXPECT_THAT(
      errorsOf("for i in 0..3 carry (p = (x, n)) { yield x; }"),
      ElementsAre("2:51: carry 'p' and the value that the body yields for it differ: a tuple of 2 against f32[4]",
                  "  2:35: 'p' starts here"));
  EXPECT_THAT(errorsOf("for i in 0..3 carry (p = x, q = n) { yield p; }"),
              ElementsAre("2:53: the body yields f32[4], but there are 2 carries: yield a tuple of them"));
  EXPECT_THAT(errorsOf("for i in 0..3 carry (p = x, p = n) { yield (p, p); }"),
              ElementsAre("2:38: carry 'p' is named twice", "  2:31: first here"));
  EXPECT_THAT(errorsOf("for i in 0..3 carry (p = \"x\") { yield p; }"),
              ElementsAre("2:35: a carry must be an array, or a tree of arrays; 'p' is a string"));
  // Two errors of one body are reported together, once, although bodies of weak carries are checked twice.
  EXPECT_THAT(errorsOf("for i in 0..3 carry (s = 0) { let y = s + z; let w = x @ k; yield s + 1.0; }"),
              ElementsAre("2:52: unknown name 'z'", "2:67: unknown name 'k'"));
}

TEST(ControlErrors, conditions) {
  EXPECT_THAT(errorsOf("while n carry (x = x) { yield x; }"),
              ElementsAre("2:16: the condition of 'while' must be one bool, not i32[]; compare it with something"));
  EXPECT_THAT(errorsOf("while b carry (x = x) { yield x; }"),
              ElementsAre("2:16: the condition of 'while' must be one bool, not bool[4]; reduce it with any or all"));
  EXPECT_THAT(
      errorsOf("if b { x } else { -x }"),
      ElementsAre("2:13: the condition of 'if' must be one bool, not bool[4]; reduce it with any or all, or select "
                  "element by element with where"));
  EXPECT_THAT(errorsOf("if x { x } else { -x }"),
              ElementsAre("2:13: the condition of 'if' must be one bool, not f32[4]; compare it with something"));
}

TEST(ControlErrors, arms) {
  EXPECT_THAT(errorsOf("if c { (x, n) } else { x }"),
              ElementsAre("2:10: the branches of 'if' differ: a tuple of 2 against f32[4]",
                          "  2:17: the first is a tuple", "  2:33: the second is f32[4]"));
  EXPECT_THAT(errorsOf("if c { \"x\" } else { x }").front(), "2:10: the branches of 'if' must be arrays, not a string");
  EXPECT_THAT(errorsOf("if c { y } else { z }"), ElementsAre("2:17: unknown name 'y'", "2:28: unknown name 'z'"));
  // If the condition is known, the other branch is not checked.
  EXPECT_THAT(errorsOf("if x.ndim == 1 { x } else { x @ \"no\" }"), IsEmpty());
}

TEST(ControlErrors, print) {
  EXPECT_THAT(Compiled("fn main(x: f32[4]) {\n  print(\"x\", f32[4]);\n  return x;\n}\n").errors(),
              ElementsAre("2:14: 'print' takes strings and arrays, not the type f32[4]"));
  EXPECT_THAT(errorsOf("print(x)"), ElementsAre("2:10: a result must be an array, not None"));
}

} // namespace
