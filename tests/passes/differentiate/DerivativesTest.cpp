//===- DerivativesTest.cpp - every derivative against differences ---------===//
//
// Compares each operation's derivative, and the derivative of that, in f64 through the global evaluator, with central
// differences at random points away from kinks. The differentiated function is a weighted sum of the result's elements,
// so that each element's own derivative counts. Values of JAX, ties and other special points included, are compared in
// tests/frontend.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "tests/passes/differentiate/DerivativesTestHelper.h"

using namespace spmdc;

namespace {

TEST_P(DerivativesTest, FirstIsTheSlope) {
  auto value = compile(program(0)), gradient = compile(program(1));
  ASSERT_TRUE(value && gradient);
  expectCentralDifferences(evaluate(*gradient, inputs), inputs,
                           [&](const Numbers &at) { return evaluate(*value, at).at(0).at(0); });
}

TEST_P(DerivativesTest, SecondIsTheSlopeOfTheFirst) {
  if (!GetParam().isSmooth)
    return;
  auto first = compile(program(1)), second = compile(program(2));
  ASSERT_TRUE(first && second);
  expectCentralDifferences(evaluate(*second, inputs), inputs, [&](const Numbers &at) {
    // The same weighted sum of the first gradients that the program differentiates.
    double total = 0;
    for (auto [i, gradient] : llvm::enumerate(evaluate(*first, at))) {
      double sum = 0;
      for (auto [j, element] : llvm::enumerate(gradient))
        sum += element * std::stod(std::to_string(0.5 + 0.13 * static_cast<double>((j * 7 + 5 + i) % 11)));
      total += i ? sum : -sum;
    }
    return total;
  });
}

// A new operation needs a derivative or ZeroDerivative, and a case here.
TEST_F(IrTest, EveryDerivativeIsCompared) {
  std::string all;
  for (const DerivativeCase &test : allDerivativeCases())
    all += std::string(test.body) + "\n";
  // Operations that the pass itself differentiates.
  static const std::set<std::string> kRegions = {"array.if", "array.for", "array.checkpoint", "spmd.manual"};
  // `while` is an error; others result in integers, have no result, exist only before or after differentiation,
  // or only in programs that are imported.
  static const std::set<std::string> kNone = {"array.while",     "array.gradient",  "array.yield",
                                              "array.print",     "spmd.axis_index", "spmd.shard_start",
                                              "spmd.shard_size", "spmd.reshard",    "spmd.sharding_group",
                                              "spmd.exchange",   "spmd.yield",      "spmd.collective_broadcast",
                                              "array.scatter",   "array.fft"};
  size_t count = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    if (name.getDialectNamespace() != "array" && name.getDialectNamespace() != "spmd")
      continue;
    bool isCompared = name.hasInterface<DifferentiableOpInterface>() || kRegions.count(text);
    EXPECT_EQ(isCompared + name.hasTrait<ZeroDerivative>() + kNone.count(text), 1u) << text;
    if (!isCompared)
      continue;
    ++count;
    EXPECT_TRUE(all.find(text + " ") != std::string::npos || all.find(text + "(") != std::string::npos)
        << text << " is in no case";
  }
  EXPECT_GT(count, 60u);
}

} // namespace
