//===- WarningsTest.cpp - warnings about valid programs -------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include "frontend/Prelude.h"

#include <gmock/gmock.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

/// `line:column: message` of each warning about a program without errors.
std::vector<std::string> warningsOf(const std::string &text) {
  Diagnostics warnings{"warning"};
  FrontendOptions options;
  options.warnings = &warnings;
  Compiled compiled(text, options);
  EXPECT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  std::vector<std::string> lines;
  for (const Diagnostic &warning : warnings.getErrors()) {
    LineColumn at = warning.where.start();
    lines.push_back(std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + warning.message);
  }
  return lines;
}

std::string discarded(const std::string &place, const std::string &what, const std::string &fix) {
  return place + ": the value of " + what + " is discarded, and no name changes; write '" + fix +
         "' to keep it ('let _ = ...' to drop it)";
}

TEST(Warnings, discardedLoops) {
  EXPECT_THAT(warningsOf("fn main(s: f32) {\n  for i in 0..8 carry (s = s) { yield s + 1.0; };\n  return s;\n}"),
              ElementsAre(discarded("2:3", "this 'for'", "let s = for ...")));
  EXPECT_THAT(warningsOf("fn main(s: f32) {\n  for i in 0..8 carry (s = s, n = 0) { yield (s + i, n + 1); };\n"
                         "  while s < 3.0 carry (s = s) { yield s + 1.0; };\n  return s;\n}"),
              ElementsAre(discarded("2:3", "this 'for'", "let (s, n) = for ..."),
                          discarded("3:3", "this 'while'", "let s = while ...")));
}

TEST(Warnings, discardedCallsAndBranches) {
  EXPECT_THAT(warningsOf("fn g(x) { return x; }\nfn main(x: f32[4], c: bool) {\n  update(x, ones([1]), start=[0]);\n"
                         "  g(x + 1.0);\n  grad(sum)(x);\n  if c { x } else { -x };\n  x * 2.0;\n  return x;\n}"),
              ElementsAre(discarded("3:3", "this call", "let x = update(x, ...)"),
                          discarded("4:3", "this call", "let y = g(...)"), discarded("5:3", "this call", "let y = ..."),
                          discarded("6:3", "this 'if'", "let y = if ..."),
                          discarded("7:3", "this expression", "let y = ...")));
}

/// One warning in loops and branches, whose bodies may be emitted more than once, and in functions called twice.
TEST(Warnings, once) {
  EXPECT_THAT(warningsOf("fn g(x) {\n  tanh(x);\n  return x;\n}\n"
                         "fn main(x: f32[4], c: bool) {\n"
                         "  let y = for i in 0..3 carry (s = 0) {\n    exp(x);\n    yield s + sum(g(x)) + i;\n  };\n"
                         "  return if c { sin(x); g(x) + y } else { g(x) };\n}"),
              ElementsAre(discarded("2:3", "this call", "let x = tanh(x, ...)"),
                          discarded("7:5", "this call", "let x = exp(x, ...)"),
                          discarded("10:17", "this call", "let x = sin(x, ...)")));
}

/// A statement for its effect gives no warning.
TEST(Warnings, noneOfPrints) {
  EXPECT_THAT(
      warningsOf("fn show(x) { print(\"x\", x); }\n"
                 "fn main(x: f32, c: bool) {\n  print(x);\n  show(x);\n  if c { show(x) } else { print(\"no\") };\n"
                 "  let _ = for i in 0..2 carry (n = 0) { print(i); yield n; };\n  return x;\n}"),
      IsEmpty());
}

