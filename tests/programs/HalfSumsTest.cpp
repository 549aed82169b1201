//===- HalfSumsTest.cpp - partial sums of bf16 and f16, executed ----------===//
//
// Devices add up bf16 and f16 in f32, and a sum is rounded once it is complete: otherwise, if the partial sums of
// devices cancel, only their rounding errors would remain. The expected result is that of the same program in f64 on
// the same numbers, without a mesh. Results may differ from it by the rounding errors of one device at most, at every
// stage.
//
//===----------------------------------------------------------------------===//

#include "ir/array/PartialSums.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "passes/pipeline/Pipeline.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/programs/support/ExactPrograms.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace spmdc;

namespace {

/// `T` is the element type. `magnitude` is an expression for the sum of the absolute values of all numbers that one
/// device would round.
struct Summed {
  const char *text, *magnitude;
};

const Summed kSums[] = {
    {"sum(x, axis=0)", "abs(sum(x, axis=0))"},
    {"sum(x)", "abs(sum(x))"},
    {"x.T @ w", "abs(x.T @ w)"},
    {"dot_general(x, w, contract=([0], [0]))", "abs(x.T @ w)"},
    {"scatter_add(zeros(T[3, 8]), i, x)", "abs(scatter_add(zeros(T[3, 8]), i, x))"},
    {"scatter_add(ones(T[3, 8]), i, x)", "abs(scatter_add(ones(T[3, 8]), i, x))"},
    // Linear operations between partial sums and their reduction.
    {"x.T @ w - w.T @ w", "abs(x.T @ w) + abs(w.T @ w) + abs(x.T @ w - w.T @ w)"},
    {"-2.0 * transpose(x.T @ w) + 1.0", "5.0 * abs((x.T @ w).T) + 2.0"},
    {"sum(x.T @ w, axis=0)", "sum(abs(x.T @ w), axis=0) + abs(sum(x.T @ w, axis=0))"},
    {"(x.T @ w)[2:5]", "abs((x.T @ w)[2:5])"},
    {"flip(x.T @ w, 0) / 2.0", "2.0 * abs(flip(x.T @ w, 0))"},
    {"cast(x.T @ w, f32) * 0.5", "abs(x.T @ w)"},
    {"for k in 0..4 carry (t = zeros(T[8, 8])) { yield t + x.T @ w; }", "12.0 * abs(x.T @ w)"},
    {"for k in 0..4 carry (t = ones(T[8, 8])) { yield 0.5 * t + x.T @ w; }", "8.0 * abs(x.T @ w) + 4.0"},
    {"concatenate([x.T @ w, w.T @ w], axis=0)", "concatenate([abs(x.T @ w), abs(w.T @ w)], axis=0)"},
    {"grad(loss)(ones(T[8]), x)", "abs(sum(x, axis=0))"},
};

std::string replaced(std::string text, const std::string &dtype) {
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos; at += dtype.size())
    text.replace(at, 1, dtype);
  return text;
}

class HalfSumPrograms : protected ExactPrograms {
protected:
  static constexpr int64_t kRows = 64, kColumns = 8;

  static std::string textOf(const std::string &body, const std::string &dtype, int64_t devices) {
    std::string mesh = devices > 0 ? "mesh m(a=" + std::to_string(devices) + ")\n" : "", a = devices > 0 ? "@a" : "",
                rows = "T[64" + a + ", 8]";
    return mesh + replaced("fn loss(v: T[8], x: " + rows + ") { return sum(x * v); }\n" + "fn main(x: " + rows +
                               ", w: " + rows + ", i: i32[64" + a + "]) { return " + body + "; }\n",
                           dtype);
  }

  /// Returns numbers of the type in the first half, and nearly their negatives in the second. With four devices or
  /// more, the partial sums of the two halves cancel, except for less than a unit in the last place of the type.
  std::vector<Tensor> makeArguments(const std::string &dtype) {
    mlir::Type type = getElementType(&context, *spmd::parseDType(dtype));
    Tensor x({kRows, kColumns}, type), w({kRows, kColumns}, type),
        i({kRows}, getElementType(&context, spmd::DType::I32));
    for (int64_t row = 0; row < kRows; ++row) {
      i.elements[row] = Scalar::ofInt(row % 3);
      for (int64_t column = 0; column < kColumns; ++column) {
        int64_t at = row * kColumns + column, before = at - kRows / 2 * kColumns;
        auto number = [&] { return roundTo(Scalar::ofFloat(random.integer(-4000, 4000) / 1024.0), type); };
        x.elements[at] = number();
        w.elements[at] = Scalar::ofFloat(random.integer(1, 7) / 4.0);
        if (before >= 0) {
          x.elements[at] = roundTo(Scalar::ofFloat(-x.elements[before].f * 1.015625), type);
          w.elements[at] = w.elements[before];
        }
      }
    }
    return {x, w, i};
  }

