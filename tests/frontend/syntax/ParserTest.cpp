//===- ParserTest.cpp - from tokens to the tree ---------------------------===//

#include "tests/frontend/syntax/SyntaxTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

// Python's table: loosest `||`, then `&&`, comparisons, `|`, `^`, `&`, shifts, sums, products; `**` to the right.
TEST(Parser, precedence) {
  EXPECT_EQ(expression("a || b && c == d | e ^ f & g << h + i * j"),
            "(|| a (&& b (== c (| d (^ e (& f (<< g (+ h (* i j)))))))))");
  EXPECT_EQ(expression("a * b @ c / d % e"), "(% (/ (@ (* a b) c) d) e)");
  EXPECT_EQ(expression("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression("-a ** -b ** c"), "(- (** a (- (** b c))))");
  EXPECT_EQ(expression("!a && -b * c"), "(&& (! a) (* (- b) c))");
  EXPECT_EQ(expression("(a + b) * c"), "(* (+ a b) c)");
}

TEST(Parser, comparisonsDoNotChain) {
  EXPECT_EQ(expression("a < b < c"), "1:23: comparisons do not chain: write 'a < b && b < c'");
  EXPECT_EQ(expression("(a < b) == c"), "(== (< a b) c)");
}

TEST(Parser, postfix) {
  EXPECT_EQ(expression("x[1:5, :, None, ..., ::2, -1].T"), "(field (index x 1:5 : None ... ::2 (- 1)) T)");
  EXPECT_EQ(expression("grad(f, wrt=(0, 1))(p, x)"), "(call (call grad f wrt=(tuple 0 1)) p x)");
  EXPECT_EQ(expression("shard_map(f, in=(P(a, _), P()), out=P(a))(x, y)"),
            "(call (call shard_map f in=(tuple P(a, _) P()) out=P(a)) x y)");
  EXPECT_EQ(expression("p.layers[0].w"), "(field (index (field p layers) 0) w)");
}

TEST(Parser, literals) {
  EXPECT_EQ(expression("[1, 2.5, inf, true, \"a\\n\", ((1, 2), ()), (3,),]"),
            "[1, 2.5, inf, true, \"a\\n\", (tuple (tuple 1 2) (tuple)), (tuple 3)]");
  EXPECT_EQ(expression("Params { w: e, b: f + 1 }"), "(struct Params w=e b=(+ f 1))");
  EXPECT_EQ(expression("1e20"), "1e+20");
  EXPECT_EQ(expression("99999999999999999999"), "1:17: the integer does not fit in 64 bits");
}

// Every form of a dimension, as a type used as a value and in P(...).
TEST(Parser, shardings) {
  EXPECT_EQ(expression("zeros(f32[N, N@a, N@(a, b), N@_, N@?, N@a?, N@(a, b)?, 2*N+1@a!1, 4@?!2])"),
            "(call zeros f32[N, N@a, N@(a, b), N@_, N, N@a?, N@(a, b)?, (+ (* 2 N) 1)@a!1, 4@?!2])");
  EXPECT_EQ(expression("shard(x, P(a, _, (b, c), ?, d?, e!3))"), "(call shard x P(a, _, (b, c), ?, d?, e!3))");
  EXPECT_EQ(expression("zeros(f32[4@(a, _)])"), "1:33: '_' (replicated) cannot be combined with axes");
}

// A dtype's name before `[` is a type, unless a variable of that name is visible.
TEST(Parser, dtypesMayBeShadowed) {
  Parsed parsed("fn f(x) { let key = key[0]; let z = key[1]; return cast(z, bf16); }\n"
                "fn g(x) { return key[4]; }");
  EXPECT_THAT(parsed.errors(), IsEmpty());
  EXPECT_EQ(parsed.print(), "1:1 fn f(x)\n"
                            "  1:11 let key = key[0]\n"
                            "  1:29 let z = (index key 1)\n"
                            "  1:45 return (call cast z bf16)\n"
                            "2:1 fn g(x)\n"
                            "  2:11 return key[4]\n");
}

// `budget` is not a keyword: it begins a declaration only where one is expected.
TEST(Parser, budgets) {
  Parsed parsed("budget wire = 64MiB, collectives = 3;\n"
                "budget memory = 1.5GB;\n"
                "fn f(budget) { let budget = budget + 1; return budget; }\n");
  EXPECT_THAT(parsed.errors(), IsEmpty());
  EXPECT_EQ(parsed.print(), "1:8 budget wire = 64MiB\n"
                            "1:22 budget collectives = 3\n"
                            "2:8 budget memory = 1.5GB\n"
                            "3:1 fn f(budget)\n"
                            "  3:16 let budget = (+ budget 1)\n"
                            "  3:41 return budget\n");
  EXPECT_THAT(Parsed("budget = 3;\nfn f(x) { return x; }").errors(),
              ElementsAre("1:8: expected the budget's quantity: 'wire', 'collectives' or 'memory', found '='"));
  EXPECT_THAT(Parsed("budget wire 3;\nfn f(x) { return x; }").errors(),
              ElementsAre("1:13: expected '=' after the budget's quantity, found '3'"));
  EXPECT_THAT(Parsed("budget wire = much;\nfn f(x) { return x; }").errors(),
              ElementsAre("1:15: expected a number, or bytes such as 64MiB, found 'much'"));
  EXPECT_THAT(Parsed("budget wire = 3\nfn f(x) { return x; }").errors(),
              ElementsAre("1:16: expected ';' at the end of the statement, found 'fn'"));
  EXPECT_THAT(Parsed("fn f(x) { return x + 3MiB; }").errors(),
              ElementsAre("1:22: expected an expression, found '3MiB'"));
}

TEST(Parser, declarations) {
  Parsed parsed("mesh m(a=4, b=2)\n"
                "const B = 2 * 64;\n"
                "struct Params { w: f32[D, H@model], layers: [Block; 4], }\n"
                "fn main<I, O>(x: f32[4096@a, 2048@b], y, axis = -1) -> (f32[I], Params) {\n"
                "  let (p, (q, r)): (f32, f32[]) = g(x);\n"
                "  print(\"p\", p);\n"
                "  return (p, q);\n"
                "}\n");
  EXPECT_THAT(parsed.errors(), IsEmpty());
  EXPECT_EQ(parsed.print(), "1:1 mesh m(a=4, b=2)\n"
                            "2:1 const B = (* 2 64)\n"
                            "3:1 struct Params\n"
                            "  3:17 w: f32[D, H@model]\n"
                            "  3:37 layers: [Block; 4]\n"
                            "4:1 fn main<I, O>(x: f32[4096@a, 2048@b], y, axis = (- 1)) -> (f32[I], Params)\n"
                            "  5:3 let (p, (q, r)): (f32[], f32[]) = (call g x)\n"
                            "  6:3 do (call print \"p\" p)\n"
                            "  7:3 return (tuple p q)\n");
}

TEST(Parser, controlFlow) {
  Parsed parsed("fn f(x, c) {\n"
                "  let (a, s) = for i in 0..10 carry (x = x, s = 0.0) {\n"
                "    let y = x + i;\n"
                "    yield (y, s);\n"
                "  };\n"
                "  let w = while s < 3.0 carry (s = s) { yield s + 1; };\n"
                "  return if c { w } else if !c { let z = w; z } else { a };\n"
                "}\n");
  EXPECT_THAT(parsed.errors(), IsEmpty());
  EXPECT_EQ(parsed.print(), "1:1 fn f(x, c)\n"
                            "  2:3 let (a, s) = (for i 0 .. 10 carry (x = x, s = 0.0) {\n"
                            "    3:5 let y = (+ x i)\n"
                            "    4:5 yield (tuple y s)\n"
                            "  })\n"
                            "  6:3 let w = (while (< s 3.0) carry (s = s) {\n"
                            "    6:41 yield (+ s 1)\n"
                            "  })\n"
                            "  7:3 return (if c {\n"
                            "    7:17 value w\n"
                            "  } else {\n"
                            "    7:26 value (if (! c) {\n"
                            "      7:34 let z = w\n"
                            "      7:45 value z\n"
                            "    } else {\n"
                            "      7:56 value a\n"
                            "    })\n"
                            "  })\n");
}

// One error for each statement; no error hides another.
TEST(Parser, recovery) {
  Parsed parsed("mesh m(a=4, b=)\n"
                "fn f(x) {\n"
                "  let a = x +;\n"
                "  let b = 1\n"
                "  let c = (x;\n"
                "  let fn2 = if x { 1 };\n"
                "  return a b;\n"
                "}\n"
                "stray\n"
                "fn g(x) { return x[1 2]; }\n"
                "fn h(x { return x; }\n"
                "fn k(x) { return x; }\n");
  EXPECT_THAT(
      parsed.errors(),
      ElementsAre("1:15: expected an expression, found ')'", "3:14: expected an expression, found ';'",
                  "4:12: expected ';' at the end of the statement, found 'let'",
                  "5:13: expected ')' to close the parenthesis, found ';'",
                  "6:23: expected 'else' after the first branch: an 'if' is an expression and needs both, found ';'",
                  "7:12: expected ';' at the end of the statement, found 'b'",
                  "9:1: expected a declaration ('mesh', 'const', 'struct', 'fn' or 'budget'), found 'stray'",
                  "10:22: expected ',' or ']' to close the index, found '2'",
                  "11:8: expected ',' or ')' after the parameters, found '{'"));
  EXPECT_EQ(parsed.ast->functions.back().name.text, "k");
}

TEST(Parser, whatAnEndMayHold) {
  EXPECT_THAT(Parsed("fn f(x) { x + 1 }").errors(),
              ElementsAre("1:11: a function's value is returned: write 'return ...;'"));
  EXPECT_THAT(Parsed("fn f(x) { return x; let y = 1; }").errors(),
              ElementsAre("1:21: nothing may follow 'return'", "  1:11: it is here"));
  EXPECT_THAT(Parsed("fn f(x) { yield x; }").errors(),
              ElementsAre("1:11: 'yield' is only allowed at the end of a loop"));
  EXPECT_THAT(Parsed("fn f(x) { return if x { return 1; } else { 2 }; }").errors(),
              ElementsAre("1:25: 'return' is only allowed at the end of a function",
                          "1:35: a branch of 'if' must end in a value without ';'"));
  EXPECT_THAT(Parsed("fn f(x) { return for i in 0..2 carry (x = x) { let y = x; }; }").errors(),
              ElementsAre("1:59: the body of a loop must end in 'yield ...;'"));
  EXPECT_THAT(Parsed("fn f(x) { x = 1; }").errors(),
              ElementsAre("1:13: a name gets its value once: write 'let' before it"));
  EXPECT_THAT(Parsed("fn f(x) {\n return x;\n").errors(),
              ElementsAre("3:1: expected '}' at the end of the block, found end of file"));
  EXPECT_THAT(Parsed("mesh m(a=2)\nmesh n(b=2)").errors(),
              ElementsAre("2:1: a program has at most one mesh", "  1:1: the first one is here"));
  EXPECT_THAT(Parsed("fn let(x) { return x; }").errors(),
              ElementsAre("1:4: expected the function's name, but 'let' is a keyword"));
  EXPECT_THAT(
      Parsed("fn f(x: f31[2]) { return x; }").errors(),
      ElementsAre("1:9: unknown dtype 'f31'; the dtypes are f64 f32 bf16 f16 i64 i32 i16 i8 u64 u32 u16 u8 bool "
                  "key"));
}

std::string repeated(const std::string &text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

// The function's body is one level.
TEST(Parser, nestingUpToTheLimit) {
  EXPECT_EQ(expression(repeated("(", 999) + "x" + repeated(")", 999)), "x");
  EXPECT_EQ(expression(repeated("(", 1000) + "x" + repeated(")", 1000)), "1:1016: nesting is deeper than 1000 levels");
  EXPECT_EQ(expression(repeated("-", 999) + "x"), repeated("(- ", 999) + "x" + repeated(")", 999));
  std::string wide = repeated("a||b&&c==d|e^f&g<<h+i*(", 999);
  EXPECT_EQ(expression(wide + "x" + repeated(")", 999)).substr(0, 5), "(|| a");
}

// Every construct that nests is bounded: a message, not a stack overflow.
TEST(Parser, deepNestingIsAMessage) {
  constexpr size_t many = 200000;
  for (const char *text :
       {"(", "[", "-", "!", "f(", "x[", "x**", "P{a: ", "if x { ", "for i in 0..2 carry (x = ", "zeros(f32[", "x[1:"}) {
    std::string error = expression(repeated(text, many));
    EXPECT_NE(error.find("nesting is deeper than 1000 levels"), std::string::npos)
        << text << " " << error.substr(0, 200);
  }
  EXPECT_NE(expression("x" + repeated(".y", many)).find("nesting is deeper than 1000 levels"), std::string::npos);
  EXPECT_NE(expression("x" + repeated("[0]", many)).find("nesting is deeper than 1000 levels"), std::string::npos);
  EXPECT_NE(Parsed("fn f(x: " + repeated("[", many)).errors().front().find("nesting"), std::string::npos);
  EXPECT_NE(Parsed("fn f() { let " + repeated("(", many)).errors().front().find("nesting"), std::string::npos);
}

// Left-associative operators are a chain, not nested: any length is valid.
TEST(Parser, longChains) {
  std::string text = expression("x" + repeated(" + x", 300000));
  EXPECT_EQ(text.size(), 3 * 300000u + 1 + 3 * 300000u);
}

} // namespace
