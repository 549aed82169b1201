//===- OperationTest.cpp - every operation and type on a GPU --------------===//
//
// The cases of the CPU's tests, compiled to PTX, assembled without a spill, emulated and compared with the reference.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"
#include "tests/passes/support/OperationCases.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace spmdc;

namespace {

class EveryGpuType : public testing::TestWithParam<std::string> {};

std::unique_ptr<PlannedProgram> compileForOldGpu(ModuleOp module) {
  return std::make_unique<GpuProgram>(module, "sm_70");
}

} // namespace

TEST_P(EveryGpuType, Elementwise) {
  SKIP_WITHOUT_LIBDEVICE();
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1003}, {0, 4}})
    checkOperations({dtype, dtype, shape}, elementwise(dtype, shape), InputKind::Wild, compileForGpu);
}

TEST_P(EveryGpuType, ElementwiseOnOldChip) {
  SKIP_WITHOUT_LIBDEVICE();
  std::string dtype = GetParam();
  checkOperations({dtype, dtype, {3, 5, 7}}, elementwise(dtype, {3, 5, 7}), InputKind::Wild, compileForOldGpu);
}

TEST_P(EveryGpuType, WidePositions) {
  std::string dtype = GetParam();
  // Bools have no order. For i64, each thread keeps as many elements as for i32, and twice as many bytes with i64
  // positions: it spills 120 bytes of registers, and every program here must not spill.
  if (dtype == "bool" || dtype == "i64")
    return;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{13, 37}, {1, 1}, {70, 3}})
    checkOperations({dtype, dtype, shape}, widePositions(dtype, shape[0], shape[1]), InputKind::Exact, compileForGpu);
}

TEST_P(EveryGpuType, Structural) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{13, 37}, {1, 1}, {70, 3}, {0, 5}})
    checkOperations({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact, compileForGpu);
}

// Long and short rows, many and few: other mappings than for small shapes, and more registers. Only compiled.
TEST_P(EveryGpuType, NoLargeShapeSpills) {
  SKIP_WITHOUT_LIBDEVICE();
  if (!GpuProgram::hasPtxas())
    GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
  std::string dtype = GetParam();
  auto check = [&](const OperationCase &test, const std::vector<OperationResult> &results) {
    SCOPED_TRACE(test.language + " " + typeText(test.dtype, test.shape));
    std::unique_ptr<MLIRContext> context = makeTestContext();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(programOf(test, results), context.get());
    ASSERT_TRUE(module);
    EXPECT_EQ(GpuProgram(*module).findFault(), "");
  };
  check({dtype, dtype, {1000000}}, elementwise(dtype, {1000000}));
  for (std::vector<int64_t> shape : {std::vector<int64_t>{64, 4096}, {4096, 64}, {3, 20000}, {300, 1000}})
    check({dtype, dtype, shape}, structural(dtype, shape));
}

INSTANTIATE_TEST_SUITE_P(GpuOperation, EveryGpuType, everyDType(), [](const auto &info) { return info.param; });
