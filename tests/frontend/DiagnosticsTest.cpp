//===- DiagnosticsTest.cpp - errors, their places and fixes ---------------===//
//
// Messages are interface: each case gives the exact text and place (1-based characters), notes included.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace {

std::vector<std::string> errors(const std::string &text, const FrontendOptions &options = {}) {
  return Compiled(text, options).errors();
}

// The whole message, as a tool prints it.
TEST(Errors, format) {
  Compiled compiled("mesh m(a=4, b=2)\nfn main(x: f32[8@a, 4@c]) {\n  return rleu(x);\n}\n");
  EXPECT_EQ(compiled.diagnostics.str(), "t.spmd:2:23: error: unknown axis 'c'; the mesh has a, b\n"
                                        "fn main(x: f32[8@a, 4@c]) {\n"
                                        "                      ^\n"
                                        "t.spmd:1:1: note: the mesh is declared here\n"
                                        "mesh m(a=4, b=2)\n"
                                        "^~~~~~~~~~~~~~~~\n"
                                        "t.spmd:3:10: error: unknown function 'rleu'; did you mean 'relu'?\n"
                                        "  return rleu(x);\n"
                                        "         ^~~~\n");
}

// All errors of a file in one go: those of the grammar, those of the rest, and none that follows from another.
TEST(Errors, allInOneGo) {
  EXPECT_THAT(errors("mesh m(a=4\n"
                     "fn helper(x) { return x + ; }\n"
                     "fn main(x: f32[8@z], y: f32[3]) {\n"
                     "  let a = x + ;\n"
                     "  let b = a + helper(y) + unknown;\n"
                     "  let c = b @ a + y[5];\n"
                     "  return (c, yy);\n"
                     "}\n"),
              ElementsAre("2:1: expected ',' or ')' after the mesh's axes, found 'fn'",
                          "2:27: expected an expression, found ';'", "4:15: expected an expression, found ';'",
                          "5:27: unknown name 'unknown'", "6:21: index 5 is outside of dimension 0 of f32[3]",
                          "7:14: unknown name 'yy'; did you mean 'y'?", "  3:22: 'y' is declared here"));
}

TEST(Errors, names) {
  EXPECT_THAT(errorsOf("xs + 1"),
              ElementsAre("2:8: unknown name 'xs'; did you mean 'x'?", "  1:26: 'x' is declared here"));
  EXPECT_THAT(errorsOf("softmx(x)"), ElementsAre("2:8: unknown function 'softmx'; did you mean 'softmax'?"));
  EXPECT_THAT(errorsOf("frobnicate(x)"), ElementsAre("2:8: unknown function 'frobnicate'"));
  EXPECT_THAT(errorsOf("a + x"), ElementsAre("2:8: 'a' is a mesh axis, not a value; P(a) is the sharding over it"));
  EXPECT_THAT(
      errorsOf("sum + x"),
      ElementsAre("2:8: 'sum' is a function; write sum(...) to call it (only a parameter without a type takes a "
                  "function itself)"));
  EXPECT_THAT(errorsOf("x(1)"), ElementsAre("2:8: 'x' is a value, not a function"));
  EXPECT_THAT(errorsOf("x.foo"), ElementsAre("2:10: an array has no field 'foo'; it has T, shape and ndim"));
}

