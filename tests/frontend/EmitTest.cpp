//===- EmitTest.cpp - the IR of programs ----------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include "ir/spmd/Location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

std::string readExample(const std::string &name) {
  std::ifstream file(SPMDC_SOURCE_DIR "/examples/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The seed's example: shardings on the parameters, an open result, names; operations of the prelude have the place of
// the user's call, and a product that of its left operand's first character.
TEST(Emit, psum) {
  Compiled psum(readExample("psum.spmd"));
  ASSERT_TRUE(psum.isGood()) << psum.diagnostics.str();
  EXPECT_EQ(psum.print(),
            "module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {\n"
            "  func.func @main(%arg0: !spmd.array<f32[4096@a, 2048@b]> {spmd.name = \"x\"}, "
            "%arg1: !spmd.array<f32[2048@b, 4096]> {spmd.name = \"y\"}) -> "
            "(!spmd.array<f32[4096, 4096]> {spmd.name = \"0\"}) {\n"
            "    %0 = array.dot_general %arg0, %arg1 contract [1] x [0] batch [] x [] : <f32[4096@a, 2048@b]>, "
            "<f32[2048@b, 4096]> -> <f32[4096, 4096]>\n"
            "    %1 = array.constant dense<0.000000e+00> : tensor<4096x4096xf32> -> <f32[4096, 4096]>\n"
            "    %2 = array.compare gt %0, %1 : <f32[4096, 4096]>, <f32[4096, 4096]> -> <bool[4096, 4096]>\n"
            "    %3 = array.constant dense<0.000000e+00> : tensor<4096x4096xf32> -> <f32[4096, 4096]>\n"
            "    %4 = array.maximum %0, %3 : <f32[4096, 4096]>\n"
            "    %5 = array.stop_gradient %4 : <f32[4096, 4096]>\n"
            "    %6 = array.select %2, %0, %5 : <bool[4096, 4096]>, <f32[4096, 4096]>, <f32[4096, 4096]> -> "
            "<f32[4096, 4096]>\n"
            "    return %6 : !spmd.array<f32[4096, 4096]>\n"
            "  }\n"
            "}\n");
  std::vector<std::string> places;
  psum.function().walk([&](mlir::Operation *op) {
    if (auto place = getSourcePosition(op->getLoc()))
      places.push_back(op->getName().getStringRef().str() + " " + place->str());
  });
  EXPECT_THAT(places,
              ElementsAre("array.dot_general t.spmd:8:15", "array.constant t.spmd:8:10", "array.compare t.spmd:8:10",
                          "array.constant t.spmd:8:10", "array.maximum t.spmd:8:10", "array.stop_gradient t.spmd:8:10",
                          "array.select t.spmd:8:10", "func.return t.spmd:8:10", "func.func t.spmd:7:1"));
}

// A window of any length becomes a few operations, and one that does not fit none.
TEST(Emit, LongWindowsAreFewOperations) {
  for (const char *pool : {"max_pool(x, 1000000)", "avg_pool(x, 1000000)", "avg_pool(x, 999983)",
                           "max_pool(x, 1000000, 7)", "avg_pool(x, 999983, 7)", "max_pool(x, 1099511627776)",
                           "avg_pool(x, 1099511627776, padding=\"SAME\")", "max_pool(x, 1, 1099511627776)"}) {
    Compiled pooled("fn main(x: f32[1, 2000000, 1]) { return " + std::string(pool) + "; }\n");
    ASSERT_TRUE(pooled.isGood()) << pool << pooled.diagnostics.str();
    int operations = 0;
    pooled.function().walk([&](mlir::Operation *) { ++operations; });
    EXPECT_LT(operations, 250) << pool;
  }
}

// The seed's toy: integers become f32 under sin; the sum is the seed's.
TEST(Emit, toy) {
  Compiled toy(readExample("toy.spmd"));
  ASSERT_TRUE(toy.isGood()) << toy.diagnostics.str();
  EXPECT_THAT(toy.print(), HasSubstr("spmd.constraint %1 : <i32[4, 8]> -> <i32[4@i, 8@j]>"));
  EXPECT_THAT(toy.print(), HasSubstr("array.convert %2 : <i32[4@i, 8@j]> -> <f32[4, 8]>"));
  std::vector<Tensor> results = toy.run();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].elements[0].f, -0.12398731, 2e-6);
}

