//===- SplitHalosTest.cpp - random windows, split and not -----------------===//
//
// The oracle is the exchange itself: the evaluator of process grids runs both programs on all devices.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/ProcessGridEvaluator.h"
#include "passes/collectives/Passes.h"
#include "passes/cost/CostModel.h"
#include "tests/passes/support/ParsedFunction.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <cstdlib>
#include <random>

using namespace mlir;

namespace spmdc {
namespace {

class SplitHalosTest : public ParsedFunction {
protected:
  int64_t pick(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random); }

  struct Dim {
    int64_t source = 0, target = 0, local = 0, window = 0;
    std::string axes, move;
  };

  /// A dimension whose shards, on `devices` devices, move by a random window or shift, or not at all.
  Dim makeDim(const std::string &axes, int64_t devices) {
    Dim dim;
    dim.axes = axes;
    dim.local = pick(1, 5);
    dim.source = dim.local * devices - (pick(0, 5) == 0 ? pick(0, dim.local - 1) : 0);
    dim.local = (dim.source + devices - 1) / devices;
    dim.target = dim.source;
    dim.window = dim.local;
    int64_t kind = pick(0, 5), shift = pick(-4, 4);
    if (kind == 0)
      return dim;
    std::string fields = "shift = " + std::to_string(shift);
    if (kind > 2) { // A window, of a result with the same number of elements or with half of them.
      dim.window = pick(1, 9);
      dim.target = dim.window * devices;
      int64_t step = kind == 5 && dim.source % (2 * devices) == 0 ? 2 : 1;
      fields += ", length = " + std::to_string(dim.window) + ", step = " + std::to_string(step) +
                ", base = " + std::to_string(dim.source / step);
    }
    if (pick(0, 2) == 0) {
      int64_t begin = pick(0, std::min<int64_t>(3, dim.target)),
              end = dim.target - pick(0, std::min<int64_t>(3, dim.target - begin));
      fields += ", begin = " + std::to_string(begin) + ", end = " + std::to_string(end);
    }
    if (pick(0, 3) == 0)
      fields += ", wraps = true";
    dim.move = fields;
    return dim;
  }

  /// Parses an exchange of two dimensions.
  void parseExchange() {
    static const std::pair<std::string, std::array<int64_t, 2>> meshes[] = {
        {"a=4, b=1", {4, 1}}, {"a=2, b=2", {2, 2}}, {"a=3, b=2", {3, 2}}, {"a=2, b=4", {2, 4}}};
    const auto &[axes, sizes] = meshes[pick(0, 3)];
    Dim rows = makeDim("a", sizes[0]), columns = makeDim("b", sizes[1]);
    auto arrayOf = [&](int64_t r, int64_t c) {
      return "f32[" + std::to_string(r) + "@a, " + std::to_string(c) + "@b]";
    };
    auto local = [](int64_t r, int64_t c) { return "f32[" + std::to_string(r) + ", " + std::to_string(c) + "]"; };
    parse(axes, {local(rows.local, columns.local)},
          "%e = spmd.exchange %x0 over <a, b> from !spmd.array<" + arrayOf(rows.source, columns.source) +
              "> to !spmd.array<" + arrayOf(rows.target, columns.target) + "> moves [#spmd.move<" + rows.move +
              ">, #spmd.move<" + columns.move + ">] : <" + local(rows.local, columns.local) + "> -> <" +
              local(rows.window, columns.window) + ">\n%y = array.add %e, %e : <" + local(rows.window, columns.window) +
              ">",
          local(rows.window, columns.window));
  }

  DeviceTensors evaluate(const DeviceTensors &arguments) {
    auto results = ProcessGridEvaluator(getMesh(*module)).evaluate(function(), {arguments});
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? (*results)[0] : DeviceTensors();
  }

  /// Different elements on all devices.
  DeviceTensors makeArguments() {
    auto type = cast<ArrayType>(argument(0).getType());
    DeviceTensors arguments;
    double next = 1;
    for (int64_t device = 0; device < mesh().deviceCount(); ++device) {
      Tensor tensor(type.getShape(), type.getElementType());
      for (Scalar &element : tensor.elements)
        element = Scalar::ofFloat(next++);
      arguments.push_back(std::move(tensor));
    }
    return arguments;
  }

  std::mt19937 random;
};

TEST_F(SplitHalosTest, RandomWindows) {
  const char *given = std::getenv("SPMD_SEED"), *count = std::getenv("SPMD_CASES");
  unsigned seed = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 1128u;
  int cases = count ? std::atoi(count) : 2000, split = 0, inBoth = 0;
  CostModel free;
  free.link.latencyMicroseconds = 0;
  for (int i = 0; i < cases; ++i) {
    random.seed(seed + static_cast<unsigned>(i));
    parseExchange();
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    SCOPED_TRACE("SPMD_SEED=" + std::to_string(seed + static_cast<unsigned>(i)) + "\n" + text);
    DeviceTensors arguments = makeArguments();
    DeviceTensors expected = evaluate(arguments);
    free.attachTo(*module);
    PassManager passes(&context);
    passes.addPass(createSplitHalos());
    ASSERT_TRUE(succeeded(passes.run(*module)) && succeeded(verify(*module)));
    DeviceTensors actual = evaluate(arguments);
    ASSERT_EQ(actual.size(), expected.size());
    for (auto [now, before] : llvm::zip(actual, expected))
      for (auto [x, y] : llvm::zip(now.elements, before.elements))
        ASSERT_TRUE(x.f == y.f || std::isnan(y.f)) << x.f << " instead of " << y.f; // NaN: padding of the result.
    int concatenations = 0;
    module->walk([&](ConcatenateOp) { ++concatenations; });
    split += concatenations > 0;
    inBoth += concatenations > 1;
  }
  // The distribution is such that the pass is tested: a quarter of the cases, and halos in both dimensions.
  EXPECT_GT(split, cases / 5);
  EXPECT_GT(inBoth, cases / 40);
}

} // namespace
} // namespace spmdc
