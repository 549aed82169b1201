//===- GradientData.h - expressions with JAX's gradients --------*- C++ -*-===//
//
// Reads data/gradients.txt, which data/make_gradients.py writes, and builds the program of a case.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/frontend/JaxData.h"

namespace spmdc::testing {

struct GradientCase {
  std::string expression;
  std::vector<Expected> first, second; ///< With respect to each input; `second` may be empty.
};

struct GradientData {
  std::vector<std::pair<std::string, Expected>> inputs;
  std::vector<GradientCase> cases;

  GradientData() {
    std::ifstream file(SPMDC_SOURCE_DIR "/tests/frontend/data/gradients.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("input ", 0) == 0) {
        size_t space = line.find(' ', 6);
        inputs.emplace_back(line.substr(6, space - 6), Expected(line.substr(space + 1)));
      } else if (line.rfind("1 f64", 0) == 0 || line.rfind("2 f64", 0) == 0) {
        (line[0] == '1' ? cases.back().first : cases.back().second).emplace_back(line.substr(2));
      } else if (line.rfind("#", 0) != 0) {
        cases.push_back({line, {}, {}});
      }
    }
  }

  /// `x, y`
  std::string names() const {
    std::string text;
    for (const auto &[name, input] : inputs)
      text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  /// `grad(f, wrt=(0, 1))(x, y)`
  std::string gradientOf(const std::string &function) const {
    std::string wrt;
    for (size_t i = 0; i < inputs.size(); ++i)
      wrt += (i ? ", " : "") + std::to_string(i);
    return "grad(" + function + ", wrt=(" + wrt + "))(" + names() + ")";
  }

  /// The functions of case `index`: `f` and a number for the function differentiated once, `g` and a number for the one
  /// differentiated twice.
  std::string functionsOf(size_t index) const {
    std::string number = std::to_string(index), parts, sum;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::string name = "g" + std::to_string(i);
      parts += (i ? ", " : "") + name;
      sum += (i ? " + " : "") + ("sum((" + name + " + 1.0) ** 2)");
    }
    return "fn f" + number + "(" + names() + ") { return sum((" + cases[index].expression + " + 1.0) ** 2); }\n" +
           "fn g" + number + "(" + names() + ") { let (" + parts + ") = " + gradientOf("f" + number) + "; return " +
           sum + "; }\n";
  }
};

/// Empty if every element is within 1e-11 of the largest one of the array: JAX sums in another order.
inline std::string gradientDifference(const std::vector<double> &actual, const Expected &expected) {
  if (actual.size() != expected.values.size())
    return "has " + std::to_string(actual.size()) + " elements, not " + std::to_string(expected.values.size());
  double largest = 1;
  for (double value : expected.values)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i)
    if (!(std::abs(actual[i] - expected.values[i]) <= 1e-11 * largest))
      return "element " + std::to_string(i) + " is " + std::to_string(actual[i]) + ", not " +
             std::to_string(expected.values[i]);
  return "";
}

} // namespace spmdc::testing
