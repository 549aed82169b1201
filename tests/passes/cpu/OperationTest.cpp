//===- OperationTest.cpp - every operation and element type, compiled -----===//
//
// All operations that an element type has go into one program, one result each, on shapes of odd sizes, size 1 and 0,
// with inputs full of NaN, infinities, signed zeros, subnormal numbers and extreme integers. The reference evaluator
// computes in double precision: exact operations must agree in every bit, functions within the given units of the last
// place.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/cpu/OperationCases.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

/// Compiles one program of all results and compares each.
void check(const Case &test, const std::vector<Result> &results, InputKind kind) {
  SCOPED_TRACE(test.language + " " + typeText(test.dtype, test.shape));
  std::string text = programOf(test, results);
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module) << text;
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<Tensor> arguments;
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    auto type = cast<ArrayType>(argument.getType());
    arguments.push_back(makeInput(type.getShape(), type.getElementType(), 5 + number, kind));
  }
  auto expected = evaluateGlobal(function, arguments);
  ASSERT_TRUE(succeeded(expected));
  CompiledProgram program(*module);
  ASSERT_TRUE(program.isGood());
  std::vector<Tensor> actual = program.run(arguments);
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
  std::vector<Tensor> again = program.run(arguments, RangeSplit::Thirds);
  for (size_t r = 0; r < results.size(); ++r)
    EXPECT_EQ(toBytes(again[r]), toBytes(actual[r])) << results[r].text << " depends on how its range is cut";
}

class EveryType : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(EveryType, Elementwise) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1003}, {1}, {}, {0, 4}, {3, 5, 7}})
    check({dtype, dtype, shape}, elementwise(dtype, shape), InputKind::Wild);
}

TEST_P(EveryType, Structural) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{13, 37}, {1, 1}, {70, 3}})
    check({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact);
}

TEST_P(EveryType, StructuralEmpty) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{0, 5}, {4, 0}})
    check({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact);
}

INSTANTIATE_TEST_SUITE_P(Operation, EveryType,
                         testing::Values("f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u32", "u8", "bool"),
                         [](const auto &info) { return info.param; });
