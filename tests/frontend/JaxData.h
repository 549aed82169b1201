//===- JaxData.h - expressions with JAX's results ---------------*- C++ -*-===//
//
// Reads data/values.txt and similar files, which data/make_values.py and others write.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace spmdc::testing {

/// `f32[3, 4] weak: 1.0 2.0 ...`
struct Expected {
  std::string dtype;
  std::vector<int64_t> shape;
  bool isWeak = false;
  std::vector<double> values;

  explicit Expected(const std::string &text) {
    size_t bracket = text.find('['), close = text.find(']'), colon = text.find(':');
    dtype = text.substr(0, bracket);
    std::stringstream sizes(text.substr(bracket + 1, close - bracket - 1));
    for (std::string size; std::getline(sizes, size, ',');)
      shape.push_back(std::stoll(size));
    isWeak = text.substr(close, colon - close).find("weak") != std::string::npos;
    std::stringstream numbers(text.substr(colon + 1));
    for (std::string number; numbers >> number;)
      values.push_back(std::stod(number));
  }

  std::string type() const {
    std::string text = dtype + "[";
    for (size_t i = 0; i < shape.size(); ++i)
      text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
  }
};

struct JaxCase {
  std::string expression;
  Expected expected;
};

struct JaxData {
  std::vector<std::pair<std::string, Expected>> inputs;
  std::string declarations; ///< Declarations that the expressions use.
  std::vector<JaxCase> cases;

  explicit JaxData(const std::string &name = "values.txt") {
    std::ifstream file(SPMDC_SOURCE_DIR "/tests/frontend/data/" + name);
    std::string expression;
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("input ", 0) == 0) {
        std::string name = line.substr(6, line.find(' ', 6) - 6);
        inputs.emplace_back(name, Expected(line.substr(7 + name.size())));
      } else if (line.rfind("decl ", 0) == 0) {
        declarations += line.substr(5) + "\n";
      } else if (line.rfind("= ", 0) == 0) {
        cases.push_back({expression, Expected(line.substr(2))});
      } else {
        expression = line;
      }
    }
  }
};

inline bool isFloatName(const std::string &dtype) { return spmd::isFloat(*spmd::parseDType(dtype)); }

/// The largest difference of compiled or evaluated values from JAX's: 0 for integers and bools.
inline double toleranceOf(const std::string &dtype) {
  if (dtype == "bf16")
    return 1.0 / 64;
  return dtype == "f16" ? 1.0 / 512 : isFloatName(dtype) ? 2e-5 : 0;
}

/// The difference of an element as text, or empty. Infinities must be equal, and NaN equals NaN.
inline std::string difference(double actual, double expected, double tolerance) {
  bool same = std::isnan(expected)   ? std::isnan(actual)
              : std::isinf(expected) ? actual == expected
                                     : std::abs(actual - expected) <= tolerance * (1 + std::abs(expected));
  return same ? "" : std::to_string(actual) + " instead of " + std::to_string(expected);
}

} // namespace spmdc::testing