TEST(Errors, shapes) {
  EXPECT_THAT(errorsOf("x + i"),
              ElementsAre("2:8: shapes do not broadcast in '+': [4, 8] and [3] differ in dimension -1 (8 and 3)",
                          "  1:26: 'x' is f32[4, 8]", "  1:51: 'i' is i32[3]"));
  EXPECT_THAT(errorsOf("x @ (x * 2)"),
              ElementsAre("2:8: '@' of f32[4, 8] and f32[4, 8]: dimension 1 of the left side is 8, dimension 0 of the "
                          "right side is 4",
                          "  1:26: 'x' is f32[4, 8]", "  2:12: this side is f32[4, 8]"));
  EXPECT_THAT(errorsOf("x @ 2"),
              ElementsAre("2:12: '@' multiplies arrays of at least one dimension; this is the integer 2"));
  EXPECT_THAT(errorsOf("reshape(x, [3, -1])"), ElementsAre("2:8: cannot reshape f32[4, 8] (32 elements) to [3, -1]"));
  EXPECT_THAT(errorsOf("reshape(x, [5, 6])"),
              ElementsAre("2:8: cannot reshape f32[4, 8] (32 elements) to [5, 6] (30 elements)"));
  EXPECT_THAT(errorsOf("sum(x, axis=2)"), ElementsAre("2:20: axis 2 is outside of an array of rank 2"));
  EXPECT_THAT(errorsOf("sum(x, axis=[0, -2])"), ElementsAre("2:24: axis -2 is named twice"));
  EXPECT_THAT(errorsOf("softmax(x, axis=2)").front(), "2:8: axis 2 is outside of an array of rank 2");
  EXPECT_THAT(
      errorsOf("concatenate([x, y[None]], axis=1)"),
      ElementsAre("2:24: arrays concatenated along axis 1 must agree in all other dimensions: [4, 8] and [1, 8]"));
  EXPECT_THAT(errorsOf("split(y, 3)"), ElementsAre("2:17: dimension 0 of f32[8] does not split into 3 equal parts"));
  EXPECT_THAT(errorsOf("max(x[:0], axis=0)"),
              ElementsAre("2:8: 'max' of no elements: dimension 0 of f32[0, 8] is empty"));
  EXPECT_THAT(errorsOf("einsum(\"ij,jk->ik\", x, x)"),
              ElementsAre("2:31: 'einsum': 'j' is 8 in f32[4, 8] and 4 in f32[4, 8]"));
  EXPECT_THAT(errorsOf("einsum(\"ij->k\", x)"), ElementsAre("2:15: 'einsum': 'k' of the result is in no argument"));
  EXPECT_THAT(errorsOf("einsum(\"ij,j\", x)"), ElementsAre("2:8: 'einsum': \"ij,j\" names 2 arrays, but 1 are given"));
}

TEST(Errors, indexing) {
  EXPECT_THAT(errorsOf("x[4]"), ElementsAre("2:10: index 4 is outside of dimension 0 of f32[4, 8]"));
  EXPECT_THAT(errorsOf("x[0, -9]"), ElementsAre("2:13: index -9 is outside of dimension 1 of f32[4, 8]"));
  EXPECT_THAT(errorsOf("x[0, 1, 2]"), ElementsAre("2:8: too many indices: 3 for f32[4, 8] of rank 2"));
  EXPECT_THAT(errorsOf("x[::0]"), ElementsAre("2:12: a slice's step cannot be 0"));
  EXPECT_THAT(errorsOf("x[..., ...]"), ElementsAre("2:15: an index may have at most one '...'"));
  EXPECT_THAT(errorsOf("x[1.5]"),
              ElementsAre("2:10: an index must be an integer, a slice, None or '...', not the number 1.5"));
  EXPECT_THAT(errorsOf("split(x, 2)[2]"), ElementsAre("2:20: index 2 is outside of a tuple of 2"));
}

TEST(Errors, dtypes) {
  EXPECT_THAT(errorsOf("x & 1"), ElementsAre("2:8: '&' takes integers or bools, not f32[4, 8] and the integer 1"));
  EXPECT_THAT(errorsOf("b - b"), ElementsAre("2:8: '-' does not take bools; use '^'"));
  EXPECT_THAT(errorsOf("-b"), ElementsAre("2:8: '-' does not take bools; use '!'"));
  EXPECT_THAT(
      errorsOf("i ** -1"),
      ElementsAre("2:8: an integer to a negative power is not an integer; convert the base with cast(..., f32)"));
  EXPECT_THAT(errorsOf("i + 3000000000"),
              ElementsAre("2:12: the integer 3000000000 does not fit in i32, which holds -2147483648 to 2147483647"));
  EXPECT_THAT(errorsOf("cast(x, 3)"),
              ElementsAre("2:16: 'dtype' of 'cast' must be a dtype, as in cast(x, bf16), not the integer 3"));
  EXPECT_THAT(errorsOf("bitcast(x, f64)"),
              ElementsAre("2:8: 'bitcast' requires equal widths: f32 has 32 bits, f64 has 64"));
  EXPECT_THAT(errorsOf("\"s\" + x"), ElementsAre("2:8: '+' takes arrays and numbers, not a string"));
  EXPECT_THAT(errorsOf("1 / 0 + x"), ElementsAre("2:8: division by zero"));
}

