//===- StreamedTest.cpp - streamed attention against the reference --------===//
//
// Attention and its gradients run as streamed kernels. The reference evaluates the same program in f64, on the same
// inputs, which are exact in every type: streamed kernels keep scores and weights of 16-bit floats in f32, and round
// only results.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "passes/kernel/StreamedProducts.h"
#include "runtime/support/MatrixUnit.h"
#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/ProgramCases.h"
#include "tests/passes/support/Tensors.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;
using namespace spmdc;

namespace {

using Mask = AttentionShape::Mask;
using Program = std::string (*)(const AttentionShape &);

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// An element of an argument that is no ordinary number.
struct Special {
  size_t argument, element;
  double value;
};

class StreamedOnCpu : public ::testing::Test {
protected:
  StreamedOnCpu() : context(makeTestContext()) {}

  /// Multiples of 1/64 between -1 and 1. The first argument is the queries.
  std::vector<Tensor> makeArguments(ModuleOp module) {
    std::vector<Tensor> arguments;
    for (Type type : (*module.getOps<func::FuncOp>().begin()).getArgumentTypes()) {
      auto array = cast<ArrayType>(type);
      arguments.push_back(
          makeInput(array.getShape(), array.getElementType(), arguments.size() + 1, InputKind::Ordinary));
      std::mt19937 random(arguments.size());
      for (Scalar &element : arguments.back().elements)
        element.f = (static_cast<int>(random() % 129) - 64) / 64.0 * (arguments.size() == 1 ? largestQuery : 1);
    }
    for (const Special &special : specials)
      arguments[special.argument].elements[special.element].f = special.value;
    return arguments;
  }

  OwningOpRef<ModuleOp> parse(Program program, AttentionShape shape, const std::string &type) {
    shape.type = type;
    return parseSourceString<ModuleOp>(program(shape), context.get());
  }

  /// Compiles and runs a program whose scores are all streamed, by so many kernels.
  std::vector<Tensor> run(ModuleOp module, size_t kernels, const CpuTarget &target) {
    PipelineOptions options;
    options.leastScoreBytes = 0;
    CompiledKernels compiled(module, target, options);
    if (!compiled.isGood())
      return {};
    size_t streamed = 0;
    for (plan::KernelOp kernel : compiled.getModule().getOps<plan::KernelOp>())
      streamed += kernel->hasAttr(kStreamedAttrName);
    EXPECT_EQ(streamed, kernels);
    std::vector<Tensor> arguments = makeArguments(module), results = compiled.run(arguments);
    for (unsigned way = 1; way < compiled.getVariantCount(); ++way) {
      std::vector<Tensor> again = compiled.run(arguments, way);
      for (size_t number = 0; number < results.size(); ++number)
        EXPECT_EQ(toBytes(again[number]), toBytes(results[number])) << "split " << way;
    }
    return results;
  }

  /// `roundings`: how many roundings to the type a result may be off, as a share of its largest element.
  void check(Program program, const AttentionShape &shape, size_t kernels, double roundings,
             const CpuTarget &target = CpuTarget::host()) {
    SCOPED_TRACE(shape.type + " " + std::to_string(shape.batch) + "x" + std::to_string(shape.rows) + "x" +
                 std::to_string(shape.columns) + "x" + std::to_string(shape.depth) + "x" + std::to_string(shape.width) +
                 " mask " + std::to_string(static_cast<int>(shape.mask)) + " " + target.cpu);
    OwningOpRef<ModuleOp> module = parse(program, shape, shape.type), wide = parse(program, shape, "f64");
    ASSERT_TRUE(module && wide) << program(shape);
    auto expected = evaluateGlobal(*wide->getOps<func::FuncOp>().begin(), makeArguments(*wide));
    ASSERT_TRUE(succeeded(expected));
    std::vector<Tensor> results = run(*module, kernels, target);
    ASSERT_EQ(results.size(), expected->size());
    double unit = shape.type == "bf16"  ? 0x1p-8
                  : shape.type == "f16" ? 0x1p-11
                  : shape.type == "f32" ? 0x1p-24
                                        : 0x1p-53;
    for (size_t number = 0; number < results.size(); ++number) {
      double largest = 0, worst = 0;
      for (int64_t i = 0; i < results[number].size(); ++i) {
        double wanted = (*expected)[number].elements[i].f, actual = results[number].elements[i].f;
        if (!std::isfinite(wanted) || !std::isfinite(actual)) {
          ASSERT_TRUE((std::isnan(wanted) && std::isnan(actual)) || wanted == actual)
              << "result " << number << " element " << i << ": " << actual << " instead of " << wanted;
          continue;
        }
        largest = std::fmax(largest, std::fabs(wanted));
        worst = std::fmax(worst, std::fabs(wanted - actual));
      }
      EXPECT_LE(worst, roundings * unit * largest) << "result " << number;
    }
  }

