//===- CountersTest.cpp - loops that count, in every type -----------------===//
//
// A while that counts becomes a `for` (TranslateControl.cpp). XLA's own analysis of loops takes a counter that wraps
// for one that does not, so the expected values are computed here.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/JaxValues.h"

#include "gtest/gtest.h"

#include <random>

using namespace spmdc;

namespace {

/// `number` as an integer type has it: `i8`, `u64`.
struct CounterType {
  bool isSigned;
  unsigned width;

  __int128 wrap(__int128 number) const {
    __int128 size = __int128(1) << width, rest = ((number % size) + size) % size;
    return isSigned && rest >= size / 2 ? rest - size : rest;
  }
  std::string dtype() const { return (isSigned ? "i" : "u") + std::to_string(width); }
  std::string tensor() const { return std::string("tensor<") + (isSigned ? "i" : "ui") + std::to_string(width) + ">"; }
};

struct CountingLoop {
  CounterType type;
  __int128 start, limit, step;
  std::string direction; ///< LT or LE of the counter, GT or GE of the limit.

  /// How often the body runs, and the counter after it. Nullopt after more than 300 iterations.
  std::optional<std::pair<int64_t, __int128>> run() const {
    __int128 counter = start;
    for (int64_t trips = 0; trips <= 300; ++trips) {
      bool isEqual = direction == "LE" || direction == "GE";
      if (!(counter < limit || (isEqual && counter == limit)))
        return std::pair(trips, counter);
      counter = type.wrap(counter + step);
    }
    return std::nullopt;
  }

  /// Gives %cN#0, the counter, and %cN#1, the number of iterations.
  std::string text(const std::string &number) const {
    auto constant = [&](const std::string &name, __int128 value) {
      // Of the unsigned numbers the largest is not one of i64.
      std::string digits =
          type.isSigned ? std::to_string(static_cast<int64_t>(value)) : std::to_string(static_cast<uint64_t>(value));
      return "  %" + name + number + " = stablehlo.constant dense<" + digits + "> : " + type.tensor() + "\n";
    };
    std::string counter = "%i" + number, bound = "%limit" + number;
    bool isSwapped = direction[0] == 'G';
    return constant("start", start) + constant("limit", limit) + constant("step", step) + "  %c" + number +
           ":2 = stablehlo.while(" + counter + " = %start" + number + ", %n" + number + " = %none) : " + type.tensor() +
           ", tensor<i32>\n  cond {\n    %more = stablehlo.compare " + direction + ", " +
           (isSwapped ? bound + ", " + counter : counter + ", " + bound) + " : (" + type.tensor() + ", " +
           type.tensor() +
           ") -> tensor<i1>\n    stablehlo.return %more : tensor<i1>\n  } do {\n    %next = " + "stablehlo.add " +
           counter + ", %step" + number + " : " + type.tensor() + "\n    %runs = stablehlo.add %n" + number +
           ", %one : tensor<i32>\n    stablehlo.return %next, %runs : " + type.tensor() + ", tensor<i32>\n  }\n";
  }
};

/// Numbers at the ends of a type, around zero, and elsewhere.
__int128 anyNumber(const CounterType &type, std::mt19937 &random) {
  __int128 size = __int128(1) << type.width, least = type.isSigned ? -size / 2 : 0;
  __int128 around = std::array<__int128, 3>{least, 0, least + size - 1}[random() % 3];
  return type.wrap(around + static_cast<int>(random() % 21) - 10);
}

TEST(Counters, WrapAsTheirTypesDo) {
  std::mt19937 random(1);
  std::string body, names, types;
  nlohmann::json results = nlohmann::json::array();
  auto add = [&](const std::string &dtype, int64_t value) {
    results.push_back({{"dtype", dtype}, {"shape", nlohmann::json::array()}, {"values", {value}}});
  };
  for (unsigned width : {8, 16, 32, 64})
    for (bool isSigned : {false, true})
      for (int found = 0; found < 12;) {
        CounterType type{isSigned, width};
        int steps[] = {1, 2, 3, 7, 100};
        const char *directions[] = {"LT", "LE", "GT", "GE"};
        CountingLoop loop{type, anyNumber(type, random), anyNumber(type, random), steps[random() % 5],
                          directions[random() % 4]};
        auto [trips, last] = loop.run().value_or(std::pair<int64_t, __int128>(-1, 0));
        if (trips < 0 || (trips == 0 && random() % 4)) // Most of the loops that end have no iteration.
          continue;
        ++found;
        std::string number = std::to_string(results.size());
        body += loop.text(number);
        names += (names.empty() ? "" : ", ") + ("%c" + number) + "#0, %c" + number + "#1";
        types += (types.empty() ? "" : ", ") + type.tensor() + ", tensor<i32>";
        add(type.dtype(), static_cast<int64_t>(last)); // The bits, of u64 too.
        add("i32", trips);
      }
  std::string text = "module {\nfunc.func @main() -> (" + types + ") {\n  %none = stablehlo.constant dense<0> : " +
                     "tensor<i32>\n  %one = stablehlo.constant dense<1> : tensor<i32>\n" + body + "  return " + names +
                     " : " + types + "\n}\n}\n";
  nlohmann::json test = {{"arguments", nlohmann::json::array()}, {"results", results}, {"tolerance", 0}};
  EXPECT_EQ(runBesideJax("counters.mlir", text, test), "") << text;
}

} // namespace
