//===- StreamedTest.cpp - streamed attention against the reference --------===//
//
// Attention and its gradients run as streamed kernels in the emulator. The reference evaluates the same program in f32
// on the same inputs, which are exact in 16 bits: streamed kernels keep scores in f32, and round only weights and
// results.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/GlobalEvaluator.h"
#include "passes/kernel/StreamedProducts.h"
#include "tests/passes/gpu/GpuProgramHelper.h"
#include "tests/passes/gpu/RunningProductsHelper.h"
#include "tests/passes/support/ProgramCases.h"
#include "tests/passes/support/Tensors.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace spmdc;

namespace {

using Mask = AttentionShape::Mask;

/// Values between -`largest` and `largest`, a power of two, that both types represent.
Tensor makeValues(ArrayRef<int64_t> shape, Type elementType, unsigned seed, double largest) {
  constexpr int kSteps = 64;
  Tensor tensor = makeInput(shape, elementType, seed, InputKind::Ordinary);
  std::mt19937 random(seed);
  for (Scalar &element : tensor.elements)
    element.f = (static_cast<int>(random() % (2 * kSteps + 1)) - kSteps) * largest / kSteps;
  return tensor;
}

class Streamed : public ::testing::Test {
protected:
  Streamed() : context(makeTestContext()) {}

  std::vector<Tensor> makeArguments(ModuleOp module) {
    std::vector<Tensor> arguments;
    for (Type type : (*module.getOps<func::FuncOp>().begin()).getArgumentTypes()) {
      auto array = cast<ArrayType>(type);
      // The first argument is the queries.
      arguments.push_back(makeValues(array.getShape(), array.getElementType(), arguments.size() + 1,
                                     arguments.empty() ? largestQuery : 1));
    }
    if (hasNan)
      arguments[0].elements[0].f = std::numeric_limits<double>::quiet_NaN();
    return arguments;
  }

  /// `roundings`: how many roundings of a weight or a result to 16 bits a result may be off, as a share of its largest
  /// element.
  void check(std::string (*program)(const AttentionShape &), AttentionShape shape, size_t kernels, double roundings,
             const std::string &chip = "sm_90") {
    SCOPED_TRACE(shape.type + " " + std::to_string(shape.rows) + "x" + std::to_string(shape.columns) + "x" +
                 std::to_string(shape.depth) + "x" + std::to_string(shape.width) + " mask " +
                 std::to_string(static_cast<int>(shape.mask)) + " " + chip);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program(shape), context.get());
    double unit = shape.type == "bf16" ? 0x1p-8 : 0x1p-11;
    shape.type = "f32";
    OwningOpRef<ModuleOp> wide = parseSourceString<ModuleOp>(program(shape), context.get());
    ASSERT_TRUE(module && wide) << program(shape);
    auto expected = evaluateGlobal(*wide->getOps<func::FuncOp>().begin(), makeArguments(*wide));
    ASSERT_TRUE(succeeded(expected));
    GpuProgram compiled(*module, chip);
    ASSERT_TRUE(compiled.isGood());
    EXPECT_EQ(compiled.findFault(), "");
    size_t streamed = 0;
    for (plan::KernelOp kernel : compiled.getModule().getOps<plan::KernelOp>())
      streamed += kernel->hasAttr(kStreamedAttrName);
    EXPECT_EQ(streamed, kernels);
    std::vector<Tensor> arguments = makeArguments(*module), results = compiled.run(arguments);
    ASSERT_EQ(results.size(), expected->size());
    for (size_t number = 0; number < results.size(); ++number) {
      double largest = 0, worst = 0;
      for (int64_t i = 0; i < results[number].size(); ++i) {
        largest = std::fmax(largest, std::fabs((*expected)[number].elements[i].f));
        double wanted = (*expected)[number].elements[i].f, actual = results[number].elements[i].f;
        double error = std::isnan(wanted) && std::isnan(actual) ? 0 : std::fabs(wanted - actual);
        worst = std::isnan(error) ? error : std::max(worst, error);
      }
      EXPECT_LE(worst, roundings * unit * largest) << "result " << number;
    }
    for (unsigned way = 1; way < compiled.getVariantCount(); ++way) {
      std::vector<Tensor> again = compiled.run(arguments, way);
      for (size_t number = 0; number < results.size(); ++number)
        EXPECT_EQ(toBytes(again[number]), toBytes(results[number])) << "order " << way;
    }
  }

  std::unique_ptr<MLIRContext> context;
  double largestQuery = 1;
  bool hasNan = false; ///< The first element of the queries is NaN.
};

