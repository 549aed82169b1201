//===- DecomposeScattersTest.cpp - scatters for a GPU, evaluated ----------===//
//
// The cases of reference.json, computed with NumPy and JAX, after the pass.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "passes/kernel/Passes.h"
#include "tests/ir/support/IrTest.h"
#include "tests/ir/support/ReferenceCases.h"

#include "mlir/Pass/PassManager.h"

using namespace spmdc;

namespace {

class DecomposeScatters : public IrTest {};

TEST_F(DecomposeScatters, EveryCaseOfTheReference) {
  int count = 0;
  for (const ReferenceCase &reference : readReferenceCases(context)) {
    if (reference.op != "scatter")
      continue;
    auto module = parseValid(reference.ir);
    ASSERT_TRUE(module) << reference.ir;
    mlir::PassManager passes(&context);
    passes.addPass(createDecomposeScatters());
    ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << diagnosticText();
    module->walk([&](mlir::Operation *op) { EXPECT_NE(op->getName().getStringRef(), "array.scatter"); });
    auto results = evaluateGlobal(functionOf(*module), reference.inputs);
    ASSERT_TRUE(mlir::succeeded(results)) << reference.name << "\n" << diagnosticText();
    std::string difference = describeDifference(reference.output, (*results)[0], reference.ulp);
    EXPECT_TRUE(difference.empty()) << reference.name << ": " << difference << "\n" << reference.ir;
    ++count;
  }
  EXPECT_GT(count, 150);
}

} // namespace
