//===- StructTest.cpp - records of arrays ---------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include "ir/spmd/Location.h"
#include "ir/spmd/SpmdOps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

std::vector<std::string> errors(const std::string &text) { return Compiled(text).errors(); }

/// `name: type` of each argument, or the first error.
std::vector<std::string> signature(Compiled &compiled, bool ofResults) {
  if (!compiled.isGood())
    return compiled.errors();
  mlir::func::FuncOp func = compiled.function();
  std::vector<std::string> result;
  llvm::ArrayRef<mlir::Type> types = ofResults ? func.getResultTypes() : func.getArgumentTypes();
  for (auto [i, type] : llvm::enumerate(types)) {
    auto name = ofResults ? func.getResultAttrOfType<mlir::StringAttr>(i, kNameAttrName)
                          : func.getArgAttrOfType<mlir::StringAttr>(i, kNameAttrName);
    result.push_back(name.str() + ": " + llvm::cast<ArrayType>(type).str());
  }
  return result;
}
std::vector<std::string> parameters(const std::string &text) {
  Compiled compiled(text);
  return signature(compiled, false);
}
std::vector<std::string> results(const std::string &text) {
  Compiled compiled(text);
  return signature(compiled, true);
}

/// The elements of all results of a `main` without parameters.
std::vector<std::vector<double>> values(const std::string &text) {
  Compiled compiled(text);
  std::vector<std::vector<double>> result;
  EXPECT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  if (!compiled.isGood())
    return result;
  for (const Tensor &tensor : compiled.run()) {
    result.emplace_back();
    for (const Scalar &element : tensor.elements)
      result.back().push_back(llvm::isa<mlir::FloatType>(tensor.elementType) ? element.f
                                                                             : static_cast<double>(element.i));
  }
  return result;
}

const std::string decls = "mesh m(a=4, b=2)\n"
                          "const D = 8;\n"
                          "struct Layer { w: f32[D, 4@b], b: f32[4] }\n"
                          "struct Net { first: Layer, rest: [Layer; 2], scale: f32 }\n";

// Parameters become one argument for each leaf, sharded as the field's type says; results likewise, under the returned
// name.
TEST(Structs, entry) {
  EXPECT_THAT(parameters(decls + "fn main(x: f32[D], net: Net) { return x; }"),
              ElementsAre("x: f32[8]", "net.first.w: f32[8, 4@b]", "net.first.b: f32[4]", "net.rest.0.w: f32[8, 4@b]",
                          "net.rest.0.b: f32[4]", "net.rest.1.w: f32[8, 4@b]", "net.rest.1.b: f32[4]",
                          "net.scale: f32[]"));
  EXPECT_THAT(results(decls + "fn main(p: Layer) { let q = p * 2; return (q, q.b, p * 3, q); }"),
              ElementsAre("q.w: f32[8, 4]", "q.b: f32[4]", "1: f32[4]", "2.w: f32[8, 4]", "2.b: f32[4]",
                          "3.w: f32[8, 4]", "3.b: f32[4]"));
  EXPECT_THAT(results(decls + "fn main(p: Layer) -> Layer { return p * 2; }"),
              ElementsAre("0.w: f32[8, 4@b]", "0.b: f32[4]"));
  EXPECT_THAT(results(decls + "fn main(p: Layer) -> (Layer, f32[4]) { let q = p.b; return (p, q); }"),
              ElementsAre("p.w: f32[8, 4@b]", "p.b: f32[4]", "q: f32[4]"));
  // Parameters and results may be tuples, and lists without structs.
  EXPECT_THAT(parameters("fn main(x: (f32[2], i32), y: [f32[3]; 2]) { return y[1]; }"),
              ElementsAre("x.0: f32[2]", "x.1: i32[]", "y.0: f32[3]", "y.1: f32[3]"));
}

// The let's name goes to every leaf that is the result of an operation.
TEST(Structs, letNamesLeaves) {
  Compiled compiled(decls + "fn main(p: Layer) { let q = p + 1; return q.w; }");
  ASSERT_TRUE(compiled.isGood());
  std::vector<std::string> names;
  compiled.function().walk([&](mlir::Operation *op) {
    if (auto name = getValueName(op->getLoc()))
      names.push_back(name->str());
  });
  EXPECT_THAT(names, ElementsAre("q.w", "q.b"));
}