  std::unique_ptr<MLIRContext> context;
  double largestQuery = 1;
  std::vector<Special> specials;
};

/// Full tiles of 32 rows and 48 columns, and remainders in each direction; features of which 6 are computed together,
/// fewer than these, and a remainder.
const AttentionShape kShapes[] = {
    {1, 32, 48, 6, 6}, {2, 40, 56, 32, 32}, {1, 130, 70, 13, 5}, {3, 64, 200, 64, 64}, {1, 20, 150, 1, 7}};

/// Roundings of a result: exponents, exponentials, and sums of as many addends as there are features and columns of a
/// tile. Results of 16-bit floats are rounded once, from f32.
double roundingsOf(const std::string &type) { return type == "bf16" || type == "f16" ? 1 : 40; }

} // namespace

TEST_F(StreamedOnCpu, Attention) {
  for (AttentionShape shape : kShapes)
    for (Mask mask : {Mask::None, Mask::Causal})
      for (const char *type : {"f32", mask == Mask::None ? "f16" : "f64"}) {
        shape.type = type;
        shape.mask = mask;
        check(attentionProgram, shape, 1, roundingsOf(type));
      }
}

// A gradient is a sum of addends of either sign, which are larger than itself.
TEST_F(StreamedOnCpu, Gradients) {
  for (AttentionShape shape : kShapes)
    for (const char *type : {"f32", "bf16"}) {
      shape.type = type;
      shape.mask = shape.rows > 50 ? Mask::Causal : Mask::None;
      check(attentionGradientProgram, shape, 3, 8 * roundingsOf(type));
    }
}

/// Weights are rounded to bf16 for a matrix unit: half a rounding for the sum of their products' magnitudes, which is a
/// few times the largest result.
constexpr double kRoundingsOfWeights = 4;

// Full tiles of 32 rows and 64 columns, and remainders; one step of features, and several.
TEST_F(StreamedOnCpu, MatrixUnit) {
  if (!spmd::canUseMatrixUnit())
    GTEST_SKIP() << "this CPU has no matrix unit";
  ASSERT_TRUE(llvm::is_contained(CpuTarget::host().getInfo().features, "amx-bf16"));
  for (AttentionShape shape :
       {AttentionShape{1, 32, 64, 32, 32}, {2, 40, 56, 32, 64}, {1, 130, 200, 64, 32}, {1, 70, 129, 96, 128}})
    for (Mask mask : {Mask::None, Mask::Causal}) {
      shape.type = "bf16";
      shape.mask = mask;
      check(attentionProgram, shape, 1, kRoundingsOfWeights);
      check(attentionGradientProgram, shape, 3, 8 * kRoundingsOfWeights);
    }
}