TEST(Emit, nearestCentroid) {
  Compiled centroid(readExample("nearest_centroid.spmd"));
  ASSERT_TRUE(centroid.isGood()) << centroid.diagnostics.str();
  EXPECT_THAT(centroid.resultTypes(), ElementsAre("i32[1797]", "f32[]"));
  EXPECT_THAT(centroid.print(), HasSubstr("-> (!spmd.array<i32[1797]> {spmd.name = \"predictions\"}, "
                                          "!spmd.array<f32[]> {spmd.name = \"accuracy\"})"));
}

// A value that `let` names has its names on its location, and after the expression's place those of the names.
TEST(Emit, letNamesValues) {
  Compiled compiled("fn main(x: f32[4]) {\n  let h = x + 1.0;\n  let g = h;\n  return g;\n}");
  ASSERT_TRUE(compiled.isGood());
  std::vector<std::string> names;
  compiled.function().walk([&](mlir::Operation *op) {
    for (const ValueName &name : getValueNames(op->getLoc()))
      names.push_back(name.name.str() + " " + getSourcePosition(op->getLoc())->str() + " " +
                      getSourcePosition(*name.place)->str());
  });
  EXPECT_THAT(names, ElementsAre("h t.spmd:2:11 t.spmd:2:7", "g t.spmd:2:11 t.spmd:3:7"));
  EXPECT_THAT(compiled.print(true), HasSubstr("loc(\"t.spmd\":2:7)"));
  EXPECT_THAT(compiled.print(), HasSubstr("spmd.name = \"g\""));
}

/// The type of a result of `main` on a mesh (a=4, b=2, c=2).
std::string resultType(const std::string &text, const FrontendOptions &options = {}) {
  Compiled compiled("mesh m(a=4, b=2, c=2)\n" + text, options);
  return compiled.isGood() ? compiled.resultTypes().at(0) : compiled.errors().at(0);
}

// The type has each dimension's sharding as written; `@?` is the same as no annotation.
TEST(Emit, shardingAnnotations) {
  EXPECT_EQ(resultType("fn main(x: f32[8, 8@a, 8@(b, c), 8@_]) { return x; }"), "f32[8, 8@a, 8@(b, c), 8@_]");
  EXPECT_EQ(resultType("fn main(x: f32[8@?, 8@a?, 8@(b, c)?]) { return x; }"), "f32[8, 8@a?, 8@(b, c)?]");
  EXPECT_EQ(resultType("fn main(x: f32[8@a!1, 8@_!2]) { return x; }"), "f32[8@a!1, 8@_!2]");
}

// P(...) closes the dimensions that it does not name.
TEST(Emit, constraints) {
  EXPECT_EQ(resultType("fn main(x: f32[8, 8, 8]) { return shard(x, P(a)); }"), "f32[8@a, 8@_, 8@_]");
  EXPECT_EQ(resultType("fn main(x: f32[8, 8]) { return shard(x, P(?, (b, c))); }"), "f32[8, 8@(b, c)]");
  EXPECT_EQ(resultType("fn main(x: f32[8]) { let y: f32[8@b] = x; return y; }"), "f32[8@b]");
  EXPECT_EQ(resultType("fn main() { return zeros(f32[8@a]); }"), "f32[8@a]");
  EXPECT_EQ(resultType("fn main(x: f32[8@a]) -> f32[8@b] { return x; }"), "f32[8@b]");
  EXPECT_EQ(resultType("fn f(y: f32[8@a]) { return y; } fn main(x: f32[8]) { return f(x); }"), "f32[8@a]");
  EXPECT_EQ(resultType("fn f(y) -> f32[8@c] { return y * 2; } fn main(x: f32[8]) { return f(x); }"), "f32[8@c]");
}