  Tensor evaluateWide(const std::string &body, std::vector<Tensor> arguments) {
    mlir::Type f64 = getElementType(&context, spmd::DType::F64);
    for (Tensor &argument : arguments)
      if (mlir::isa<mlir::FloatType>(argument.elementType))
        argument.elementType = f64;
    auto module = differentiated(*parse(textOf(body, "f64", 0)));
    return (*evaluateGlobal(entryOf(*module), arguments))[0];
  }

  /// Returns the largest error of an element over all stages, relative to the rounding errors of one device.
  double findWorst(const Summed &sum, const std::string &dtype, int64_t devices,
                   spmd::DType reducePrecision = spmd::DType::F32) {
    std::vector<Tensor> arguments = makeArguments(dtype);
    Tensor exact = evaluateWide(sum.text, arguments), magnitude = evaluateWide(sum.magnitude, arguments);
    double roundoff = dtype == "bf16" ? 0x1p-8 : 0x1p-11;
    // 64 products of at most 7 are added in f32; rounding errors of both signs partly cancel, so that about 8 of the 64
    // remain.
    double ofAccumulation = 8 * 0x1p-24 * 64 * 7 * 2;
    double worst = 0;
    auto look = [&](const mlir::FailureOr<llvm::SmallVector<Tensor>> &results, const std::string &where) {
      ASSERT_TRUE(succeeded(results)) << where;
      for (size_t at = 0; at < exact.elements.size(); ++at) {
        double allowed = 1.01 * roundoff * magnitude.elements[at].f + ofAccumulation;
        worst = std::max(worst, std::abs((*results)[0].elements[at].f - exact.elements[at].f) / allowed);
      }
    };
    auto module = parse(textOf(sum.text, dtype, devices));
    EXPECT_TRUE(module);
    if (!module)
      return worst;
    setReducePrecision(*module, reducePrecision);
    std::string error;
    auto artifact = compileModule(*module, /*optimizationLevel=*/1, error);
    EXPECT_TRUE(artifact) << error;
    for (Stage stage : {Stage::Partitioned, Stage::Kernels, Stage::Plan}) {
      EXPECT_TRUE(succeeded(runPipeline(*module, getStage(*module), stage, {})));
      ProcessGridEvaluator grid(getMesh(*module), Poison::Nan);
      look(grid.evaluateGlobalView(entryOf(*module), arguments), stageName(stage).str());
    }
    if (artifact)
      look(CompiledProgram(artifact).run(context, arguments, Poison::Nan, error), "compiled");
    return worst;
  }

  Random random{91000};
};

class HalfSums : protected HalfSumPrograms, public ::testing::TestWithParam<Summed> {};
class HalfSumsOnDevices : protected HalfSumPrograms, public ::testing::Test {};

TEST_P(HalfSums, AreRoundedOnce) {
  for (const char *dtype : {"bf16", "f16"})
    for (int64_t devices : {1, 3, 4, 8})
      EXPECT_LE(findWorst(GetParam(), dtype, devices), 1) << dtype << " on " << devices << ": " << GetParam().text;
}

// With `--reduce-precision` of the narrow type, the rounding errors of devices remain in sums that cancel; for the
// other type they must not.
TEST_F(HalfSumsOnDevices, AreRoundedWhereThatIsAskedFor) {
  EXPECT_GT(findWorst(kSums[0], "bf16", 4, spmd::DType::BF16), 4);
  EXPECT_LE(findWorst(kSums[0], "bf16", 4, spmd::DType::F16), 1);
  EXPECT_GT(findWorst(kSums[0], "f16", 4, spmd::DType::F16), 4);
}

INSTANTIATE_TEST_SUITE_P(Sums, HalfSums, ::testing::ValuesIn(kSums));

} // namespace
