//===- OperationTest.cpp - every operation and type, compiled -------------===//
//
// All operations that an element type has go into one program, one result each, on shapes of odd sizes, size 1 and 0,
// with inputs full of NaN, infinities, signed zeros, subnormal numbers and extreme integers. The reference evaluator
// computes in double precision: exact operations must agree in every bit, functions within the given units of the last
// place.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/OperationCases.h"

using namespace spmdc;

namespace {
class EveryType : public testing::TestWithParam<std::string> {};
} // namespace

TEST_P(EveryType, Elementwise) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1003}, {1}, {}, {0, 4}, {3, 5, 7}})
    checkOperations({dtype, dtype, shape}, elementwise(dtype, shape), InputKind::Wild, compileForCpu);
}

TEST_P(EveryType, WidePositions) {
  std::string dtype = GetParam();
  if (dtype == "bool")
    return; // Bools have no order.
  for (std::vector<int64_t> shape : {std::vector<int64_t>{13, 37}, {1, 1}, {70, 3}})
    checkOperations({dtype, dtype, shape}, widePositions(dtype, shape[0], shape[1]), InputKind::Exact, compileForCpu);
}

TEST_P(EveryType, Structural) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{13, 37}, {1, 1}, {70, 3}})
    checkOperations({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact, compileForCpu);
}

TEST_P(EveryType, StructuralEmpty) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{0, 5}, {4, 0}})
    checkOperations({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact, compileForCpu);
}

INSTANTIATE_TEST_SUITE_P(Operation, EveryType, everyDType(), [](const auto &info) { return info.param; });