// Computed values have no sharding: propagation decides it.
TEST(Emit, computedValuesAreOpen) {
  EXPECT_EQ(resultType("fn main(x: f32[8@a]) { return exp(x); }"), "f32[8]");
  EXPECT_EQ(resultType("fn main(x: f32[8@a, 4]) { return x.T; }"), "f32[4, 8]");
}

// The result is a separate value: neither x's annotation nor that of an equal expression conflicts with y's.
TEST(Emit, shardingGroups) {
  Compiled compiled("fn main(x: f32[8], y: f32[8]) { return like(x * 2, y); }");
  EXPECT_THAT(compiled.print(), HasSubstr("%2 = spmd.constraint %1 {spmd.group = 0 : i64} : <f32[8]> -> <f32[8]>"));
  EXPECT_THAT(compiled.print(), HasSubstr("spmd.sharding_group %2 group 0"));
  EXPECT_THAT(compiled.print(), HasSubstr("spmd.sharding_group %arg1 group 0"));
}

TEST(Emit, constsAndOptions) {
  const std::string text =
      "const B = C * 2; const C = 4; const R = 1.5;\nfn main() { return full(f32[B / 2 + 1], R); }\n"
      "fn other() { return zeros([B]); }";
  EXPECT_EQ(resultType(text), "f32[5]");
  FrontendOptions options;
  options.sets = {{"C", "8"}};
  EXPECT_EQ(resultType(text, options), "f32[9]");
  options.function = "other";
  EXPECT_EQ(resultType(text, options), "f32[16]");

  options = {};
  options.meshOverride = "a=8,b=1";
  EXPECT_THAT(Compiled("mesh m(a=4, b=2) fn main(x: f32[8@a]) { return x; }", options).print(),
              HasSubstr("#spmd.mesh<m, a=8, b=1>"));
  EXPECT_THAT(Compiled("fn main(x: f32[8@a]) { return x; }", options).print(), HasSubstr("#spmd.mesh<mesh, a=8, b=1>"));
}

// Sizes are solved from the arguments at each call; arithmetic on them is checked.
TEST(Emit, genericSizes) {
  const std::string linear = "fn linear<B, I, O>(x: f32[B, I], w: f32[I, O]) -> f32[B, O] { return x @ w; }\n"
                             "fn halves<N>(x: f32[N]) -> f32[N / 2] { return x[:N / 2]; }\n"
                             "fn half<N>(x: f32[N]) -> f32[N / 2] { return x[:3]; }\n";
  EXPECT_EQ(resultType(linear + "fn main(x: f32[2, 3], w: f32[3, 5]) { return linear(w=w, x=x); }"), "f32[2, 5]");
  EXPECT_EQ(resultType(linear + "fn main(x: f32[6]) { return halves(x); }"), "f32[3]");
  EXPECT_EQ(resultType(linear + "fn main(x: f32[7]) { return half(x); }"),
            "4:30: a dimension's size must be an integer; this is 3.5 (a division leaves a remainder)");
}

TEST(Emit, untypedParametersAndDefaults) {
  const std::string f = "fn f(x, scale = 2, axis = -1) { return sum(x, axis=axis) * scale; }\n";
  EXPECT_EQ(resultType(f + "fn main(x: f32[2, 3]) { return f(x); }"), "f32[2]");
  EXPECT_EQ(resultType(f + "fn main(x: bf16[2, 3]) { return f(x, axis=0); }"), "bf16[3]");
  EXPECT_EQ(resultType(f + "fn main(x: i32[2, 3]) { return f(x, 0.5); }"), "f32[2]");
}

// A user's function hides the prelude's and operations; the prelude does not see it.
TEST(Emit, whoWins) {
  EXPECT_EQ(resultType("fn relu(x) { return x[0]; } fn main(x: f32[4]) { return relu(x); }"), "f32[]");
  EXPECT_EQ(resultType("fn exp(x) { return x[0]; } fn main(x: f32[4]) { return softmax(x) + exp(x); }"), "f32[4]");
  EXPECT_EQ(resultType("fn main(x: f32[4, 2]) { let sum = sum(x, axis=0); return sum + sum(x); }"), "f32[2]");
}

