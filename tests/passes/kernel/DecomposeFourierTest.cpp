//===- DecomposeFourierTest.cpp - transforms for a GPU, evaluated ---------===//
//
// The cases of reference.json, computed with NumPy and JAX, after the pass.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "passes/kernel/Passes.h"
#include "runtime/support/RootOfUnity.h"
#include "tests/ir/support/IrTest.h"
#include "tests/ir/support/ReferenceCases.h"

#include "mlir/Pass/PassManager.h"

using namespace spmdc;

namespace {

class DecomposeFourier : public IrTest {};

TEST_F(DecomposeFourier, EveryCaseOfTheReference) {
  int count = 0;
  for (const ReferenceCase &reference : readReferenceCases(context)) {
    if (reference.op != "fft")
      continue;
    auto module = parseValid(reference.ir);
    ASSERT_TRUE(module) << reference.ir;
    mlir::PassManager passes(&context);
    passes.addPass(createDecomposeFourier());
    ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << diagnosticText();
    module->walk([&](mlir::Operation *op) { EXPECT_NE(op->getName().getStringRef(), "array.fft"); });
    auto results = evaluateGlobal(functionOf(*module), reference.inputs);
    ASSERT_TRUE(mlir::succeeded(results)) << reference.name << "\n" << diagnosticText();
    std::string difference = describeDifference(reference.output, (*results)[0], reference.ulp);
    EXPECT_TRUE(difference.empty()) << reference.name << ": " << difference << "\n" << reference.ir;
    ++count;
  }
  EXPECT_GT(count, 40);
}

/// Several radices with other dimensions around the transformed one, large primes, and tables of twiddle factors that
/// are products of smaller ones: as by definition.
TEST_F(DecomposeFourier, AsByDefinition) {
  struct Shape {
    int64_t before, length, behind;
  };
  for (Shape shape : {Shape{2, 96, 3}, {1, 482, 1}, {1, 127 * 5, 2}, {1, 97, 1}})
    for (const char *kind : {"", "from_real", "to_real"}) {
      int64_t n = shape.length, half = n / 2 + 1;
      if (!spmd::isFourierLength(n))
        continue;
      bool isFromReal = std::string(kind) == "from_real", isToReal = std::string(kind) == "to_real";
      auto type = [&](int64_t size, int64_t parts) {
        return "<f64[" + std::to_string(shape.before) + ", " + std::to_string(size) + ", " +
               std::to_string(shape.behind) + ", " + std::to_string(parts) + "]>";
      };
      std::string from = type(isToReal ? half : n, isFromReal ? 1 : 2),
                  to = type(isFromReal ? half : n, isToReal ? 1 : 2);
      std::string text = "func.func @main(%x: !spmd.array" + from + ") -> !spmd.array" + to +
                         " {\n%0 = array.fft %x dim 1 length " + std::to_string(n) + (isToReal ? " inverse" : "") +
                         " divisor 3 : " + from + " -> " + to + "\nreturn %0 : !spmd.array" + to + "}";
      auto module = parseValid(text), decomposed = parseValid(text);
      ASSERT_TRUE(module && decomposed);
      mlir::PassManager passes(&context);
      passes.addPass(createDecomposeFourier());
      ASSERT_TRUE(mlir::succeeded(passes.run(*decomposed))) << diagnosticText();
      auto operand = llvm::cast<ArrayType>(functionOf(*module).getArgumentTypes()[0]);
      Tensor x(operand.getShape(), operand.getElementType());
      for (size_t i = 0; i < x.elements.size(); ++i)
        x.elements[i] = Scalar::ofFloat(static_cast<double>(i * 7919 % 64) / 32 - 1);
      auto expected = evaluateGlobal(functionOf(*module), {x}), results = evaluateGlobal(functionOf(*decomposed), {x});
      ASSERT_TRUE(mlir::succeeded(expected) && mlir::succeeded(results)) << diagnosticText();
      for (size_t i = 0; i < (*expected)[0].elements.size(); ++i)
        ASSERT_NEAR((*expected)[0].elements[i].f, (*results)[0].elements[i].f, 1e-9) << text << " at " << i;
    }
}

} // namespace
