//===- SymbolTableTest.cpp - names of a program and their uses ------------===//

#include "frontend/sema/SymbolTable.h"
#include "frontend/Prelude.h"
#include "frontend/syntax/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

/// A program's table; `^` in the text marks a place and is not part of it.
struct Resolved {
  explicit Resolved(std::string text) {
    mark = text.find('^');
    if (mark != std::string::npos)
      text.erase(mark, 1);
    program = parse(diagnostics.addSource("t.spmd", text), diagnostics);
    prelude = parse(diagnostics.addSource("prelude.spmd", std::string(preludeText())), diagnostics);
    table = SymbolTable(*program, *prelude);
  }

  /// The declaration of the name at `^`; -1 if the program does not declare it.
  int64_t declared() const {
    const SymbolUse *use = table.findUse(static_cast<uint32_t>(mark));
    return use && use->symbol ? int64_t(table.getSymbols()[*use->symbol].place.begin) : -1;
  }
  std::vector<std::string> visible() const {
    std::vector<std::string> names;
    for (const Symbol *symbol : table.visibleAt(static_cast<uint32_t>(mark)))
      names.push_back(symbol->name);
    return names;
  }

  Diagnostics diagnostics;
  std::unique_ptr<Ast> program, prelude;
  SymbolTable table;
  size_t mark = std::string::npos;
};

} // namespace

// The value of a `let` sees the previous meaning of the name.
TEST(SymbolTable, ALetHidesTheOneBefore) {
  EXPECT_EQ(Resolved("fn f(x) { let x = ^x; return x; }").declared(), 5);
  EXPECT_EQ(Resolved("fn f(x) { let x = x; return ^x; }").declared(), 14);
}

TEST(SymbolTable, ANameInParenthesesIsItsLetters) {
  Resolved table("fn f(x) { return ( ^x ); }");
  EXPECT_EQ(table.declared(), 5);
  EXPECT_EQ(table.table.findUse(static_cast<uint32_t>(table.mark))->place, (TextSpan{19, 20}));
}

// Names bound in a block end with it.
TEST(SymbolTable, BlocksAreScopes) {
  EXPECT_EQ(Resolved("fn f(x) { return if x > 0 { let y = x; y } else { ^y }; }").declared(), -1);
  EXPECT_EQ(Resolved("const y = 1; fn f(x) { return for i in 0..^y carry (y = x) { yield y; }; }").declared(), 6);
  EXPECT_EQ(Resolved("const y = 1; fn f(x) { return for i in 0..y carry (y = x) { yield ^y; }; }").declared(), 51);
  EXPECT_EQ(Resolved("const y = 1; fn f(x) { return while ^y < 3 carry (y = x) { yield y; }; }").declared(), 49);
}

// The type of a result sees the parameters, but not the names of the body.
TEST(SymbolTable, ResultTypesSeeParameters) {
  EXPECT_EQ(Resolved("fn f<N>(x: f32[N]) -> f32[^N] { let N = 2; return x; }").declared(), 5);
  EXPECT_EQ(Resolved("fn f(n) -> f32[^n] { let n = 2; return ones([n]); }").declared(), 5);
  EXPECT_EQ(Resolved("const n = 1; fn f(x) -> f32[^n] { let n = 2; return x; }").declared(), 6);
}

// A function may have the name of a variable or of an axis: its position decides.
TEST(SymbolTable, PlacesDecideBetweenKindsOfNames) {
  std::string text = "mesh m(a=2) fn a(a: f32[8@a]) { return a(a); }";
  auto at = [&](size_t offset) { return Resolved(text.substr(0, offset) + "^" + text.substr(offset)).declared(); };
  EXPECT_EQ(at(26), 7);  // After `@`.
  EXPECT_EQ(at(39), 15); // The callee.
  EXPECT_EQ(at(41), 17); // The argument.
}

TEST(SymbolTable, ArgumentsNamesAndAxesOfCalls) {
  EXPECT_EQ(Resolved("fn f(x, n = 1) { return x; } fn g(y) { return f(y, ^n=2); }").declared(), 8);
  EXPECT_EQ(Resolved("fn f(x, n = 1) { return sum(x); } fn g(y) { return grad(f)(y, ^n=2.0); }").declared(), 8);
  EXPECT_EQ(Resolved("mesh m(a=2) fn f(a) { return psum(a, ^a); }").declared(), 7);
  EXPECT_EQ(Resolved("mesh m(a=2) fn f(a) { return psum(^a, a); }").declared(), 17);
  EXPECT_EQ(Resolved("mesh m(a=2) fn f(a) { return psum(a, axis_name=(^a)); }").declared(), 7);
  // A function of the program hides the operation, and takes no axes.
  EXPECT_EQ(Resolved("mesh m(a=2) fn psum(x, y) { return x; } fn f(a) { return psum(a, ^a); }").declared(), 45);
}

TEST(SymbolTable, FunctionsOfThePreludeAreUsesWithoutSymbols) {
  Resolved table("fn f(x) { return ^relu(x); }");
  const SymbolUse *use = table.table.findUse(static_cast<uint32_t>(table.mark));
  ASSERT_TRUE(use);
  EXPECT_FALSE(use->symbol);
  EXPECT_EQ(use->operation, "relu");
}

TEST(SymbolTable, VisibleNames) {
  EXPECT_THAT(Resolved("const N = 2; fn f<K>(x: f32[K]) { let y = x; ^ let z = y; return z; }").visible(),
              ElementsAre("K", "N", "f", "x", "y"));
  EXPECT_THAT(Resolved("fn f(x) { return x; }\n^\nfn g(y) { return y; }").visible(), ElementsAre("f", "g"));
  EXPECT_THAT(Resolved("^").visible(), IsEmpty());
}

// A syntax error does not affect the names around it, nor those of a function without end.
TEST(SymbolTable, MistakesLeaveWhatIsUnderstood) {
  EXPECT_EQ(Resolved("fn f(x) { let y = x +; return ^y; }").declared(), 14);
  EXPECT_EQ(Resolved("fn f(x) { let y = 2 * ^x;").declared(), 5);
  EXPECT_EQ(Resolved("fn f(x) { let y = x;\nfn g(z) { return ^z; }").declared(), 26);
}
