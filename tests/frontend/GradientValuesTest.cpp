//===- GradientValuesTest.cpp - gradients are JAX's -----------------------===//
//
// Each case of data/gradients.txt, once and twice differentiated, in f64 by the reference evaluator; and the results of
// value_and_grad, structs, names and transformed functions.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"
#include "tests/frontend/GradientData.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"
#include "passes/differentiate/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

namespace {

using Values = std::vector<std::vector<double>>;

/// The elements of all results of the program, after differentiation.
Values evaluate(Compiled &compiled, llvm::ArrayRef<Tensor> arguments = {}) {
  mlir::PassManager passes(&compiled.context);
  passes.addPass(createDifferentiatePass());
  passes.addPass(createVerifyDifferentiatedPass());
  if (!compiled.isGood() || failed(passes.run(*compiled.module))) {
    ADD_FAILURE() << compiled.diagnostics.str();
    return {};
  }
  auto results = evaluateGlobal(compiled.function(), arguments);
  if (failed(results)) {
    ADD_FAILURE() << compiled.print();
    return {};
  }
  Values values;
  for (const Tensor &result : *results) {
    values.emplace_back();
    for (Scalar element : result.elements)
      values.back().push_back(element.f);
  }
  return values;
}

TEST(GradientValues, jax) {
  GradientData data;
  ASSERT_GE(data.cases.size(), 100u);
  std::string parameters;
  for (const auto &[name, input] : data.inputs)
    parameters += (parameters.empty() ? "" : ", ") + name + ": " + input.type();
  for (auto [index, test] : llvm::enumerate(data.cases))
    for (const std::vector<Expected> *expected : {&test.first, &test.second}) {
      if (expected->empty())
        continue;
      SCOPED_TRACE(test.expression + (expected == &test.second ? ", twice" : ""));
      std::string function = (expected == &test.second ? "g" : "f") + std::to_string(index);
      Compiled compiled(data.functionsOf(index) + "fn main(" + parameters + ") { return " + data.gradientOf(function) +
                        "; }\n");
      llvm::SmallVector<Tensor> arguments;
      for (const auto &[name, input] : data.inputs) {
        arguments.emplace_back(input.shape, getElementType(&compiled.context, spmd::DType::F64));
        for (auto [element, value] : llvm::zip(arguments.back().elements, input.values))
          element.f = value;
      }
      Values actual = evaluate(compiled, arguments);
      ASSERT_EQ(actual.size(), expected->size());
      for (size_t i = 0; i < actual.size(); ++i)
        EXPECT_EQ(gradientDifference(actual[i], (*expected)[i]), "") << "with respect to " << data.inputs[i].first;
    }
}

Values run(const std::string &functions, const std::string &result) {
  Compiled compiled(functions + "\nfn main() { return " + result + "; }\n");
  return evaluate(compiled);
}

const std::string square = "fn f(x, y = 3.0) { return x * x * y; }";

TEST(GradientValues, functionsOfFunctions) {
  EXPECT_THAT(run(square, "grad(f)(2.0)"), ElementsAre(ElementsAre(12)));
  EXPECT_THAT(run(square, "grad(f)(2.0, y=5.0)"), ElementsAre(ElementsAre(20)));
  EXPECT_THAT(run(square, "grad(f, wrt=1)(2.0, 5.0)"), ElementsAre(ElementsAre(4)));
  EXPECT_THAT(run(square, "grad(f, wrt=-1)(2.0, 5.0)"), ElementsAre(ElementsAre(4)));
  EXPECT_THAT(run(square, "grad(f, wrt=(1, 0))(2.0, 5.0)"), ElementsAre(ElementsAre(4), ElementsAre(20)));
  EXPECT_THAT(run(square, "value_and_grad(f)(2.0)"), ElementsAre(ElementsAre(12), ElementsAre(12)));
  EXPECT_THAT(run(square, "grad(grad(f))(2.0)"), ElementsAre(ElementsAre(6)));
  EXPECT_THAT(run(square, "grad(grad(grad(f)))(2.0)"), ElementsAre(ElementsAre(0)));
  EXPECT_THAT(run(square, "checkpoint(f)(2.0)"), ElementsAre(ElementsAre(12)));
  EXPECT_THAT(run(square, "grad(checkpoint(f))(2.0)"), ElementsAre(ElementsAre(12)));
  EXPECT_THAT(run(square, "grad(grad(checkpoint(f)))(2.0)"), ElementsAre(ElementsAre(6)));
  EXPECT_THAT(run("", "grad(tanh)(0.0)"), ElementsAre(ElementsAre(1)));
  EXPECT_THAT(run("", "grad(silu)(0.0)"), ElementsAre(ElementsAre(0.5)));
  // In a function that is differentiated itself, its argument captured by another one.
  EXPECT_THAT(run("fn h(y, x) { return x * y * y; } fn g(x) { return grad(h)(x, x); }", "grad(g)(3.0)"),
              ElementsAre(ElementsAre(12)));
  // A user's function of that name hides grad.
  EXPECT_THAT(run("fn grad(x) { return x * 2.0; }", "grad(2.0)"), ElementsAre(ElementsAre(4)));
}

TEST(GradientValues, structs) {
  std::string functions = "struct P { w: f32[2], inner: Q }\nstruct Q { b: f32[] }\n"
                          "fn f(p: P, x) { return sum(p.w * x) * p.inner.b; }";
  std::string p = "P { w: arange(2) + 1.0, inner: Q { b: 3.0 } }";
  EXPECT_THAT(run(functions, "grad(f)(" + p + ", 10.0)"), ElementsAre(ElementsAre(30, 30), ElementsAre(30)));
  EXPECT_THAT(run(functions, "grad(f, wrt=(1, 0))(" + p + ", 10.0)"),
              ElementsAre(ElementsAre(9), ElementsAre(30, 30), ElementsAre(30)));
}

} // namespace