TEST(Structs, valuesOfFields) {
  const std::string pair = "struct Pair { x: f32[2], n: i32 }\n";
  EXPECT_THAT(values(pair + "fn main() { let p = Pair { n: 7, x: arange(2) * 1.5 }; return (p.x, p.n); }"),
              ElementsAre(ElementsAre(0, 1.5), ElementsAre(7)));
  // In the order of the declaration, for any order of the literal.
  EXPECT_THAT(values(pair + "fn main() { return Pair { n: 7, x: arange(2) * 1.5 }; }"),
              ElementsAre(ElementsAre(0, 1.5), ElementsAre(7)));
  EXPECT_THAT(values(pair + "struct Two { ps: [Pair; 2] }\n"
                            "fn make(v) -> Pair { return Pair { x: full([2], v), n: v }; }\n"
                            "fn main() { let t = Two { ps: [make(3), make(4)] };\n"
                            "  return (t.ps[0].x, t.ps[-1].n, (t.ps[1:])[0].x); }"),
              ElementsAre(ElementsAre(3, 3), ElementsAre(4), ElementsAre(4, 4)));
}

TEST(Structs, leafByLeaf) {
  const std::string pair = "struct Pair { x: f32[2], y: [f32; 2] }\n"
                           "fn main() { let p = Pair { x: arange(2) + 1.0, y: [10.0, -20.0] }; return ";
  auto of = [&](const std::string &expression) { return values(pair + expression + "; }"); };
  EXPECT_THAT(of("p - 0.5 * p"), ElementsAre(ElementsAre(0.5, 1), ElementsAre(5), ElementsAre(-10)));
  EXPECT_THAT(of("2 * p"), ElementsAre(ElementsAre(2, 4), ElementsAre(20), ElementsAre(-40)));
  EXPECT_THAT(of("p * p.y[0]"), ElementsAre(ElementsAre(10, 20), ElementsAre(100), ElementsAre(-200)));
  EXPECT_THAT(of("-p"), ElementsAre(ElementsAre(-1, -2), ElementsAre(-10), ElementsAre(20)));
  EXPECT_THAT(of("p ** 2"), ElementsAre(ElementsAre(1, 4), ElementsAre(100), ElementsAre(400)));
  EXPECT_THAT(of("p > 1"), ElementsAre(ElementsAre(0, 1), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(of("p == p && p > 1"), ElementsAre(ElementsAre(0, 1), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(of("where(p > 1, p, 0)"), ElementsAre(ElementsAre(0, 2), ElementsAre(10), ElementsAre(0)));
  EXPECT_THAT(of("where(p.y[0] > p.y[1], p, -p)"), ElementsAre(ElementsAre(1, 2), ElementsAre(10), ElementsAre(-20)));
  EXPECT_THAT(of("abs(p)"), ElementsAre(ElementsAre(1, 2), ElementsAre(10), ElementsAre(20)));
  EXPECT_THAT(of("maximum(p, 2)"), ElementsAre(ElementsAre(2, 2), ElementsAre(10), ElementsAre(2)));
  EXPECT_THAT(of("max(p, 2)"), ElementsAre(ElementsAre(2, 2), ElementsAre(10), ElementsAre(2)));
  EXPECT_THAT(of("clamp(0, p, 5)"), ElementsAre(ElementsAre(1, 2), ElementsAre(5), ElementsAre(0)));
  EXPECT_THAT(of("cast(p / 3, i32)"), ElementsAre(ElementsAre(0, 0), ElementsAre(3), ElementsAre(-6)));
  EXPECT_THAT(of("relu(p)"), ElementsAre(ElementsAre(1, 2), ElementsAre(10), ElementsAre(0)));
  // A list of leaves alone, and one that is a field of another struct.
  EXPECT_THAT(of("p.y * 2"), ElementsAre(ElementsAre(20), ElementsAre(-40)));
}

TEST(Structs, createdFromTheirType) {
  const std::string pair = "struct Pair { x: f32[2], y: [i32[1]; 2] }\n";
  EXPECT_THAT(values(pair + "fn main() { return (zeros(Pair), ones(Pair), full(Pair, 3)); }"),
              ElementsAre(ElementsAre(0, 0), ElementsAre(0), ElementsAre(0), ElementsAre(1, 1), ElementsAre(1),
                          ElementsAre(1), ElementsAre(3, 3), ElementsAre(3), ElementsAre(3)));
  EXPECT_THAT(results("mesh m(a=2)\nstruct L<N> { x: f32[N@a] }\n"
                      "fn main() { return (zeros(L<6>), zeros([L<2>; 2])); }"),
              ElementsAre("0.x: f32[6@a]", "1.0.x: f32[2@a]", "1.1.x: f32[2@a]"));
}

// Sizes of a struct: from consts, from its own generics, which a literal and a call infer from their arguments.
TEST(Structs, genericSizes) {
  const std::string linear = "struct Linear<I, O> { w: f32[I, O], b: f32[O] }\n"
                             "struct Mlp<D, H> { up: Linear<D, H>, down: Linear<H, D>, rest: [Linear<D, 2 * D>; 2] }\n";
  EXPECT_THAT(parameters(linear + "fn main(p: Mlp<4, 8>) { return p.up.w; }"),
              ElementsAre("p.up.w: f32[4, 8]", "p.up.b: f32[8]", "p.down.w: f32[8, 4]", "p.down.b: f32[4]",
                          "p.rest.0.w: f32[4, 8]", "p.rest.0.b: f32[8]", "p.rest.1.w: f32[4, 8]",
                          "p.rest.1.b: f32[8]"));
  const std::string apply = linear + "fn apply<B, I, O>(p: Linear<I, O>, x: f32[B, I]) -> f32[B, O] "
                                     "{ return x @ p.w + p.b; }\n";
  EXPECT_THAT(results(apply + "fn main(p: Linear<3, 5>, x: f32[7, 3]) { return apply(p, x); }"),
              ElementsAre("0: f32[7, 5]"));
  EXPECT_THAT(results(apply + "fn main(x: f32[7, 3]) { "
                              "return apply(Linear { w: ones([3, 2]), b: zeros([2]) }, x); }"),
              ElementsAre("0: f32[7, 2]"));
  // A parameter without written sizes takes any.
  EXPECT_THAT(results(linear + "fn f(p: Linear) { return p.b; }\nfn main(p: Linear<3, 5>) { return f(p); }"),
              ElementsAre("0: f32[5]"));
  // Without a call, it is not an error.
  EXPECT_THAT(errors(linear + "fn f(p: Linear, q: (f32, [Linear; 2])) { return p.b; }\nfn main(x: f32) { return x; }"),
              IsEmpty());
  EXPECT_THAT(results("struct S { x: f32[2] }\nfn f<N>(p: [S; N]) { return zeros([N]); }\n"
                      "fn main(p: [S; 3]) { return f(p); }"),
              ElementsAre("0: f32[3]"));
  EXPECT_THAT(
      errors(apply + "fn main(p: Linear<3, 5>, x: f32[7, 4]) { return apply(p, x); }"),
      ElementsAre("4:58: argument 'x' of 'apply' is f32[7, 4], but f32[7, 3] is declared (dimension 1 is 4, not 3)",
                  "  4:49: in the call of 'apply' here", "  3:39: declared here", "  4:58: 'B' is 7 by this argument",
                  "  4:55: 'I' is 3 by this argument"));
  EXPECT_THAT(errors(linear + "fn main() { return Linear { w: ones([3, 2]), b: ones([3]) }; }"),
              ElementsAre("3:49: field 'b' of 'Linear' is f32[3], but f32[2] is declared (dimension 0 is 3, not 2)",
                          "  1:40: declared here", "  3:32: 'I' is 3 by this value", "  3:32: 'O' is 2 by this value"));
}

TEST(Structs, mistakesInDeclarations) {
  EXPECT_THAT(errors("struct A { x: f32[2], x: f32[3] }\nfn main(x: f32) { return x; }"),
              ElementsAre("1:23: field 'x' is declared twice", "  1:12: first here"));
  EXPECT_THAT(errors("struct A { x: Bb }\nstruct B { x: f32 }\nfn main(x: f32) { return x; }"),
              ElementsAre("1:15: unknown type 'Bb'; did you mean 'B'?"));
  EXPECT_THAT(errors("struct A { b: B }\nstruct B { as: [A; 2] }\nfn main(x: f32) { return x; }"),
              ElementsAre("1:8: struct 'A' contains itself: A -> B -> A"));
  EXPECT_THAT(errors("mesh m(a=2)\nstruct A { x: f32[4@c] }\nfn main(p: A) { return p.x; }"),
              ElementsAre("2:21: unknown axis 'c'; the mesh has a", "  1:1: the mesh is declared here"));
  EXPECT_THAT(errors("struct A { x: f32[n] }\nfn main(n: i32) { return n; }"), ElementsAre("1:19: unknown name 'n'"));
  EXPECT_THAT(errors("struct A { x: [f32; -1] }\nfn main(n: i32) { return n; }"),
              ElementsAre("1:21: the count of '[...; n]' cannot be negative: -1"));
  EXPECT_THAT(errors("struct A { x: [[f32; 1000]; 1000] }\nfn main(n: i32) { return n; }"),
              ElementsAre("1:17: the type has more than 100000 parts"));
  EXPECT_THAT(errors("struct A<N, N> { x: f32[N] }\nfn main(n: i32) { return n; }"),
              ElementsAre("1:13: generic size 'N' is declared twice", "  1:10: first here"));
}

TEST(Structs, mistakesInTypes) {
  const std::string linear = "struct Linear<I, O> { w: f32[I, O] }\n";
  EXPECT_THAT(errors(linear + "fn main(p: Linear) { return p.w; }"),
              ElementsAre("2:12: the size 'I' of 'Linear' is not known here; write Linear<I, O>",
                          "  1:8: 'Linear' is declared here"));
  EXPECT_THAT(errors(linear + "fn main(p: Linear<3>) { return p.w; }"),
              ElementsAre("2:12: 'Linear' has 2 generic sizes, 1 are given", "  1:1: declared here"));
  EXPECT_THAT(errors(linear + "fn main(p: Linear<3, 2.5>) { return p.w; }"),
              ElementsAre("2:22: a generic size must be an integer; this is 2.5"));
  EXPECT_THAT(errors("struct A { x: f32 }\nfn f(p: A) { return p.x; }\nfn main(x: f32) { return f(x); }"),
              ElementsAre("3:28: argument 'p' of 'f' is f32[], but an A is declared", "  3:26: in the call of 'f' here",
                          "  2:9: declared here"));
  EXPECT_THAT(errors("struct A { x: f32 }\nstruct B { x: f32 }\nfn main(p: A) -> B { return p; }"),
              ElementsAre("3:29: the result is an A, but a B is declared", "  3:18: declared here"));
}

TEST(Structs, mistakesInLiterals) {
  const std::string pair = "struct Pair { weight: f32[2], n: i32 }\n";
  auto of = [&](const std::string &expression) {
    return errors(pair + "fn main(x: f32[2]) {\n  return " + expression + ";\n}");
  };
  EXPECT_THAT(of("Pair { weight: x }"),
              ElementsAre("3:10: 'Pair' needs a value for field 'n'", "  1:1: declared here"));
  EXPECT_THAT(of("Pair { wieght: x, n: 1 }"),
              ElementsAre("3:10: 'Pair' needs a value for field 'weight'", "  1:1: declared here",
                          "3:17: struct 'Pair' has no field 'wieght'; did you mean 'weight'?", "  1:1: declared here"));
  EXPECT_THAT(of("Pair { weight: x, n: 1, n: 2 }"),
              ElementsAre("3:34: field 'n' is given twice", "  3:28: first here"));
  EXPECT_THAT(
      of("Pair { weight: x, n: 1.5 }"),
      ElementsAre("3:31: field 'n' of 'Pair' is the number 1.5, but i32[] is declared", "  1:34: declared here"));
  EXPECT_THAT(of("Pair { weight: x[:1], n: 1 }"),
              ElementsAre("3:25: field 'weight' of 'Pair' is f32[1], but f32[2] is declared (dimension 0 is 1, not 2)",
                          "  1:23: declared here"));
  EXPECT_THAT(of("Paire { weight: x, n: 1 }"), ElementsAre("3:10: unknown struct 'Paire'; did you mean 'Pair'?"));
}

TEST(Structs, mistakesInUse) {
  auto of = [&](const std::string &expression) {
    return errors(
        "struct Pair { weight: f32[2], b: f32[3] }\nstruct Other { weight: f32[2] }\nfn main(p: Pair, o: Other, x: "
        "f32[2]) {\n  return " +
        expression + ";\n}");
  };
  EXPECT_THAT(of("p.weights"), ElementsAre("4:12: struct 'Pair' has no field 'weights'; did you mean 'weight'?",
                                           "  1:1: declared here"));
  EXPECT_THAT(of("p.momentum"),
              ElementsAre("4:12: struct 'Pair' has no field 'momentum'; it has weight, b", "  1:1: declared here"));
  EXPECT_THAT(of("p + o"), ElementsAre("4:10: '+' works leaf by leaf, and these have different leaves: a Pair against "
                                       "an Other"));
  EXPECT_THAT(of("p * x"), ElementsAre("4:14: '*' of a Pair and f32[2]: only a scalar combines with every leaf"));
  EXPECT_THAT(of("exp(p, x)"), ElementsAre("4:17: 'exp' takes 1 argument (x), this is one more"));
  EXPECT_THAT(of("p << 1"),
              ElementsAre("4:10: '<<' takes integers, not f32[2] and the integer 1", "  4:10: in the leaf 'weight'"));
  EXPECT_THAT(of("sum(p)"),
              ElementsAre("4:14: 'sum' takes arrays and numbers, not a Pair; take its fields one by one: weight, b"));
  EXPECT_THAT(of("p @ x"),
              ElementsAre("4:10: '@' takes arrays and numbers, not a Pair; take its fields one by one: weight, b"));
  EXPECT_THAT(of("p[0]"), ElementsAre("4:10: a Pair cannot be indexed"));
}

} // namespace