// A column behind a short tile's last one, and columns that a mask removes, do not reach the results.
TEST_F(StreamedOnCpu, MatrixUnitAndNumbersThatAreNotFinite) {
  if (!spmd::canUseMatrixUnit())
    GTEST_SKIP() << "this CPU has no matrix unit";
  AttentionShape shape = {2, 40, 56, 32, 32};
  shape.type = "bf16";
  // An infinite value of the last column of the first head, and of the first column of the second one.
  specials = {{2, 55 * 32 + 3, kInfinity}, {2, 56 * 32 + 5, -kInfinity}};
  check(attentionProgram, shape, 1, kRoundingsOfWeights);
  specials = {{0, 3, kInfinity}, {1, 40, std::numeric_limits<double>::quiet_NaN()}};
  check(attentionProgram, shape, 1, kRoundingsOfWeights);
}

// Vectors of 16, 32 and 64 bytes, with and without fused multiplications; where these are the same, so is every bit.
TEST_F(StreamedOnCpu, VectorsOfOtherTargets) {
  AttentionShape shape = {2, 40, 56, 32, 13};
  shape.mask = Mask::Causal;
  std::vector<std::vector<Tensor>> fused;
  for (auto [cpu, feature] : {std::pair("x86-64", "sse2"), {"x86-64-v3", "avx2"}, {"x86-64-v4", "avx512f"}}) {
    std::vector<std::string> here = CpuTarget::host().getInfo().features;
    if (cpu != std::string("x86-64") && !llvm::is_contained(here, feature))
      continue;
    auto target = CpuTarget::named(cpu, UnknownLoc::get(context.get()));
    ASSERT_TRUE(succeeded(target));
    for (const char *type : {"f64", "bf16"}) {
      shape.type = type;
      check(attentionGradientProgram, shape, 3, 8 * roundingsOf(type), *target);
    }
    if (cpu == std::string("x86-64"))
      continue;
    fused.push_back(run(*parse(attentionGradientProgram, shape, "f32"), 3, *target));
    for (size_t number = 0; number < fused.back().size(); ++number)
      EXPECT_EQ(toBytes(fused.back()[number]), toBytes(fused.front()[number])) << cpu;
  }
}

// The maxima of rows are up to 40, where bf16 has steps of 0.25: sums relative to a rounded maximum would be off by 13
// %.
TEST_F(StreamedOnCpu, LargeMaxima) {
  largestQuery = 8;
  for (const char *type : {"f32", "bf16"}) {
    AttentionShape shape = {1, 64, 64, 64, 64};
    shape.type = type;
    check(attentionGradientProgram, shape, 3, 8 * roundingsOf(type));
  }
}

// Tiles that a mask removes at either end; tiles that it keeps entirely between others; a mask that says what is
// hidden. The last row sees nothing: it is NaN, as in the reference, and the others are not.
TEST_F(StreamedOnCpu, Masks) {
  AttentionShape shape = {1, 150, 150, 16, 16};
  shape.type = "f32";
  for (Mask mask : {Mask::Window, Mask::Behind, Mask::Hidden}) {
    shape.mask = mask;
    check(attentionProgram, shape, 1, roundingsOf(shape.type));
  }
  shape.mask = Mask::Window;
  check(attentionGradientProgram, shape, 3, 8 * roundingsOf(shape.type));
}

TEST_F(StreamedOnCpu, GradientsOfTransposedResult) {
  AttentionShape shape = {2, 40, 56, 32, 32};
  shape.type = "f32";
  shape.transposesResult = true;
  check(attentionGradientProgram, shape, 3, 8 * roundingsOf(shape.type));
}

// The last column's value is read where a tile has fewer columns, and its weight counts once. A query that is NaN or
// infinite makes its own row NaN, no other one.
TEST_F(StreamedOnCpu, NumbersThatAreNotFinite) {
  AttentionShape shape = {1, 40, 50, 8, 8};
  shape.type = "f32";
  for (Special special :
       {Special{0, 3 * 8 + 1, std::nan("")}, Special{0, 39 * 8, kInfinity}, Special{2, 49 * 8, kInfinity},
        Special{2, 49 * 8 + 7, std::nan("")}, Special{1, 20 * 8, -kInfinity}}) {
    specials = {special};
    check(attentionProgram, shape, 1, roundingsOf(shape.type));
  }
}
