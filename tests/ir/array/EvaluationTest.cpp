//===- EvaluationTest.cpp - operations against literal values -------------===//
//
// Checks the reference evaluator itself: reference.json was generated with NumPy and JAX (make_reference.py). The same
// cases are run
// through the whole compiler in tests/programs.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/interfaces/OpInterfaces.h"
#include "tests/ir/support/IrTest.h"
#include "tests/ir/support/ReferenceCases.h"

#include <set>

using namespace spmdc;

namespace {

class EvaluationTest : public IrTest {};

TEST_F(EvaluationTest, EveryCaseOfTheReference) {
  std::vector<ReferenceCase> cases = readReferenceCases(context);
  ASSERT_GT(cases.size(), 500u);
  for (const ReferenceCase &reference : cases) {
    auto module = parseValid(reference.ir);
    if (!module)
      continue;
    auto results = evaluateGlobal(functionOf(*module), reference.inputs);
    ASSERT_TRUE(mlir::succeeded(results)) << reference.name << "\n" << diagnosticText();
    std::string difference = describeDifference(reference.output, (*results)[0], reference.ulp);
    EXPECT_TRUE(difference.empty()) << reference.name << ": " << difference << "\n" << reference.ir;
  }
}

// Checks that every operation is complete: it has a sharding rule, a reference evaluation, a derivative, and literal
// values to check it against.
TEST_F(EvaluationTest, NoOperationLacksAnything) {
  std::set<std::string> tested;
  for (const ReferenceCase &reference : readReferenceCases(context))
    tested.insert("array." + reference.op);
  size_t count = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    // These have regions or no results: the evaluators run them, or passes replace them.
    static const std::set<std::string> kRegionOps = {"array.gradient", "array.checkpoint", "array.yield", "array.for",
                                                     "array.while",    "array.if",         "array.print"};
    if (name.getDialectNamespace() != "array" || kRegionOps.count(text))
      continue;
    ++count;
    EXPECT_TRUE(name.hasInterface<ShardingRuleOpInterface>()) << text << " has no sharding rule";
    EXPECT_TRUE(name.hasInterface<ElementwiseOpInterface>() || name.hasInterface<EvaluateOpInterface>())
        << text << " has no reference evaluation";
    // The language has no name for it, so no function with it is differentiated.
    bool isImported = text == "array.scatter" || text == "array.fft";
    EXPECT_TRUE(isImported || name.hasInterface<DifferentiableOpInterface>() || name.hasTrait<ZeroDerivative>())
        << text << " does not say what its derivative is";
    EXPECT_TRUE(tested.count(text)) << text << " has no case in reference.json";
    tested.erase(text);
  }
  EXPECT_GT(count, 60u);
  EXPECT_TRUE(tested.empty()) << "reference.json tests " << *tested.begin() << ", which does not exist";
}

} // namespace