TEST(Warnings, unusedNames) {
  auto unused = [](const std::string &what, const std::string &name) {
    return what + " is not used; call it '_" + name + "' if it is meant to be unused";
  };
  EXPECT_THAT(warningsOf("fn g(x, axis = 0) { return sum(x); }\n"
                         "fn main(x: f32[4], y: f32[4]) {\n  let z = x + 1.0;\n  let (a, b) = (x, x);\n"
                         "  return g(x, axis=0) + a;\n}"),
              ElementsAre(unused("1:9: parameter 'axis' of 'g'", "axis"), unused("2:20: parameter 'y' of 'main'", "y"),
                          unused("3:7: 'z'", "z"), unused("4:11: 'b'", "b")));
  // The first of two equal names is unused.
  EXPECT_THAT(warningsOf("fn main(x: f32) {\n  let y = x;\n  let y = x + 1.0;\n  return y;\n}"),
              ElementsAre(unused("2:7: 'y'", "y")));
  EXPECT_THAT(
      warningsOf("fn main(x: f32) {\n  let y = for i in 0..2 carry (s = x) { let t = s; yield s; };\n  return y;\n}"),
      ElementsAre(unused("2:45: 't'", "t")));
  // Functions without calls are checked, too.
  EXPECT_THAT(warningsOf("fn lost(x, y) { return x; }\nfn main(x: f32) { return x; }"),
              ElementsAre(unused("1:12: parameter 'y' of 'lost'", "y")));
}

TEST(Warnings, usesOfEveryKind) {
  EXPECT_THAT(warningsOf("mesh m(x=1)\nconst n = 3;\nstruct S<D> { w: f32[D] }\n"
                         "fn make(w) { return S { w: w }; }\n"
                         "fn apply(f, x) { return f(x) + grad(f)(x); }\n"
                         "fn cube(v) { return v ** 3; }\n"
                         "fn body(v) { return psum(v, x); }\n"
                         "fn main(x: f32[3], i: i32, k: key, c: bool, _unused: f32) {\n"
                         "  let p = make(x);\n  let y = x;\n  let y = y + 1.0;\n  let (_a, b) = split(k, 2);\n"
                         "  let q = x;\n  let r = x.shape[0];\n  let s = x;\n  let t = 1.0;\n  let hi = 3;\n"
                         "  let e = for j in 0..hi carry (s = s, u = t) { yield (s + u, u); };\n"
                         "  return (p.w, y[i], uniform(b, [r]), if c { q } else { x }, e, apply(cube, 2.0),\n"
                         "          shard_map(body, in=P(), out=P())(x));\n}"),
              IsEmpty());
}

/// The type of a result reads parameters.
TEST(Warnings, usesInResultTypes) {
  EXPECT_THAT(warningsOf("fn held(x, m) -> f32[m] { return x; }\nfn main(x: f32[3]) { return held(x, 3); }"),
              IsEmpty());
}

/// `print` has no format strings.
TEST(Warnings, bracesOfPrint) {
  EXPECT_THAT(
      warningsOf("fn main(x: f32) {\n  print(\"x {}\", x);\n  print(\"{}\");\n  print(\"{x}\", x);\n  return x;\n}"),
      ElementsAre("2:9: '{}' is printed as it is: 'print' writes its arguments one behind the other"));
}

/// There are no warnings about the prelude.
TEST(Warnings, nonePrelude) {
  EXPECT_THAT(
      warningsOf("fn main(x: f32[4, 8], l: u8[4], k: key) {\n"
                 "  return (cross_entropy(x, l), softmax(x), gelu(x), dropout(k, x, 0.5), layer_norm(x, 1.0, 0.0),\n"
                 "          attention(x, x, x, causal=true), adam(x, x, x, x, 1), clip_by_global_norm(x, 1.0));\n}"),
      IsEmpty());
  EXPECT_THAT(warningsOf(std::string(preludeText()) + "fn main(x: f32) { return x; }"), IsEmpty());
}

TEST(Warnings, noneWhereNobodyAsks) {
  Compiled compiled("fn main(x: f32, y: f32) { tanh(x); return x; }");
  EXPECT_TRUE(compiled.isGood());
  EXPECT_THAT(compiled.errors(), IsEmpty());
}

} // namespace
