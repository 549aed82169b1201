//===- ReshapesTest.cpp - reshapes, executed ------------------------------===//
//
// Random reshapes between arrays with random shardings and sizes: every stage gives the results of the unpartitioned
// program, and devices send no more bytes than the elements that they need and do not hold.
//
//===----------------------------------------------------------------------===//

#include "runtime/sharding/DimMoves.h"
#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

class Reshapes : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  /// An array with these factors, some of which are merged into one dimension.
  struct Array {
    std::string type, sizes; ///< `f32[6@a, 4]` and `[6, 4]`.
    spmd::ShardedShape sharded;
  };

  /// Dimensions that are not sharded are closed, or open to propagation if `isOpen`.
  Array makeArray(const std::vector<int64_t> &factors, const std::string &element, bool isOpen = false) {
    Array array;
    std::vector<int64_t> &shape = array.sharded.shape;
    for (int64_t factor : factors) {
      if (shape.empty() || random.integer(0, 1) == 0)
        shape.push_back(1);
      shape.back() *= factor;
    }
    auto rank = static_cast<int64_t>(shape.size());
    array.sharded.sharding.dims.resize(shape.size());
    bool isMajorFirst = random.integer(0, 1) == 0;
    for (const std::string axis : {isMajorFirst ? "a" : "b", isMajorFirst ? "b" : "a"})
      if (int64_t dim = random.integer(0, rank); dim < rank)
        array.sharded.sharding.dims[static_cast<size_t>(dim)].push_back({axis});
    std::string uncut = isOpen ? "" : "@_";
    for (size_t d = 0; d < shape.size(); ++d) {
      std::string axes;
      for (const spmd::AxisRef &axis : array.sharded.sharding.dims[d])
        axes += (axes.empty() ? "" : ", ") + axis.name;
      array.sizes += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
      array.type += (d == 0 ? "" : ", ") + std::to_string(shape[d]) + (axes.empty() ? uncut : "@(" + axes + ")");
    }
    array.sizes = "[" + array.sizes + "]";
    array.type = element + "[" + array.type + "]";
    return array;
  }

  std::vector<int64_t> makeFactors() {
    std::vector<int64_t> factors;
    for (int64_t count = random.integer(1, 4); count > 0; --count)
      factors.push_back(random.pick({1, 2, 3, 4, 5, 6, 7, 8}));
    return factors;
  }

  std::string makeMesh() {
    mesh = {{{"a", random.pick({1, 2, 3, 4})}, {"b", random.pick({1, 2})}}};
    return "mesh m(a=" + std::to_string(mesh.axes[0].size) + ", b=" + std::to_string(mesh.axes[1].size) + ")\n";
  }

  Random random{static_cast<uint64_t>(91000 + GetParam())};
  spmd::MeshShape mesh;
};

constexpr int kBlocks = 2, kPerBlock = 60, kCompiledEvery = 4;

TEST_P(Reshapes, SendWhatDevicesDoNotHave) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::vector<int64_t> factors = makeFactors();
    std::string element = random.pick(std::vector<std::string>{"f32", "i32", "bool"});
    Array from = makeArray(factors, element), to = makeArray(factors, element);
    std::string text =
        makeMesh() + "fn main(x: " + from.type + ") -> " + to.type + " {\n  return reshape(x, " + to.sizes + ");\n}\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    double bound = spmd::missingElements(mesh, from.sharded, to.sharded) * (element == "bool" ? 1 : 4);
    EXPECT_LE(sentBytes(*module), bound / static_cast<double>(mesh.deviceCount()));
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

// A reshape and its inverse, and the gradient of both.
TEST_P(Reshapes, WithinPrograms) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::vector<int64_t> factors = makeFactors();
    Array x = makeArray(factors, "f32", i % 2 == 0), y = makeArray(factors, "f32", i % 2 == 0);
    Array z = makeArray(factors, "f32", i % 2 == 0);
    std::string onto = "reshape(x, " + y.sizes + ")", behind = "reshape(y, " + z.sizes + ")";
    std::string text = makeMesh() + "fn f(x, y) { return sum(" + onto + " * y + y * 3.0); }\nfn main(x: " + x.type +
                       ", y: " + y.type + ") -> " +
                       random.pick(std::vector<std::string>{
                           z.type + " {\n  let y = " + onto + " + y;\n  return " + behind + " * 2.0;\n",
                           x.type + " {\n  return grad(f)(x, y) + x;\n",
                           z.type + " {\n  let y = roll(" + onto + ", 1, axis=0);\n  return " + behind + ";\n",
                       }) +
                       "}\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

// A slice of a padded array that consists of padding alone: no elements of the array are sent.
TEST_P(Reshapes, OfPaddingAlone) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::string rows = std::to_string(random.integer(1, 14)), low = std::to_string(random.integer(12, 20));
    std::string high = std::to_string(random.integer(12, 20)),
                part = random.pick(std::vector<std::string>{":12", "-12:"});
    std::string text = makeMesh() + "fn main(x: f32[2, " + rows + random.pick(std::vector<std::string>{"@a", "@_"}) +
                       ", 3@b]) { return reshape(pad(x, [(0, 0), (" + low + ", " + high + "), (0, 0)], 4.0)[:, " +
                       part + "], [2, 3, 4, 3]); }\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Reshapes, ::testing::Range(0, kBlocks));

} // namespace
