//===- OperationTest.cpp - every operation and element type on a GPU ------===//
//
// The cases of the CPU's tests, compiled to PTX, assembled, emulated and compared with the reference.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/OperationCases.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"
#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/gpu/GpuProgramHelper.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

void check(const Case &test, const std::vector<Result> &results, InputKind kind, const std::string &chip) {
  SCOPED_TRACE(test.language + " " + typeText(test.dtype, test.shape));
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(programOf(test, results), context.get());
  ASSERT_TRUE(module) << programOf(test, results);
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<Tensor> arguments;
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    auto type = cast<ArrayType>(argument.getType());
    arguments.push_back(makeInput(type.getShape(), type.getElementType(), 5 + number, kind));
  }
  auto expected = evaluateGlobal(function, arguments);
  ASSERT_TRUE(succeeded(expected));
  GpuProgram program(*module, chip);
  ASSERT_TRUE(program.isGood());
  if (Ptxas::isAvailable()) {
    std::optional<std::string> problem = Ptxas::check(program.artifact.code, "sm_90");
    EXPECT_FALSE(problem.has_value()) << *problem;
  }
  std::vector<Tensor> actual = program.run(arguments, ThreadOrder::backward());
  ASSERT_EQ(actual.size(), results.size());
  auto show = [](const Scalar &value) { return std::to_string(value.f) + " / " + std::to_string(value.i); };
  for (size_t r = 0; r < results.size(); ++r) {
    const Tensor &wanted = (*expected)[r];
    ASSERT_EQ(actual[r].size(), wanted.size());
    int wrong = 0;
    for (int64_t i = 0; i < wanted.size() && wrong < 3; ++i)
      if (!(ulpDistance(wanted.elementType, actual[r].elements[i], wanted.elements[i]) <= results[r].tolerance)) {
        ++wrong;
        ADD_FAILURE() << results[r].text << ", element " << i << ": " << show(actual[r].elements[i]) << ", expected "
                      << show(wanted.elements[i])
                      << (wanted.size() == arguments[0].size()
                              ? ", of x " + show(arguments[0].elements[i]) + ", y " + show(arguments[1].elements[i])
                              : "");
      }
  }
}

class EveryGpuType : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(EveryGpuType, Elementwise) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1003}, {0, 4}})
    check({dtype, dtype, shape}, elementwise(dtype, shape), InputKind::Wild, "sm_90");
}

TEST_P(EveryGpuType, ElementwiseOnOldChip) {
  std::string dtype = GetParam();
  check({dtype, dtype, {3, 5, 7}}, elementwise(dtype, {3, 5, 7}), InputKind::Wild, "sm_70");
}

TEST_P(EveryGpuType, Structural) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{13, 37}, {70, 3}, {0, 5}})
    check({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact, "sm_90");
}

INSTANTIATE_TEST_SUITE_P(GpuOperation, EveryGpuType,
                         testing::Values("f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u32", "u8", "bool"),
                         [](const auto &info) { return info.param; });
