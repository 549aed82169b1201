//===- SpecialValuesTest.cpp - functions at zeros, infinities and poles ---===//
//
// Every function of one float or two, at special values of each type, compiled, beside NumPy and SciPy
// (make_special_values.py): the same NaNs, infinities and signs of zero, and every element close by itself.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/SpmdTypes.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/programs/support/JaxValues.h"

#include "gtest/gtest.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace spmdc;

namespace {

const nlohmann::json &values() {
  static const nlohmann::json json =
      nlohmann::json::parse(std::ifstream(SPMDC_SOURCE_DIR "/tests/frontend/stablehlo/special_values.json"));
  return json;
}

class SpecialValues : public ::testing::TestWithParam<std::string> {
protected:
  const nlohmann::json &ofType() { return values()[GetParam()]; }
  Tensor tensor(const nlohmann::json &numbers) {
    return readTensor({{"dtype", GetParam()}, {"shape", {numbers.size()}}, {"values", numbers}}, context);
  }
  /// The results of all operations in one program: `%0 = OPERATION ARGUMENTS`.
  llvm::SmallVector<Tensor> run(const nlohmann::json &functions, const std::string &arguments,
                                const std::vector<Tensor> &tensors) {
    std::string type = "tensor<" + std::to_string(tensors.front().elements.size()) + "x" + GetParam() + ">";
    std::string lines, results, types;
    int number = 0;
    for (const auto &[operation, expected] : functions.items()) {
      std::string of = operation.starts_with("chlo.") ? type + " -> " + type : type;
      lines += "%" + std::to_string(number) + " = " + operation + " " + arguments + " : " + of + "\n";
      results += (number ? ", %" : "%") + std::to_string(number);
      types += (number ? ", " : "") + type;
      ++number;
    }
    std::string parameters = tensors.size() == 1 ? "%x: " + type : "%x: " + type + ", %y: " + type;
    std::string text = "func.func @main(" + parameters + ") -> (" + types + ") {\n" + lines + "return " + results +
                       " : " + types + "\n}\n";
    std::string error;
    auto artifact = compileText("f.mlir", text, /*optimizationLevel=*/2, error);
    EXPECT_TRUE(artifact) << error;
    if (!artifact)
      return {};
    auto outputs = CompiledProgram(artifact).run(context, tensors, Poison::Nan, error);
    EXPECT_TRUE(succeeded(outputs)) << error;
    return succeeded(outputs) ? *outputs : llvm::SmallVector<Tensor>();
  }
  void compare(const nlohmann::json &functions, llvm::ArrayRef<Tensor> results, const std::vector<Tensor> &arguments) {
    ASSERT_EQ(results.size(), functions.size());
    size_t number = 0;
    for (const auto &[operation, numbers] : functions.items()) {
      Tensor expected = tensor(numbers);
      const Tensor &actual = results[number++];
      const nlohmann::json &either = values()["either zero"];
      bool isEitherZero = std::find(either.begin(), either.end(), operation) != either.end();
      for (size_t i = 0; i < expected.elements.size(); ++i) {
        double want = expected.elements[i].f, have = actual.elements[i].f;
        EXPECT_TRUE(isClose(want, have, isEitherZero, operation.ends_with("gamma")))
            << operation << " of " << arguments.front().elements[i].f
            << (arguments.size() > 1 ? ", " + std::to_string(arguments[1].elements[i].f) : "") << " is " << have
            << ", not " << want;
      }
    }
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};

private:
  /// Within some units in the last place of the type. The formulas of lgamma and digamma lose the digits that
  /// cancel beside roots, as XLA's: there the absolute error is bounded.
  bool isClose(double want, double have, bool isEitherZero, bool hasRoots) {
    if (std::isnan(want) || std::isnan(have))
      return std::isnan(want) && std::isnan(have);
    if (std::isinf(want) || std::isinf(have) || (want == 0 && have == 0 && !isEitherZero))
      return want == have && std::signbit(want) == std::signbit(have);
    bool isDouble = GetParam() == "f64", isSingle = GetParam() == "f32";
    double epsilon = isDouble ? 0x1p-52 : isSingle ? 0x1p-23 : GetParam() == "bf16" ? 0x1p-7 : 0x1p-10;
    double smallest = isDouble ? 0x1p-1074 : isSingle ? 0x1p-149 : GetParam() == "bf16" ? 0x1p-133 : 0x1p-24;
    double units = isDouble ? 64 : isSingle ? 16 : 1, absolute = !hasRoots ? 0 : isDouble ? 0x1p-49 : 0x1p-20;
    return std::fabs(want - have) <= units * (epsilon * std::fabs(want) + smallest) + absolute;
  }
};

TEST_P(SpecialValues, OfOneNumber) {
  loadDialects(context);
  std::vector<Tensor> arguments{tensor(ofType()["x"])};
  compare(ofType()["unary"], run(ofType()["unary"], "%x", arguments), arguments);
}

TEST_P(SpecialValues, OfTwoNumbers) {
  loadDialects(context);
  std::vector<Tensor> arguments{tensor(ofType()["left"]), tensor(ofType()["right"])};
  compare(ofType()["binary"], run(ofType()["binary"], "%x, %y", arguments), arguments);
}

INSTANTIATE_TEST_SUITE_P(Types, SpecialValues, ::testing::Values("f32", "f64", "bf16", "f16"),
                         [](const auto &info) { return info.param; });

} // namespace