/// Full tiles, and remainders in each direction; several tiles of columns; factors that are padded to 16 elements.
const AttentionShape kShapes[] = {
    {1, 16, 16, 16, 16}, {2, 40, 56, 32, 32}, {1, 130, 70, 24, 24}, {3, 64, 200, 64, 64}, {1, 20, 150, 8, 8}};

} // namespace

TEST_F(Streamed, Attention) {
  for (AttentionShape shape : kShapes)
    for (Mask mask : {Mask::None, Mask::All, Mask::Causal})
      for (const char *type : {"bf16", "f16"}) {
        shape.type = type;
        shape.mask = mask;
        check(attentionProgram, shape, 1, 1);
      }
}

// A gradient is a sum of as many rounded addends of either sign as there are rows or columns.
TEST_F(Streamed, Gradients) {
  for (AttentionShape shape : kShapes) {
    for (Mask mask : {Mask::None, Mask::Causal}) {
      shape.mask = mask;
      check(attentionGradientProgram, shape, 3, 4);
    }
  }
}

TEST_F(Streamed, GradientsOfF16) {
  AttentionShape shape = {2, 40, 56, 32, 32};
  shape.type = "f16";
  check(attentionGradientProgram, shape, 3, 4);
}

// wgmma, in panels of 64 features.
TEST_F(Streamed, AttentionByWarpgroups) {
  for (AttentionShape shape : kShapes)
    for (const char *type : {"bf16", "f16"}) {
      shape.type = type;
      shape.mask = shape.rows > 100 ? Mask::Causal : Mask::None;
      check(attentionProgram, shape, 1, 1, "sm_90a");
    }
  check(attentionProgram, {1, 64, 64, 128, 136}, 1, 1, "sm_90a");
}

// Enough rows for blocks of two warpgroups: three tiles of 128 columns and three buffers; of 24 features, whose buffers
// wgmma pads; and columns that one of two groups of batches sees, in the order in which their blocks begin.
TEST_F(Streamed, BlocksOfTwoWarpgroups) {
  AttentionShape shape = {66, 140, 260, 16, 24};
  for (Mask mask : {Mask::None, Mask::Causal}) {
    shape.mask = mask;
    check(attentionProgram, shape, 1, 1, "sm_90a");
  }
  shape = {17, 20, 4096, 64, 64};
  shape.mask = Mask::Causal;
  check(attentionProgram, shape, 1, 1, "sm_90a");
}

// Three tiles of 64 columns in four buffers.
TEST_F(Streamed, GradientsOfTwoWarpgroups) {
  AttentionShape shape = {66, 140, 150, 16, 16};
  shape.mask = Mask::Causal;
  check(attentionGradientProgram, shape, 3, 4, "sm_90a");
}

// A positive factor of all scores is a part of the exponentials; negative ones, and those near the ends of f32's
// exponents, are not.
TEST_F(Streamed, DivisorsOfScores) {
  AttentionShape shape = {1, 40, 150, 16, 16};
  for (double divisor : {0.5, 1.0, -2.0, 0x1p120})
    for (Mask mask : {Mask::None, Mask::Causal}) {
      shape.divisor = divisor;
      shape.mask = mask;
      check(attentionProgram, shape, 1, 1, "sm_90a");
    }
}

TEST_F(Streamed, GradientsByWarpgroups) {
  for (AttentionShape shape : kShapes) {
    shape.mask = shape.rows > 100 ? Mask::Causal : Mask::None;
    check(attentionGradientProgram, shape, 3, 4, "sm_90a");
  }
}

// The maxima of rows are up to 40, where bf16 has steps of 0.25: sums relative to a rounded maximum would be off by 13
// %.
TEST_F(Streamed, LargeMaxima) {
  largestQuery = 8;
  for (const char *chip : {"sm_90", "sm_90a"})
    check(attentionGradientProgram, {1, 64, 64, 64, 64}, 3, 4, chip);
}

// A row with a NaN is NaN, of either sign; others are not.
TEST_F(Streamed, NotANumber) {
  hasNan = true;
  for (const char *chip : {"sm_90", "sm_90a"}) {
    check(attentionProgram, {1, 64, 150, 64, 64}, 1, 1, chip);
    check(attentionGradientProgram, {1, 64, 150, 64, 64}, 3, 4, chip);
  }
  check(attentionProgram, {66, 140, 260, 16, 24}, 1, 1, "sm_90a");
}

// Tiles that a mask removes at either end; tiles that it keeps entirely between others; a mask that says what is
// hidden. The last row sees nothing: it is NaN, as in the reference, and the others are not.
TEST_F(Streamed, Masks) {
  AttentionShape shape = {1, 150, 150, 16, 16};
  for (auto [mask, chip] : {std::pair(Mask::Window, "sm_90a"), {Mask::Behind, "sm_90"}, {Mask::Hidden, "sm_90"}}) {
    shape.mask = mask;
    check(attentionProgram, shape, 1, 1, chip);
  }
}