TEST(Errors, arguments) {
  EXPECT_THAT(errorsOf("softmax(x, axs=1)"),
              ElementsAre("2:19: 'softmax' has no parameter 'axs'; did you mean 'axis'?"));
  EXPECT_THAT(errorsOf("exp(x, y)"), ElementsAre("2:15: 'exp' takes 1 argument (x), this is one more"));
  EXPECT_THAT(errorsOf("maximum(x)"), ElementsAre("2:8: 'maximum' needs an argument for 'y'; it takes x, y"));
  EXPECT_THAT(errorsOf("sum(x, axis=0, axis=1)"), ElementsAre("2:23: 'axis' is given twice"));
  EXPECT_THAT(errorsOf("sum(axis=0, x)"),
              ElementsAre("2:20: arguments without a name must come before those with one"));
  EXPECT_THAT(errorsOf("sum(x, axis=y)"),
              ElementsAre("2:20: 'axis' of 'sum' must be an integer known while compiling, not f32[8]"));
}

TEST(Errors, shardings) {
  EXPECT_THAT(errorsOf("shard(x, P(a, a))"), ElementsAre("2:17: axis 'a' is used twice in one array"));
  EXPECT_THAT(errorsOf("shard(x, P(a, _, b))"), ElementsAre("2:17: P(...) has 3 entries, but the array has rank 2"));
  EXPECT_THAT(errorsOf("zeros(f32[4@a, 4@(b, a)])"),
              ElementsAre("2:29: axis 'a' is used twice in one array", "  2:20: it is used here"));
  EXPECT_THAT(
      errors("fn main() { return zeros(f32[4@a]); }"),
      ElementsAre("1:32: unknown axis 'a'; the program has no mesh: declare one with 'mesh m(a=...)' or --mesh"));
}

TEST(Errors, declarations) {
  EXPECT_THAT(errors("const A = B; const B = A + 1; fn main() { return A; }"),
              ElementsAre("1:7: const 'A' is defined in terms of itself"));
  EXPECT_THAT(errors("const N = 10; fn main(x: f32[N / 4]) { return x; }"),
              ElementsAre("1:30: a dimension's size must be an integer; this is 2.5 (a division leaves a remainder)"));
  EXPECT_THAT(errors("fn f(x) { return x; } fn f(y) { return y; } fn main() { return f(1.0); }"),
              ElementsAre("1:26: function 'f' is declared twice", "  1:4: first here"));
  EXPECT_THAT(errors("fn main(x: f32[2], x: f32[3]) { return x; }"),
              ElementsAre("1:20: parameter 'x' is declared twice", "  1:9: first here"));
  EXPECT_THAT(errors("mesh m(a=2, a=4) fn main() { return 1; }"),
              ElementsAre("1:13: axis 'a' is declared twice", "  1:8: first here"));
  EXPECT_THAT(errors("mesh m(a=99999999999999999999) fn main() { return zeros(f32[8@a]); }"),
              ElementsAre("1:10: the integer does not fit in 64 bits"));
  EXPECT_THAT(errors("const N = 99999999999999999999; fn main(x: f32[N, 99999999999999999999]) { return x + N; }"),
              ElementsAre("1:11: the integer does not fit in 64 bits", "1:51: the integer does not fit in 64 bits"));
  EXPECT_THAT(errors("mesh m(a=0) fn main() { return 1; }"),
              ElementsAre("1:10: the size of axis 'a' must be a positive integer, not the integer 0"));
  EXPECT_THAT(errors("fn main(x) { return x; }"),
              ElementsAre("1:9: a parameter of the entry needs a type: 'x' has none"));
  EXPECT_THAT(errors("fn mian(x: f32) { return x; }"),
              ElementsAre("1:4: the program has no function 'main'; it has mian; did you mean 'mian'?"));
  EXPECT_THAT(errors("fn main(x: f33) { return x; }"), ElementsAre("1:12: unknown type 'f33'; did you mean 'f32'?"));
  EXPECT_THAT(errors("fn main(x: f32[4]) -> f32[5] { return x; }"),
              ElementsAre("1:39: the result is f32[4], but f32[5] is declared (dimension 0 is 4, not 5)",
                          "  1:23: declared here"));
  EXPECT_THAT(errors("fn main(x: f32[4]) { let y: i32[4] = x; return y; }"),
              ElementsAre("1:38: the value is f32[4], but i32[4] is declared; convert it with cast(..., i32)",
                          "  1:29: declared here"));
  EXPECT_THAT(errors("fn main(x: f32[4]) { let (p, q, r) = split(x, 2); return p; }"),
              ElementsAre("1:26: 3 names for a tuple of 2"));
}

