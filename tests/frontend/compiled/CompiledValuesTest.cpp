//===- CompiledValuesTest.cpp - JAX's answers from compiled, sharded programs ===//
//
// The expressions of data/values.txt and data/prelude.txt again, now through every stage: inputs are sharded, most of
// them unevenly, the program is partitioned, compiled and run, and the results are JAX's.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "tests/frontend/JaxData.h"

#include <gtest/gtest.h>

using namespace spmdc::testing;

namespace {

/// The axes over which an input of this rank is sharded: other dimensions for each number, so that all combinations
/// occur.
std::vector<std::string> axesOf(size_t number, size_t rank) {
  std::vector<std::string> axes(rank);
  if (rank > 0)
    axes[number % rank] = "a";
  if (rank > 1)
    axes[(number + 1) % rank] = "b";
  return axes;
}

/// Sizes of the axes a and b.
using Mesh = std::pair<int64_t, int64_t>;

/// Inputs and results are passed as f32, which holds every value of the data; the program casts.
std::string programOf(const JaxData &data, const Mesh &mesh, size_t begin, size_t end) {
  std::string parameters, body, results;
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    const auto &[name, input] = data.inputs[i];
    std::vector<std::string> axes = axesOf(i, input.shape.size());
    std::string type = "f32[";
    for (size_t dim = 0; dim < axes.size(); ++dim)
      type += (dim ? ", " : "") + std::to_string(input.shape[dim]) + (axes[dim].empty() ? "@_" : "@" + axes[dim]);
    parameters += (i ? ", " : "") + name + ": " + type + "]";
    if (input.dtype != "f32")
      body += "  let " + name + " = cast(" + name + ", " + input.dtype + ");\n";
  }
  for (size_t i = begin; i < end; ++i) {
    std::string name = "r" + std::to_string(i);
    body += "  let " + name + " = cast(" + data.cases[i].expression + ", f32);\n";
    results += name + ", ";
  }
  return "mesh m(a=" + std::to_string(mesh.first) + ", b=" + std::to_string(mesh.second) + ")\n" + data.declarations +
         "fn main(" + parameters + ") {\n" + body + "  return (" + results + ");\n}\n";
}

void runAll(const JaxData &data, const Mesh &sizes) {
  spmd::Mesh mesh = spmd::make_mesh({sizes.first, sizes.second}, {"a", "b"});
  std::vector<spmd::Array> arguments;
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    const Expected &input = data.inputs[i].second;
    std::vector<float> values(input.values.begin(), input.values.end());
    std::vector<spmd::DimSpec> dims;
    for (const std::string &axis : axesOf(i, input.shape.size()))
      dims.push_back(axis.empty() ? spmd::DimSpec(nullptr) : spmd::DimSpec(axis));
    arguments.push_back(
        spmd::device_put(spmd::view(values, input.shape), spmd::NamedSharding(mesh, spmd::P::of(std::move(dims)))));
  }
  constexpr size_t casesPerProgram = 40;
  for (size_t begin = 0; begin < data.cases.size(); begin += casesPerProgram) {
    size_t end = std::min(begin + casesPerProgram, data.cases.size());
    std::vector<spmd::Array> results = spmd::jit(programOf(data, sizes, begin, end)).call(arguments);
    ASSERT_EQ(results.size(), end - begin);
    for (size_t i = begin; i < end; ++i) {
      const JaxCase &test = data.cases[i];
      SCOPED_TRACE(test.expression);
      EXPECT_EQ(results[i - begin].shape(), test.expected.shape);
      std::vector<float> actual = results[i - begin].to_host<float>();
      ASSERT_EQ(actual.size(), test.expected.values.size());
      for (size_t k = 0; k < actual.size(); ++k)
        EXPECT_EQ(difference(actual[k], static_cast<float>(test.expected.values[k]), toleranceOf(test.expected.dtype)),
                  "")
            << "element " << k;
    }
  }
}

/// One process with four devices for all tests.
class CompiledValues : public ::testing::Test {
protected:
  void SetUp() override { spmd::initialize({.num_processes = 1, .devices_per_process = 4}); }
  void TearDown() override { spmd::shutdown(); }
};

TEST_F(CompiledValues, jax) {
  JaxData data;
  ASSERT_GE(data.cases.size(), 280u);
  runAll(data, {2, 2});
}

// No dimension divides over four devices.
TEST_F(CompiledValues, prelude) {
  JaxData data("prelude.txt");
  ASSERT_GE(data.cases.size(), 40u);
  for (const Mesh &mesh : {Mesh(2, 2), Mesh(4, 1), Mesh(1, 4)}) {
    SCOPED_TRACE("a=" + std::to_string(mesh.first) + ", b=" + std::to_string(mesh.second));
    runAll(data, mesh);
  }
}

} // namespace
