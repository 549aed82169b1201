//===- MathFunctionsTest.cpp - accuracy of the expanded functions ---------===//
//
// Each function of f32 on a sweep through all bit patterns (every 2039th: both signs, all exponents, NaN), and densely
// where it is used most, against libm in double precision.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/Tensors.h"

#include "ir/spmd/SpmdTypes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace spmdc;

namespace {

struct Function {
  const char *name;
  double (*reference)(double);
  double tolerance;
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

// The bounds of docs/kernels.md, in units in the last place.
const Function kFunctions[] = {
    {"exp", std::exp, 1},    {"exp2", std::exp2, 1},    {"expm1", std::expm1, 1}, {"log", std::log, 1},
    {"log2", std::log2, 1},  {"log1p", std::log1p, 1},  {"cbrt", std::cbrt, 1},   {"sin", std::sin, 2},
    {"cos", std::cos, 2},    {"tan", std::tan, 4},      {"tanh", std::tanh, 4},   {"sinh", std::sinh, 1},
    {"cosh", std::cosh, 1},  {"asin", std::asin, 4},    {"acos", std::acos, 4},   {"atan", std::atan, 4},
    {"erf", std::erf, 1.01}, {"logistic", logistic, 2}, {"rsqrt", rsqrt, 2},
};

std::vector<float> makePoints() {
  std::vector<float> points;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 20389 * 3) {
    auto narrow = static_cast<uint32_t>(bits);
    float value = 0;
    std::memcpy(&value, &narrow, 4);
    points.push_back(value);
  }
  for (int i = -40000; i <= 40000; ++i)
    points.push_back(static_cast<float>(i) * 2.7e-3f);
  return points;
}

} // namespace

TEST(MathFunctions, StayWithinTheirBounds) {
  std::vector<float> points = makePoints();
  std::string size = std::to_string(points.size()), type = "!spmd.array<f32[" + size + "]>";
  std::string text = "func.func @main(%x: " + type + ") -> (", values;
  std::string body;
  for (size_t i = 0; i < std::size(kFunctions); ++i) {
    std::string name = "%r" + std::to_string(i);
    body += name + " = array." + kFunctions[i].name + " %x : <f32[" + size + "]>\n";
    text += (i ? ", " : "") + type;
    values += (i ? ", " : "") + name;
  }
  std::string types = text.substr(text.find("-> (") + 4);
  text += ") {\n" + body + "return " + values + " : " + types + "\n}";
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  Type f32 = Float32Type::get(context.get());
  Tensor argument({static_cast<int64_t>(points.size())}, f32);
  for (size_t i = 0; i < points.size(); ++i)
    argument.elements[i] = Scalar::ofFloat(points[i]);
  CompiledKernels program(*module);
  ASSERT_TRUE(program.isGood());
  std::vector<Tensor> results = program.run({argument});
  ASSERT_EQ(results.size(), std::size(kFunctions));
  for (size_t f = 0; f < std::size(kFunctions); ++f) {
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      Scalar exact = Scalar::ofFloat(kFunctions[f].reference(points[i]));
      // Against the unrounded value, unless that is beyond f32.
      if (std::isinf(static_cast<float>(exact.f)))
        exact.f = static_cast<float>(exact.f);
      double distance = ulpDistance(f32, results[f].elements[i], exact);
      if (!(distance <= worst)) {
        worst = distance;
        where = points[i];
      }
    }
    RecordProperty(kFunctions[f].name, std::to_string(worst));
    EXPECT_LE(worst, kFunctions[f].tolerance) << kFunctions[f].name << " of " << where;
  }
  // Signs of zeros.
  Tensor zeros({static_cast<int64_t>(points.size())}, f32, Scalar::ofFloat(-0.0));
  std::vector<Tensor> ofZero = program.run({zeros});
  for (size_t f = 0; f < std::size(kFunctions); ++f)
    EXPECT_EQ(std::signbit(ofZero[f].elements[0].f), std::signbit(kFunctions[f].reference(-0.0)))
        << kFunctions[f].name << " of -0";
}

// Exponentials are scaled by vscalefps where the target has it, and by two products elsewhere: the same bits, also of
// results that are subnormal, and in remainders of vectors.
TEST(MathFunctions, ScaledExponentialsHaveTheSameBits) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  Location loc = UnknownLoc::get(context.get());
  if (!llvm::is_contained(CpuTarget::host().getInfo().features, "avx512vl"))
    GTEST_SKIP() << "this CPU has no AVX-512";
  std::vector<float> points = makePoints();
  for (float x = -104; x < -86; x += 0x1p-9f) // Results around the least normal number, and below.
    points.push_back(x);
  Type f32 = Float32Type::get(context.get());
  for (size_t count : {points.size(), size_t(7), size_t(1)}) {
    std::string array = "array<f32[" + std::to_string(count) + "]>", type = "!spmd." + array;
    std::string text = "func.func @main(%x: " + type + ") -> (" + type + ", " + type +
                       ") {\n  %e = array.exp %x : " + array.substr(5) + "\n  %t = array.exp2 %x : " + array.substr(5) +
                       "\n  return %e, %t : " + type + ", " + type + "\n}";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
    ASSERT_TRUE(module) << text;
    Tensor argument({static_cast<int64_t>(count)}, f32);
    for (size_t i = 0; i < count; ++i)
      argument.elements[i] = Scalar::ofFloat(points[points.size() - 1 - i]);
    std::vector<std::vector<Tensor>> results;
    for (const char *cpu : {"x86-64-v3", "x86-64-v4"})
      for (unsigned level : {0u, 1u, 3u}) {
        FailureOr<CpuTarget> target = CpuTarget::named(cpu, loc);
        ASSERT_TRUE(succeeded(target));
        target->optimizationLevel = level;
        CompiledKernels program(*module, *target);
        ASSERT_TRUE(program.isGood());
        results.push_back(program.run({argument}));
        for (size_t number = 0; number < 2; ++number)
          EXPECT_EQ(toBytes(results.back()[number]), toBytes(results.front()[number]))
              << cpu << ", -O" << level << ", " << count << " elements, result " << number;
      }
  }
}
