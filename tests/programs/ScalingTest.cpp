//===- ScalingTest.cpp - compile time grows with the program --------------===//
//
// Four times the operations may take a little more than four times as long: quadratic work in a stage would take
// sixteen times. The test measures processor time, which does not depend on other load of the machine.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "passes/pipeline/Pipeline.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/support/TimeLimit.h"

#include "gtest/gtest.h"

#include <ctime>
#include <functional>

using namespace spmdc;

namespace {

/// Returns a program of chains, products, and reductions over values that are up to eight statements old; `x` and `w`
/// are read everywhere.
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

double secondsToPlan(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  std::clock_t began = std::clock();
  auto module = importProgram(text, "scaling.spmd", {}, context, diagnostics);
  EXPECT_TRUE(module) << diagnostics.str();
  if (module)
    EXPECT_TRUE(mlir::succeeded(runPipeline(*module, Stage::Array, Stage::Plan, {})));
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

TEST(Scaling, CompileTimeIsLinear) {
  secondsToPlan(programOf(50)); // The first compile also does work that is done once.
  double small = secondsToPlan(programOf(500)), large = secondsToPlan(programOf(2000));
  EXPECT_LT(large, 8 * small) << small << " s for 500 statements, " << large << " s for 2000";
}

/// A chain of linear operations without a sum, on one device, and sums that are added to one value: for each sum, the
/// compiler follows the operations that partial sums may pass.
TEST(Scaling, ChainsOfLinearOperations) {
  auto chain = [](int statements) {
    std::string text = "fn main(x: f32[4]) {\n";
    for (int i = 0; i < statements; ++i)
      text += "  let x = x * 1.0001 + 0.5;\n";
    return text + "  return x;\n}\n";
  };
  auto sums = [](int statements) {
    std::string text = "mesh m(a=4)\nfn main(x: f32[64@a, 8]) {\n  let t = sum(x, axis=0);\n";
    for (int i = 0; i < statements; ++i)
      text += "  let t = -(-(t + sum(x * " + std::to_string(i) + ".5, axis=0)) * 0.5) * 1.5;\n";
    return text + "  return t;\n}\n";
  };
  for (const auto &programOfLength : {std::function<std::string(int)>(chain), std::function<std::string(int)>(sums)}) {
    secondsToPlan(programOfLength(50)); // The first compile also does work that is done once.
    double small = secondsToPlan(programOfLength(300)), large = secondsToPlan(programOfLength(1200));
    EXPECT_LT(large, 8 * small) << small << " s for 300 statements, " << large << " s for 1200";
  }
}

/// A convolution reads as many windows of a sharded array as its kernel has elements.
TEST(Scaling, KernelsOfManyElements) {
  auto convolution = [](int size) {
    std::string kernel = std::to_string(size), rows = std::to_string(6 * size);
    return "mesh m(a=4, b=2)\nfn main(x: f32[2, " + rows + "@(a, b), " + rows + ", 3], w: f32[" + kernel + ", " +
           kernel + ", 3, 8]) {\n  return conv2d(x, w, strides=" + kernel + ", padding=\"VALID\");\n}\n";
  };
  secondsToPlan(convolution(4)); // The first compile also does work that is done once.
  double small = secondsToPlan(convolution(24)), large = secondsToPlan(convolution(48));
  EXPECT_LT(large, 10 * small) << small << " s for 576 elements, " << large << " s for 2304";
}

/// Random numbers from a constant key are constants, in expressions that use their parts many times; each of these ten
/// draws depends on all keys before it.
TEST(Scaling, RandomNumbersAreNoTrees) {
  std::string text = "mesh m(a=4)\nfn main(x: f32[64@a]) -> f32[64] {\n  let k0 = key(0);\n  let v0 = x;\n";
  for (int i = 1; i <= 10; ++i) {
    std::string here = std::to_string(i), before = std::to_string(i - 1);
    text += "  let (k" + here + ", s" + here + ") = split(k" + before + ", 2);\n  let v" + here + " = v" + before +
            " * cast(randint(s" + here + ", i32[64], 3, 274), f32);\n";
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  auto module = importProgram(text + "  return v10;\n}\n", "scaling.spmd", {}, context, diagnostics);
  ASSERT_TRUE(module) << diagnostics.str();
  auto operationsIn = [](mlir::ModuleOp module) {
    size_t count = 0;
    module.walk([&](mlir::Operation *) { ++count; });
    return count;
  };
  size_t written = operationsIn(*module);
  ASSERT_TRUE(mlir::succeeded(runPipeline(*module, Stage::Array, Stage::Propagated, {})));
  EXPECT_LT(operationsIn(*module), 2 * written);
}

/// Twenty kernels with hashes: LLVM's loop strength reduction took most of a second for each.
TEST(Scaling, MachineCodeOfRandomNumbersTakesNoLonger) {
  std::string text = "fn main(k: key) {\n";
  for (int i = 0; i < 20; ++i)
    text += "  let v" + std::to_string(i) + " = randint(fold_in(k, " + std::to_string(i) + "), i32[" +
            std::to_string(50 + i) + "], 0, " + std::to_string(100 + i) + ");\n";
  text += "  return (";
  for (int i = 0; i < 20; ++i)
    text += (i ? ", v" : "v") + std::to_string(i);
  std::string error;
  std::clock_t began = std::clock();
  EXPECT_TRUE(compileText("hashes.spmd", text + ");\n}\n", 1, error)) << error;
  double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, spmd::test::timeLimit(6.0));
}

} // namespace
