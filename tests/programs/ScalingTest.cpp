//===- ScalingTest.cpp - compile time grows with the program --------------===//
//
// Four times the operations may take a little more than four times as long: quadratic work in any station takes sixteen
// times. Processor time is measured, so that a busy machine changes nothing.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "passes/pipeline/Pipeline.h"
#include "tests/programs/support/Case.h"

#include "gtest/gtest.h"

#include <ctime>

using namespace spmdc;

namespace {

/// Chains, products, and reductions over values that lie up to eight statements back; `x` and `w` are read everywhere.
std::string programOf(int statements) {
  std::string text = "mesh m(a=4, b=2)\nfn main(x: f32[64@a, 32@b], w: f32[32@b, 32]) {\n  let v0 = x;\n";
  unsigned random = 1;
  auto earlier = [&](int i) {
    random = random * 1103515245 + 12345;
    return "v" + std::to_string(std::max(0, i - 1 - static_cast<int>(random >> 16) % 8));
  };
  for (int i = 1; i <= statements; ++i) {
    std::string a = earlier(i), b = earlier(i);
    const std::string forms[] = {"tanh(" + a + ") + " + b, a + " * 0.5 - " + b + " * 0.25",
                                 "(" + a + " @ w) * 0.1 + " + b, a + " - mean(" + b + ", axis=1, keepdims=true) + x"};
    text += "  let v" + std::to_string(i) + " = " + forms[i % 4] + ";\n";
  }
  return text + "  return v" + std::to_string(statements) + ";\n}\n";
}

double secondsToPlan(int statements) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  std::clock_t began = std::clock();
  auto module = compileToArray(programOf(statements), "scaling.spmd", {}, context, diagnostics);
  EXPECT_TRUE(module) << diagnostics.str();
  if (module)
    EXPECT_TRUE(mlir::succeeded(runPipeline(*module, Stage::Array, Stage::Plan, {})));
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

TEST(Scaling, CompileTimeIsLinear) {
  secondsToPlan(50); // What happens once.
  double small = secondsToPlan(500), large = secondsToPlan(2000);
  EXPECT_LT(large, 8 * small) << small << " s for 500 statements, " << large << " s for 2000";
}

} // namespace