// An error in a called function has notes for its callers; one in the prelude is reported at the call.
TEST(Errors, calls) {
  EXPECT_THAT(errors("fn f(q, r) { return q + r; }\nfn main(x: f32[4], y: f32[3]) {\n  return f(x, r=y);\n}"),
              ElementsAre("1:21: shapes do not broadcast in '+': [4] and [3] differ in dimension -1 (4 and 3)",
                          "  3:10: in the call of 'f' here", "  1:6: 'q' is f32[4]", "  1:9: 'r' is f32[3]"));
  EXPECT_THAT(errors("fn main(x: f32[4, 8]) { return rms_norm(x, ones([3])); }").front(),
              "1:32: shapes do not broadcast in '*': [4, 8] and [3] differ in dimension -1 (8 and 3)");
  EXPECT_THAT(errors("fn f(x) { return g(x); }\nfn g(x) { return f(x); }\nfn main() { return f(1.0); }"),
              ElementsAre("2:18: recursion: 'f' calls itself, and calls are inlined", "  1:18: in the call of 'g' here",
                          "  3:20: in the call of 'f' here", "  1:4: 'f' is declared here"));
  EXPECT_THAT(errors("fn f<N>(x: f32[N, N]) { return x; }\nfn main(x: f32[4, 8]) { return f(x); }"),
              ElementsAre("2:34: argument 'x' of 'f' is f32[4, 8], but f32[4, 4] is declared (dimension 1 is 8, not 4)",
                          "  2:32: in the call of 'f' here", "  1:12: declared here",
                          "  2:34: 'N' is 4 by this argument"));
  EXPECT_THAT(errors("fn f<N>(x) { return x; }\nfn main(x: f32[4]) { return f(x); }").front(),
              "1:6: the size 'N' cannot be told from the arguments: no parameter has it alone as a dimension");
}

// A function with all its types is checked even without a call.
TEST(Errors, uncalledFunctions) {
  EXPECT_THAT(errors("fn other(x: f32[4]) { return x + oops; }\nfn main() { return 1.0; }"),
              ElementsAre("1:34: unknown name 'oops'"));
  EXPECT_THAT(errors("fn other(x: f32[4]) { return sort(x); }\nfn main() { return 1.0; }"), IsEmpty());
}

TEST(Errors, options) {
  const std::string text = "mesh m(a=4, b=2)\nconst B = 8;\nfn main() { return zeros(f32[B@a]); }";
  FrontendOptions options;
  options.meshOverride = "a=8,c=1";
  EXPECT_THAT(errors(text, options),
              ElementsAre("--mesh:1:5: unknown axis 'c'; the mesh has a, b", "  1:1: declared here"));
  options.meshOverride = "a=x";
  EXPECT_THAT(errors(text, options), ElementsAre("--mesh:1:1: expected NAME=SIZE with a positive size"));
  options.meshOverride = "a=2,b=1,a=8";
  EXPECT_THAT(errors(text, options), ElementsAre("--mesh:1:9: axis 'a' is named twice", "  --mesh:1:1: first here"));
  EXPECT_THAT(errors("fn main() { return 1; }", options),
              ElementsAre("--mesh:1:9: axis 'a' is named twice", "  --mesh:1:1: first here"));
  options.meshOverride = "";
  options.sets = {{"B", "4"}, {"B", "4"}};
  EXPECT_THAT(errors(text, options), ElementsAre("--set:1:1: const 'B' is set twice", "  --set:1:1: first here"));
  options.sets = {{"C", "3"}};
  EXPECT_THAT(errors(text, options), ElementsAre("--set:1:1: the program has no const 'C'; it has B"));
  options.sets = {{"B", "3x"}};
  EXPECT_THAT(errors(text, options), ElementsAre("--set:1:3: a const must be an integer or a float"));
  options.sets = {};
  options.function = "mian";
  EXPECT_THAT(errors(text, options),
              ElementsAre("--fn:1:1: the program has no function 'mian'; it has main; did you mean 'main'?"));
  options.function = "step";
  EXPECT_THAT(errors("fn f() { return 1; } fn g() { return 2; }", options),
              ElementsAre("--fn:1:1: the program has no function 'step'; it has f, g"));
}

// Inlining multiplies operations; the front end fails with a message before memory is exhausted.
TEST(Errors, exponentialInlining) {
  std::string text = "fn f0(x) { return x + 1; }\n";
  for (int i = 1; i <= 30; ++i) {
    std::string inner = "f" + std::to_string(i - 1);
    text += "fn f" + std::to_string(i) + "(x) { return " + inner + "(x) * " + inner + "(x); }\n";
  }
  text += "fn main(x: f32[2]) { return f30(x); }";
  ASSERT_FALSE(errors(text).empty());
  EXPECT_THAT(errors(text).front(), HasSubstr("more than 200000 operations"));
}

} // namespace
