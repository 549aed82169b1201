//===- GradientProgramsTest.cpp - random gradients against differences ----===//
//
// Random functions (generator/DifferentiableFunction.h) with loops, branches, checkpoints and shard_map, on random
// meshes, in f64 through the reference evaluator: the gradient, and the gradient of the sum of its squares, against
// central differences. RandomProgramsTest tests that compiled code agrees with the evaluator.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "tests/programs/generator/DifferentiableFunction.h"
#include "tests/programs/support/Case.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>

using namespace spmdc;

namespace {

/// Returns the number of programs; SPMD_TEST_PROGRAMS raises it.
uint64_t countPrograms() {
  const char *count = std::getenv("SPMD_TEST_PROGRAMS");
  return count ? std::strtoull(count, nullptr, 10) : 150;
}

std::string named(std::string text) {
  for (size_t at = text.find("%F"); at != std::string::npos; at = text.find("%F"))
    text.replace(at, 2, "f");
  return text;
}

class GradientPrograms : public ::testing::Test {
protected:
  GradientPrograms() { loadDialects(context); }

  mlir::OwningOpRef<mlir::ModuleOp> compile(const std::string &text) {
    Diagnostics diagnostics;
    auto module = importProgram(text, "program.spmd", {}, context, diagnostics);
    if (module)
      module = differentiated(*module);
    if (!module)
      ADD_FAILURE() << diagnostics.str() << text;
    return module;
  }

  std::vector<Scalar> evaluate(mlir::ModuleOp module, const Tensor &point) {
    auto results = evaluateGlobal(*module.getOps<mlir::func::FuncOp>().begin(), {point});
    if (failed(results)) {
      ADD_FAILURE() << "cannot be evaluated";
      return {Scalar()};
    }
    return (*results)[0].elements;
  }

  /// Checks at most twelve elements, spread over the array.
  void expectSlope(mlir::ModuleOp value, mlir::ModuleOp gradient, Tensor point, double steepness) {
    std::vector<Scalar> slopes = evaluate(gradient, point);
    ASSERT_EQ(slopes.size(), point.elements.size());
    constexpr double step = 1e-5;
    size_t stride = std::max<size_t>(point.elements.size() / 12, 1);
    for (size_t i = 0; i < slopes.size(); i += stride) {
      double &element = point.elements[i].f, saved = element;
      element = saved + step;
      double above = evaluate(value, point)[0].f;
      element = saved - step;
      double below = evaluate(value, point)[0].f;
      element = saved;
      EXPECT_NEAR(slopes[i].f, (above - below) / (2 * step), 1e-6 * std::max(1.0, steepness)) << "element " << i;
    }
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

TEST_F(GradientPrograms, AreTheSlope) {
  int regions = 0, regionsWithin = 0;
  for (uint64_t seed = 1; seed <= countPrograms(); ++seed) {
    Random random(seed);
    spmd::MeshShape mesh{{{"a", random.integer(1, 4)}, {"b", random.integer(1, 3)}}};
    std::vector<int64_t> shape;
    for (int64_t rank = random.integer(0, 3); rank > 0; --rank)
      shape.push_back(random.integer(1, 4) * (random.chance(60) ? mesh.axes[0].size : 1));
    DifferentiableFunction f = makeDifferentiable(random, shape, mesh);
    std::string type = "f64[";
    for (size_t i = 0; i < shape.size(); ++i)
      type += (i ? ", " : "") + std::to_string(shape[i]);
    type += "]";
    std::string text = "mesh m(a=" + std::to_string(mesh.axes[0].size) + ", b=" + std::to_string(mesh.axes[1].size) +
                       ")\n" + named(f.text) +
                       "fn g(p) { let d = grad(f)(p); return sum(d * d); }\nfn main(p: " + type + ") { return ";
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    Tensor point(shape, mlir::Float64Type::get(&context));
    for (Scalar &element : point.elements)
      // Away from 0, where functions with `where` jump.
      element.f = (0.1 + 1.4 * random.real()) * (random.chance(50) ? 1 : -1);
    auto value = compile(text + "f(p); }"), first = compile(text + "grad(f)(p); }"), square = compile(text + "g(p); }"),
         second = compile(text + "grad(g)(p); }");
    ASSERT_TRUE(value && first && square && second);
    double largest = 1, sum = 1;
    for (const Scalar &slope : evaluate(*first, point)) {
      largest = std::max(largest, std::abs(slope.f));
      sum += slope.f * slope.f;
    }
    expectSlope(*value, *first, point, largest * static_cast<double>(point.elements.size()));
    expectSlope(*square, *second, point, 100 * sum);
    for (const char *word : {"for ", "if ", "checkpoint", "shard_map"})
      regions += text.find(word) != std::string::npos;
    regionsWithin += text.find("let v = shard_map") != std::string::npos;
    if (HasFailure())
      break;
  }
  EXPECT_GT(regionsWithin, 5);
  EXPECT_GT(regions, 100);
}

} // namespace