// Plain names where they are unique, positions elsewhere; tuples within tuples are flattened.
TEST(Emit, resultNames) {
  Compiled compiled("fn f(x) { return (x, x * 2); }\n"
                    "fn main(x: f32[2]) -> (f32[2], (f32[2], f32[]), (f32[2], f32[2])) {\n"
                    "  let y = x + 1;\n  return (y, (y, 3.0), f(x));\n}");
  ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  std::vector<std::string> names;
  for (unsigned i = 0; i < compiled.function().getNumResults(); ++i)
    names.push_back(compiled.function().getResultAttrOfType<mlir::StringAttr>(i, "spmd.name").str());
  EXPECT_THAT(names, ElementsAre("y", "1", "2", "3", "4"));
}

// An operation of an inlined function knows its own line first and then the calls.
TEST(Emit, inlinedPlaces) {
  Compiled compiled("fn g(x) { return sin(x); }\nfn f(x) {\n  return g(x);\n}\nfn main(x: f32[2]) { return f(x); }");
  ASSERT_TRUE(compiled.isGood());
  mlir::Location loc = compiled.function().getBody().front().front().getLoc();
  EXPECT_EQ(getSourcePosition(loc)->str(), "t.spmd:1:18");
  auto site = llvm::dyn_cast<mlir::CallSiteLoc>(loc);
  ASSERT_TRUE(site);
  EXPECT_EQ(getSourcePosition(site.getCaller())->str(), "t.spmd:3:10");
}

// A condition of an `if` that is known while compiling selects the branch; the other one is not checked.
TEST(Emit, ifOnAConstant) {
  EXPECT_EQ(resultType("fn main(x: f32[2, 2]) { return if x.ndim == 2 { let y = x[0]; y } else { x[0, 0, 0] }; }"),
            "f32[2]");
}

TEST(Emit, shapeIsKnown) {
  EXPECT_EQ(resultType("fn main(x: f32[2, 3]) { return zeros([x.shape[-1], x.shape[0] * 5]); }"), "f32[3, 10]");
}

// Chains of operators may have any length; each operation has its place.
TEST(Emit, longChains) {
  std::string chain = "x";
  for (int i = 0; i < 5000; ++i)
    chain += " + x";
  EXPECT_EQ(resultType("fn main(x: f32[2]) { return " + chain + "; }"), "f32[2]");
}

// For every text, there is a module or an error, and no crash: programs with random bytes changed, dropped, repeated.
TEST(Emit, mutatedPrograms) {
  std::vector<std::string> corpus = {readExample("psum.spmd"), readExample("toy.spmd"),
                                     readExample("nearest_centroid.spmd")};
  corpus.push_back("struct P { w: f32[2] } const N = 4; fn f<B>(x: f32[B, N], k = 1e-5) -> (f32[B], i32) {\n"
                   "let (a, (b, c)) = ((x[0], (x[:, None, ..., ::-2], 3)), if true { 1 } else { 2 });\n"
                   "return (einsum(\"bn->b\", x) ** -2, argmax(shard(x, P(a, _)))); }\n"
                   "fn main(x: f32[3, 4]) { let y = for i in 0..3 carry (z = x) { yield z; }; return f(x, k=2); }");
  uint64_t state = 12345;
  auto random = [&](uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  const std::string pieces[] = {"(",  ")",    "[", "]", "{",    "}",     ",",           ";",  "@",   "-1",
                                "..", "...",  ":", "=", "x",    "1e400", "99999999999", "\"", "fn ", "let ",
                                "P(", "f32[", "?", "!", "\xff", "0",     "None",        "**"};
  for (int round = 0; round < 400; ++round) {
    std::string text = corpus[random(corpus.size())];
    for (uint64_t edits = 1 + random(4); edits > 0; --edits) {
      size_t at = random(text.size()), length = random(6);
      if (random(2))
        text.erase(at, length);
      else
        text.insert(at, pieces[random(std::size(pieces))]);
    }
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + text);
    Compiled compiled(text);
    EXPECT_NE(compiled.isGood(), compiled.diagnostics.hasErrors());
    EXPECT_EQ(compiled.diagnostics.str().find("internal error"), std::string::npos);
  }
}

} // namespace
