//===- ValuesTest.cpp - expressions mean what JAX says they mean ----------===//
//
// data/values.txt holds expressions with their types and values from JAX (data/make_values.py). Each is compiled by the
// front end and evaluated by the reference evaluator: dtype, shape, weakness and every element must agree.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include "frontend/Promotion.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

using namespace spmdc;
using namespace spmdc::testing;

namespace {

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

  Tensor tensor(mlir::MLIRContext &context) const {
    Tensor result(shape, getElementType(&context, *spmd::parseDType(dtype)));
    bool isFloat = spmd::isFloat(*spmd::parseDType(dtype));
    for (auto [element, value] : llvm::zip(result.elements, values))
      element = isFloat ? Scalar::ofFloat(value) : Scalar::ofInt(static_cast<int64_t>(value));
    return result;
  }
};

struct Case {
  std::string expression;
  Expected expected;
};

struct Data {
  std::vector<std::pair<std::string, Expected>> inputs;
  std::vector<Case> cases;

  Data() {
    std::ifstream file(SPMDC_SOURCE_DIR "/tests/frontend/data/values.txt");
    std::string expression;
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("input ", 0) == 0) {
        std::string name = line.substr(6, line.find(' ', 6) - 6);
        inputs.emplace_back(name, Expected(line.substr(7 + name.size())));
      } else if (line.rfind("= ", 0) == 0) {
        cases.push_back({expression, Expected(line.substr(2))});
      } else {
        expression = line;
      }
    }
  }

  std::string program(const std::string &expression) const {
    std::string text = "fn main(";
    for (const auto &[name, type] : inputs)
      text += (text.back() == '(' ? "" : ", ") + name + ": " + type.type();
    return text + ") { return " + expression + "; }";
  }
};

double toleranceOf(const std::string &dtype) {
  if (dtype == "bf16")
    return 1.0 / 64;
  return dtype == "f16" ? 1.0 / 512 : 2e-5;
}

/// How an element differs, or nothing. Infinities must be the same, NaN answers NaN.
std::string difference(double actual, double expected, double tolerance) {
  bool same = std::isnan(expected)   ? std::isnan(actual)
              : std::isinf(expected) ? actual == expected
                                     : std::abs(actual - expected) <= tolerance * (1 + std::abs(expected));
  return same ? "" : std::to_string(actual) + " instead of " + std::to_string(expected);
}

TEST(Values, jax) {
  Data data;
  ASSERT_GE(data.cases.size(), 280u);
  for (const Case &test : data.cases) {
    SCOPED_TRACE(test.expression);
    Compiled compiled(data.program(test.expression));
    if (!compiled.isGood()) {
      ADD_FAILURE() << compiled.diagnostics.str();
      continue;
    }
    EXPECT_EQ(compiled.resultTypes().at(0), test.expected.type());
    llvm::SmallVector<Tensor> arguments;
    for (const auto &[name, input] : data.inputs)
      arguments.push_back(input.tensor(compiled.context));
    auto results = evaluateGlobal(compiled.function(), arguments);
    if (failed(results)) {
      ADD_FAILURE() << compiled.print();
      continue;
    }
    const Tensor &actual = results->front();
    ASSERT_EQ(actual.elements.size(), test.expected.values.size());
    bool isFloat = spmd::isFloat(*spmd::parseDType(test.expected.dtype));
    for (size_t i = 0; i < actual.elements.size(); ++i) {
      double value = isFloat ? actual.elements[i].f : static_cast<double>(actual.elements[i].i);
      std::string wrong = difference(value, test.expected.values[i], isFloat ? toleranceOf(test.expected.dtype) : 0.0);
      EXPECT_EQ(wrong, "") << "element " << i;
    }
  }
}

// A value is weak where JAX's is: then bf16 wins over it, else f32 does.
TEST(Values, weakness) {
  Data data;
  for (const Case &test : data.cases) {
    bool isFloat = spmd::isFloat(*spmd::parseDType(test.expected.dtype));
    if (test.expected.dtype != "f32" && test.expected.dtype != "i32")
      continue;
    std::string other = isFloat ? "cast(1, bf16)" : "cast(1, u8)";
    Compiled compiled(data.program("(" + test.expression + ") + " + other));
    ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
    std::string strong = test.expected.dtype, weak = isFloat ? "bf16" : "u8";
    std::string type = compiled.resultTypes().at(0);
    EXPECT_EQ(type.substr(0, type.find('[')), test.expected.isWeak ? weak : strong) << test.expression;
  }
}

// Every pair of dtypes, and literals, against data/promotion.txt.
TEST(Promotion, jax) {
  std::ifstream file(SPMDC_SOURCE_DIR "/tests/frontend/data/promotion.txt");
  auto classOf = [](const std::string &name) {
    if (name.back() == '*')
      return DTypeClass{name == "int*" ? spmd::DType::I32 : spmd::DType::F32, true};
    return DTypeClass{*spmd::parseDType(name), false};
  };
  int count = 0;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::stringstream words(line);
    std::string a, b, result;
    words >> a >> b >> result;
    auto promoted = promote(classOf(a), classOf(b));
    ASSERT_TRUE(promoted) << line;
    EXPECT_EQ(*promoted, classOf(result)) << line;
    ++count;
  }
  EXPECT_EQ(count, 140);
  EXPECT_FALSE(promote({spmd::DType::Key, false}, {spmd::DType::F32, false}));
}

} // namespace