// Finite numbers in place of minus infinity, as users write them, -1e30 and the least ones of the types. Rows that see
// nothing in the first tiles, and rows that see nothing at all, whose weights are all equal.
TEST_F(Streamed, MasksOfFiniteNumbers) {
  AttentionShape shape = {1, 150, 150, 16, 16};
  for (auto [hidden, mask, chip] :
       {std::tuple("-1.0e30", Mask::Window, "sm_90a"), {"-3.38e38", Mask::Behind, "sm_90"}}) {
    shape.hidden = hidden;
    shape.mask = mask;
    check(attentionGradientProgram, shape, 3, 4, chip);
  }
  shape.type = "f16";
  shape.hidden = "-65504.0"; // The mask is still the one behind a row.
  check(attentionProgram, shape, 1, 1, "sm_90a");
}

// Blocks of which the mask keeps no tile of several: keys that no query sees, whose gradients are zero, and queries
// that see no key.
TEST_F(Streamed, BlocksWithoutTiles) {
  for (const char *chip : {"sm_90", "sm_90a"}) {
    AttentionShape shape = {1, 140, 300, 16, 16};
    shape.mask = Mask::Causal;
    check(attentionGradientProgram, shape, 3, 4, chip);
    shape = {1, 300, 140, 16, 16};
    for (Mask mask : {Mask::Window, Mask::Behind}) {
      shape.mask = mask;
      check(attentionProgram, shape, 1, 1, chip);
    }
  }
}

TEST_F(Streamed, GradientsWithMasks) {
  AttentionShape shape = {1, 100, 100, 16, 16};
  shape.mask = Mask::Window;
  check(attentionGradientProgram, shape, 3, 4);
}

// The kernel returns the transpose, from which the sums of the gradient are computed.
TEST_F(Streamed, GradientsOfTransposedResult) {
  AttentionShape shape = {2, 40, 56, 32, 32};
  shape.transposesResult = true;
  check(attentionGradientProgram, shape, 3, 4, "sm_90a");
}

// While a warpgroup computes its softmax, the products of the other one run: each starts the products of a tile, and
// then lets the other one do so before it waits.
TEST_F(Streamed, WarpgroupsTakeTurns) {
  AttentionShape shape = {66, 256, 256, 128, 128};
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(attentionProgram(shape), context.get());
  ASSERT_TRUE(module);
  GpuProgram compiled(*module, "sm_90a");
  ASSERT_TRUE(compiled.isGood());
  ASSERT_EQ(compiled.artifact.plan.kernels.size(), 1u);
  ASSERT_EQ(compiled.artifact.plan.kernels[0].blockThreads, 256);
  auto [start, rest] = StringRef(compiled.artifact.code).split("wgmma.wait_group.sync.aligned 1");
  ASSERT_FALSE(rest.empty());
  auto [before, products] = start.rsplit("wgmma.mma_async");
  size_t passes = products.find("mbarrier.arrive.shared.b64"), copies = products.find("cp.async.cg");
  EXPECT_LT(passes, copies) << products.str();
  EXPECT_NE(copies, StringRef::npos) << products.str(); // Begin while the warpgroup waits.
  // The buffer of the scores is free as soon as they are there.
  size_t release = rest.find("mbarrier.arrive.shared.b64"), softmax = rest.find("ex2.approx");
  EXPECT_LT(release, softmax) << rest.str();
}

// ptxas may move the wait for a tile's products before the softmax that is to run beside them: it did, until an
// instruction before it depended on the exponentials (StreamedOverlap.cpp).
TEST_F(Streamed, ExponentialsAreComputedWhileProductsRun) {
  for (Mask mask : {Mask::None, Mask::Causal}) {
    AttentionShape shape = {16, 2048, 2048, 128, 128};
    shape.mask = mask;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(attentionProgram(shape), context.get());
    ASSERT_TRUE(module);
    GpuProgram compiled(*module, "sm_90a");
    ASSERT_TRUE(compiled.isGood());
    ASSERT_EQ(compiled.artifact.plan.kernels.size(), 1u);
    EXPECT_EQ(compiled.artifact.plan.kernels[0].blockThreads, 256); // Tiles of 128 rows and columns.
    std::optional<std::string> code = GpuProgram::disassemble(compiled.artifact.code);
    if (!code)
      GTEST_SKIP() << "no nvdisasm or no ptxas, which the CUDA toolkit has";
    size_t loops = 0;
    const std::string forScores = "WARPGROUP.DEPBAR.LE gsb0, 0x1", forProducts = "WARPGROUP.DEPBAR.LE gsb0, 0x0";
    for (size_t at = code->find(forScores); at != std::string::npos; at = code->find(forScores, at + 1), ++loops) {
      StringRef between = StringRef(*code).substr(at).split(forProducts).first;
      EXPECT_GE(between.count("MUFU.EX2"), 64u) << between.str(); // A thread's share of a warpgroup's 64 x 128 scores.
    }
    EXPECT_EQ(loops, mask == Mask::None ? 1u : 3u);
  }
}

