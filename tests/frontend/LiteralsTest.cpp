//===- LiteralsTest.cpp - types of numbers in expressions -----------------===//
//
// If a number becomes an element of an array, an integer that the array's type does not hold is an error that names the
// range, and a float that is too large becomes infinite.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;

namespace {

struct IntegerType {
  const char *name;
  int64_t low, high;
  std::string str() const {
    return std::string(name) + ", which holds " + std::to_string(low) + " to " + std::to_string(high);
  }
};

const IntegerType kTypes[] = {{"i8", -128, 127},
                              {"u8", 0, 255},
                              {"i16", INT16_MIN, INT16_MAX},
                              {"u16", 0, UINT16_MAX},
                              {"i32", INT32_MIN, INT32_MAX},
                              {"u32", 0, UINT32_MAX}};

/// Expressions in which `#` takes the type of x: T[4] (or the written T).
const char *const kPlaces[] = {
    "x + #",
    "# - x",
    "x * #",
    "x % #",
    "# ** x",
    "x & #",
    "x | #",
    "x ^ #",
    "x == #",
    "x < #",
    "# >= x",
    "maximum(x, #)",
    "min(#, x)",
    "floor_divide(x, #)",
    "where(x > 1, x, #)",
    "where(x > 1, #, x)",
    "clamp(#, x, 3)",
    "clamp(1, x, #)",
    "full(T[3], #)",
    "pad(x, (1, 1), constant_values=#)",
    "max(x, initial=#)",
    "update(x, full(T[1], #), start=[0])",
    "scatter_add(x, 0, #)",
    "concatenate([x, stack([#, x[0]])])",
    "stack([x[0], #])",
    "for i in 0..2 carry (s = #) { yield s + x[0]; }",
    "for i in 0..2 carry (s = x[0]) { yield #; }",
    "if x[0] > 1 { x[0] } else { # }",
    "declared(x)",
    "given(#)",
    "returned(x)",
    "(S { w: # }).w",
    "x + K",
};

std::string programOf(const IntegerType &type, std::string place, const std::string &number) {
  std::string text = "const K = #;\nstruct S { w: T }\nfn declared(x) { let y: T = #; return x + y; }\n"
                     "fn given(y: T) { return y; }\nfn returned(x) -> T { return #; }\n"
                     "fn main(x: T[4]) { return " +
                     place + "; }";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  // Functions without calls must not add errors.
  for (const char *function : {"declared", "returned"})
    if (place.find(function) == std::string::npos)
      text.replace(text.find('#', text.find(std::string("fn ") + function)), 1, "1");
  replace("#", number.starts_with("-") ? "(" + number + ")" : number);
  for (const char *before : {" ", "("})
    for (const char *behind : {";", "[", ")", " ", "}"})
      replace(std::string(before) + "T" + behind, std::string(before) + type.name + behind);
  return text;
}

TEST(Literals, hold) {
  for (const IntegerType &type : kTypes)
    for (const char *place : kPlaces)
      for (int64_t number : {type.low, type.high}) {
        std::string text = programOf(type, place, std::to_string(number));
        Compiled compiled(text);
        EXPECT_TRUE(compiled.isGood()) << text << "\n" << compiled.diagnostics.str();
      }
}

TEST(Literals, doNotHold) {
  for (const IntegerType &type : kTypes)
    for (const char *place : kPlaces)
      for (int64_t number : {type.low - 1, type.high + 1}) {
        std::string text = programOf(type, place, std::to_string(number));
        std::vector<std::string> errors = Compiled(text).errors();
        ASSERT_FALSE(errors.empty()) << text;
        EXPECT_NE(errors[0].find("the integer " + std::to_string(number) + " does not fit in " + type.str()),
                  std::string::npos)
            << text << "\n"
            << errors[0];
      }
}

TEST(Literals, places) {
  EXPECT_THAT(Compiled("fn main(x: i8[4]) {\n  return x + 300;\n}").errors(),
              ElementsAre("2:14: the integer 300 does not fit in i8, which holds -128 to 127"));
  EXPECT_THAT(Compiled("const K = 300;\nfn main(x: u8[4]) {\n  return x - K;\n}").errors(),
              ElementsAre("3:14: the integer 300 does not fit in u8, which holds 0 to 255"));
  EXPECT_THAT(Compiled("fn main(x: u8[4]) { return pad(x, 1, constant_values=300.5); }").errors(),
              ElementsAre("1:54: the number 300.5 does not fit in u8, which holds 0 to 255"));
  EXPECT_THAT(Compiled("fn main(x: i8[4]) { return max(x, initial=inf); }").errors(),
              ElementsAre("1:43: the number inf does not fit in i8, which holds -128 to 127"));
}

std::vector<double> floatsOf(const std::string &expression) {
  Compiled compiled("fn main() { return " + expression + "; }");
  if (!compiled.isGood()) {
    ADD_FAILURE() << compiled.diagnostics.str();
    return {};
  }
  std::vector<double> result;
  std::vector<Tensor> tensors = compiled.run();
  for (const Scalar &element : tensors.at(0).elements)
    result.push_back(llvm::isa<mlir::FloatType>(tensors.at(0).elementType) ? element.f
                                                                           : static_cast<double>(element.i));
  return result;
}

/// As in JAX.
TEST(Literals, floatsBecomeInfinite) {
  for (const char *expression : {"zeros(f16[1]) + 70000", "zeros(f16[1]) + 1e30", "zeros(bf16[1]) + 3.4e38 * 1.01",
                                 "full(f16[1], 65520.0)", "full(f32[1], 1e39)", "where(true, 1e39, zeros(f32[1]))"})
    EXPECT_THAT(floatsOf(expression), ElementsAre(INFINITY)) << expression;
  EXPECT_THAT(floatsOf("full(f16[1], 65504.0)"), ElementsAre(65504.0));
}

TEST(Literals, castsWrap) {
  EXPECT_THAT(floatsOf("stack([cast(300, i8), cast(-129, i8)])"), ElementsAre(44, 127));
  EXPECT_THAT(floatsOf("stack([cast(256, u8), cast(-1, u8)])"), ElementsAre(0, 255));
  EXPECT_THAT(floatsOf("stack([cast(-1, u32), cast(4294967295, u32)])"), ElementsAre(4294967295.0, 4294967295.0));
  EXPECT_THAT(floatsOf("stack([cast(2.7, i8), cast(-2.7, i8)])"), ElementsAre(2, -2));
  EXPECT_THAT(floatsOf("stack([cast(3000000000, i64), cast(-5, i64)])"), ElementsAre(3000000000.0, -5));
  EXPECT_THAT(floatsOf("stack([cast(3000000000, f32), cast(2, f32)])"), ElementsAre(3000000000.0, 2));
  EXPECT_THAT(floatsOf("stack([cast(3, bool), cast(0, bool)])"), ElementsAre(1, 0));
}

/// Numbers that do not take the type: exponents, shifts of constants, operands of `/`, sums that are wider.
TEST(Literals, othersAreFree) {
  for (const char *expression :
       {"x ** 300", "x / 300", "sum(x) + 300", "atan2(x, 300)", "x[0:300]", "x + cast(300, i8)", "pad(x, (300, 0))",
        "pad(x, 1, constant_values=2.5)", "x && 300", "one_hot(x, 300)"}) {
    Compiled compiled(std::string("fn main(x: i8[4]) { return ") + expression + "; }");
    EXPECT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
  }
}

} // namespace
