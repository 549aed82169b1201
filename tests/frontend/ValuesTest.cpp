//===- ValuesTest.cpp - values of expressions are JAX's -------------------===//
//
// data/values.txt and data/prelude.txt hold expressions with their types and values from JAX (data/make_values.py,
// data/make_prelude.py). Each is compiled by the front end and evaluated by the reference evaluator: dtype, shape,
// weakness and every element must agree.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"
#include "tests/frontend/JaxData.h"

#include "frontend/emit/Promotion.h"
#include "frontend/syntax/Parser.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace spmdc;
using namespace spmdc::testing;

namespace {

Tensor tensorOf(const Expected &input, mlir::MLIRContext &context) {
  Tensor result(input.shape, getElementType(&context, *spmd::parseDType(input.dtype)));
  for (auto [element, value] : llvm::zip(result.elements, input.values))
    element = isFloatName(input.dtype) ? Scalar::ofFloat(value) : Scalar::ofInt(static_cast<int64_t>(value));
  return result;
}

std::string programOf(const JaxData &data, const std::string &expression) {
  std::string text = data.declarations + "fn main(";
  for (const auto &[name, type] : data.inputs)
    text += (text.back() == '(' ? "" : ", ") + name + ": " + type.type();
  return text + ") { return " + expression + "; }";
}

class Values : public ::testing::TestWithParam<std::pair<const char *, size_t>> {};
INSTANTIATE_TEST_SUITE_P(, Values, ::testing::Values(std::pair("values.txt", 280), std::pair("prelude.txt", 60)));

TEST_P(Values, jax) {
  JaxData data(GetParam().first);
  ASSERT_GE(data.cases.size(), GetParam().second);
  for (const JaxCase &test : data.cases) {
    SCOPED_TRACE(test.expression);
    Compiled compiled(programOf(data, test.expression));
    if (!compiled.isGood()) {
      ADD_FAILURE() << compiled.diagnostics.str();
      continue;
    }
    EXPECT_EQ(compiled.resultTypes().at(0), test.expected.type());
    llvm::SmallVector<Tensor> arguments;
    for (const auto &[name, input] : data.inputs)
      arguments.push_back(tensorOf(input, compiled.context));
    auto results = evaluateGlobal(compiled.function(), arguments);
    if (failed(results)) {
      ADD_FAILURE() << compiled.print();
      continue;
    }
    const Tensor &actual = results->front();
    ASSERT_EQ(actual.elements.size(), test.expected.values.size());
    bool isFloat = isFloatName(test.expected.dtype);
    for (size_t i = 0; i < actual.elements.size(); ++i) {
      double value = isFloat ? actual.elements[i].f : static_cast<double>(actual.elements[i].i);
      std::string wrong = difference(value, test.expected.values[i], toleranceOf(test.expected.dtype));
      EXPECT_EQ(wrong, "") << "element " << i;
    }
  }
}

// A value is weak if JAX's is: then a sum with bf16 is bf16, else f32.
TEST_P(Values, weakness) {
  JaxData data(GetParam().first);
  for (const JaxCase &test : data.cases) {
    bool isFloat = isFloatName(test.expected.dtype);
    if (test.expected.dtype != "f32" && test.expected.dtype != "i32")
      continue;
    std::string other = isFloat ? "cast(1, bf16)" : "cast(1, u8)";
    Compiled compiled(programOf(data, "(" + test.expression + ") + " + other));
    ASSERT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
    std::string strong = test.expected.dtype, weak = isFloat ? "bf16" : "u8";
    std::string type = compiled.resultTypes().at(0);
    EXPECT_EQ(type.substr(0, type.find('[')), test.expected.isWeak ? weak : strong) << test.expression;
  }
}

// The parser has a list of its own, in the order of the runtime's.
TEST(DTypes, TheParserKnowsAll) {
  std::vector<std::string_view> names;
  for (const spmd::DTypeInfo &info : spmd::kDTypes)
    names.push_back(info.name);
  EXPECT_EQ(dtypeNames(), names);
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
  EXPECT_EQ(count, 221);
  EXPECT_FALSE(promote({spmd::DType::Key, false}, {spmd::DType::F32, false}));
}

} // namespace
