//===- ReferenceProgramsTest.cpp - every operation compiled and executed --===//
//
// The literal cases computed with NumPy and JAX (tests/ir/array/reference.json), compiled and run on one device: an
// operation without a lowering fails here.
//
//===----------------------------------------------------------------------===//

#include "ir/plan/PlanOps.h"
#include "tests/ir/support/ReferenceCases.h"
#include "tests/programs/support/CompiledRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <set>

using namespace spmdc;

namespace {

/// Returns the units in the last place by which generated code may be off if it approximates a function, or adds
/// numbers up; everything else is as exact as the reference evaluator. The evaluator adds in f64 and rounds once.
/// Generated code rounds after each addition, in an order that depends on the width of the machine's vectors: for a sum
/// of a hundred numbers up to 28 times in sequence.
int64_t allowedUlp(const ReferenceCase &reference) {
  static const std::set<std::string> kApproximated = {
      "exp",  "exp2", "expm1", "log",  "log1p", "log2", "rsqrt", "cbrt",  "sin",   "cos",     "tan",
      "tanh", "sinh", "cosh",  "asin", "acos",  "atan", "erf",   "atan2", "power", "erf_inv", "logistic"};
  if (kApproximated.count(reference.op))
    return reference.op == "erf_inv" ? 64 : 8;
  bool isRoundedSum = reference.op == "reduce" && reference.ulp > 0;
  return isRoundedSum ? 14 : reference.ulp;
}

/// Parts of the cases, so that they run in parallel.
constexpr int kParts = 16;

class ReferencePrograms : public ::testing::TestWithParam<int> {};

TEST_P(ReferencePrograms, EveryCaseCompiledAndExecuted) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, ArrayDialect, SpmdDialect, plan::PlanDialect>();
  int number = 0;
  for (const ReferenceCase &reference : readReferenceCases(context)) {
    if (number++ % kParts != GetParam())
      continue;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(reference.ir, &context);
    ASSERT_TRUE(module) << reference.ir;
    std::string error;
    auto artifact = compileModule(*module, /*optimizationLevel=*/2, error);
    if (!artifact) {
      ADD_FAILURE() << reference.name << " " << error;
      continue;
    }
    CompiledProgram program(artifact);
    auto results = program.run(context, reference.inputs, Poison::Nan, error);
    if (mlir::failed(results)) {
      ADD_FAILURE() << reference.name << ": " << error;
      continue;
    }
    std::string difference = describeDifference(reference.output, (*results)[0], allowedUlp(reference));
    EXPECT_TRUE(difference.empty()) << reference.name << ": " << difference;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, ReferencePrograms, ::testing::Range(0, kParts));

} // namespace
