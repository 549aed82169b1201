//===- ExactPrograms.cpp - programs of small integers ---------------------===//

#include "tests/programs/support/ExactPrograms.h"

#include "frontend/Frontend.h"
#include "ir/array/ArrayOps.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/pipeline/Pipeline.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"

#include "gtest/gtest.h"

namespace spmdc {
namespace {

Tensor randomArgument(Random &random, mlir::Type type) {
  auto array = mlir::cast<ArrayType>(type);
  std::vector<int64_t> shape(array.getShape().begin(), array.getShape().end());
  Tensor tensor(shape, array.getElementType());
  bool isBool = array.getElementType().isInteger(1);
  for (Scalar &element : tensor.elements) {
    int64_t value = isBool ? random.integer(0, 1) : random.integer(-3, 3);
    element = mlir::isa<mlir::FloatType>(array.getElementType()) ? Scalar::ofFloat(static_cast<double>(value))
                                                                 : Scalar::ofInt(value);
  }
  return tensor;
}

void expectSame(const Tensor &expected, const Tensor &actual) {
  ASSERT_EQ(expected.shape, actual.shape);
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    ASSERT_EQ(expected.elements[i].f, actual.elements[i].f) << "element " << i;
    ASSERT_EQ(expected.elements[i].i, actual.elements[i].i) << "element " << i;
  }
}

} // namespace

ExactPrograms::ExactPrograms() { loadDialects(context); }

mlir::OwningOpRef<mlir::ModuleOp> ExactPrograms::parse(const std::string &text) {
  Diagnostics diagnostics;
  auto module = importProgram(text, "exact.spmd", {}, context, diagnostics);
  EXPECT_TRUE(module) << diagnostics.str();
  return module;
}

ExactPrograms::Sample ExactPrograms::makeSample(const std::string &text, Random &random) {
  Sample sample;
  auto module = parse(text);
  if (!module)
    return sample;
  for (mlir::Type type : entryOf(*module).getArgumentTypes())
    sample.arguments.push_back(randomArgument(random, type));
  module = differentiated(*module);
  EXPECT_TRUE(module);
  if (!module)
    return sample;
  auto results = evaluateGlobal(entryOf(*module), sample.arguments);
  EXPECT_TRUE(succeeded(results));
  if (succeeded(results))
    sample.results = *results;
  return sample;
}

ExactPrograms::Partitioned ExactPrograms::partition(const std::string &text, Random &random, const CostModel &model) {
  Partitioned result{makeSample(text, random), parse(text)};
  if (!result.module || result.sample.results.empty())
    return {};
  model.attachTo(*result.module);
  bool succeeds = succeeded(runPipeline(*result.module, Stage::Array, Stage::Partitioned, {}));
  EXPECT_TRUE(succeeds);
  return succeeds ? std::move(result) : Partitioned();
}

void ExactPrograms::checkStages(mlir::ModuleOp module, const Sample &sample, bool isCompiled) {
  std::string error;
  auto artifact = isCompiled ? compileModule(module, /*optimizationLevel=*/1, error) : nullptr;
  ASSERT_TRUE(artifact || !isCompiled) << error;
  auto check = [&](const mlir::FailureOr<llvm::SmallVector<Tensor>> &actual) {
    ASSERT_TRUE(succeeded(actual)) << error;
    ASSERT_EQ(sample.results.size(), actual->size());
    for (auto [expected, result] : llvm::zip_equal(sample.results, *actual))
      expectSame(expected, result);
  };
  for (Stage stage : {Stage::Partitioned, Stage::Kernels, Stage::Plan}) {
    if (stage != Stage::Partitioned)
      ASSERT_TRUE(succeeded(runPipeline(module, getStage(module), stage, {})));
    for (Poison poison : {Poison::Nan, Poison::Huge})
      check(ProcessGridEvaluator(getMesh(module), poison).evaluateGlobalView(entryOf(module), sample.arguments));
  }
  if (!artifact)
    return;
  CompiledProgram compiled(artifact);
  for (Poison poison : {Poison::Nan, Poison::Huge})
    check(compiled.run(context, sample.arguments, poison, error));
}

double ExactPrograms::sentBytes(mlir::ModuleOp module) {
  double bytes = 0;
  module.walk([&](CollectiveOpInterface op) {
    double trips = 1;
    for (mlir::Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      if (auto loop = mlir::dyn_cast<ForOp>(parent))
        trips *= static_cast<double>(loop.getTripCount());
    bytes += trips * op.getWireBytes(getMesh(module));
  });
  return bytes;
}

} // namespace spmdc