// The check of registers itself: a result that is moved, and a factor that is written, before the wait or behind the
// fence.
TEST(RunningProducts, AreNotTouched) {
  const std::string fence = "wgmma.fence.sync.aligned;\n",
                    product =
                        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2}, {%r1, %r2}, right, all, 1, "
                        "1, 1;\nwgmma.commit_group.sync.aligned;\n";
  auto between = [&](const std::string &line) {
    return findTouchedRegisters(fence + product + line + "\nwgmma.wait_group.sync.aligned 0;\nmov.f32 \t%f9, %f1;\n");
  };
  EXPECT_EQ(between("add.rn.f32 \t%f3, %f4, %f5;"), "");
  EXPECT_EQ(between("shl.b32 \t%r5, %r1, 16;"), "");
  EXPECT_EQ(between("st.shared.v2.b32 \t[%rd1], {%r1, %r2};"), "");
  EXPECT_EQ(between("mov.f32 \t%f3, %f2;"), "mov.f32 \t%f3, %f2;");
  EXPECT_EQ(between("@%p1 mov.b32 \t%r1, 0;"), "@%p1 mov.b32 \t%r1, 0;");
  EXPECT_EQ(between("ld.shared.v2.b32 \t{%r8, %r2}, [%rd1];"), "ld.shared.v2.b32 \t{%r8, %r2}, [%rd1];");
  // Of two products, the first one is waited for.
  std::string second = product;
  second.replace(second.find("%f1, %f2"), 8, "%f3, %f4");
  std::string both = fence + product + second + "wgmma.wait_group.sync.aligned 1;\n";
  EXPECT_EQ(findTouchedRegisters(both + "mov.f32 \t%f9, %f1;"), "");
  EXPECT_EQ(findTouchedRegisters(both + "mov.f32 \t%f9, %f3;"), "mov.f32 \t%f9, %f3;");
  std::string first = product.substr(0, product.find('\n'));
  EXPECT_EQ(findTouchedRegisters(product), first);
  EXPECT_EQ(findTouchedRegisters(fence + "mov.f32 \t%f2, %f9;\n" + product), first);
  EXPECT_EQ(findTouchedRegisters(fence + "mov.b32 \t%r1, 0;\n" + product), first);
  EXPECT_EQ(findTouchedRegisters("mov.f32 \t%f2, %f9;\n" + fence + "mov.f32 \t%f7, %f9;\n" + product), "");
}

// A gradient's exponentials need one of two scores, and are computed while the product of the other one runs.
TEST_F(Streamed, ExponentialsOfGradientsAreComputedWhileProductsRun) {
  for (Mask mask : {Mask::None, Mask::Causal}) {
    AttentionShape shape = {16, 2048, 2048, 128, 128};
    shape.mask = mask;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(attentionGradientProgram(shape), context.get());
    ASSERT_TRUE(module);
    GpuProgram compiled(*module, "sm_90a");
    ASSERT_TRUE(compiled.isGood());
    std::optional<std::string> code = GpuProgram::disassemble(compiled.artifact.code);
    if (!code)
      GTEST_SKIP() << "no nvdisasm or no ptxas, which the CUDA toolkit has";
    size_t gradients = 0;
    SmallVector<StringRef> functions, waits;
    StringRef(*code).split(functions, "\n.text.");
    for (StringRef function : functions) {
      if (!function.starts_with("streamed") || !function.contains("HGMMA"))
        continue;
      ++gradients;
      waits.clear();
      function.split(waits, "WARPGROUP.DEPBAR.LE gsb0, ");
      size_t besideProducts = 0;
      for (StringRef wait : ArrayRef<StringRef>(waits).drop_front()) {
        if (wait.starts_with("0x0")) // Nothing runs.
          EXPECT_EQ(wait.count("MUFU.EX2"), 0u) << function.substr(0, 20).str();
        else
          besideProducts += wait.count("MUFU.EX2");
      }
      // A thread's share of a warpgroup's 64 x 64 scores, in each loop.
      EXPECT_GE(besideProducts, mask == Mask::None ? 32u : 96u) << function.substr(0, 20).str();
    }
    EXPECT_EQ(gradients, 2u);
  }
}
