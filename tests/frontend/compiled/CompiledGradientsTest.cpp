//===- CompiledGradientsTest.cpp - JAX's gradients from compiled, sharded programs ===//
//
// The cases of data/gradients.txt through every stage, in f64, on meshes that shard the inputs evenly, unevenly and
// with empty shards.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "tests/frontend/GradientData.h"

#include <gtest/gtest.h>

using namespace spmdc::testing;

namespace {

/// The axes of an input's dimensions: rows over `a`, columns over `b`, vectors over `b`.
std::vector<std::string> axesOf(size_t rank) {
  if (rank == 2)
    return {"a", "b"};
  return std::vector<std::string>(rank, "b");
}

std::string programOf(const GradientData &data, int64_t a, int64_t b, size_t begin, size_t end, size_t &count) {
  std::string functions, parameters, body, results;
  for (const auto &[name, input] : data.inputs) {
    std::vector<std::string> axes = axesOf(input.shape.size());
    std::string type = "f64[";
    for (size_t dim = 0; dim < axes.size(); ++dim)
      type += (dim ? ", " : "") + std::to_string(input.shape[dim]) + "@" + axes[dim];
    parameters += (parameters.empty() ? "" : ", ") + name + ": " + type + "]";
  }
  for (size_t i = begin; i < end; ++i) {
    functions += data.functionsOf(i);
    for (const char *kind : {"f", "g"}) {
      if (*kind == 'g' && data.cases[i].second.empty())
        continue;
      std::string names;
      for (size_t k = 0; k < data.inputs.size(); ++k)
        names += (k ? ", r" : "r") + std::to_string(count++);
      body += "  let (" + names + ") = " + data.gradientOf(kind + std::to_string(i)) + ";\n";
      results += names + ", ";
    }
  }
  return "mesh m(a=" + std::to_string(a) + ", b=" + std::to_string(b) + ")\n" + functions + "fn main(" + parameters +
         ") {\n" + body + "  return (" + results + ");\n}\n";
}

void compareOn(int64_t a, int64_t b) {
  SCOPED_TRACE("mesh a=" + std::to_string(a) + ", b=" + std::to_string(b));
  GradientData data;
  ASSERT_GE(data.cases.size(), 100u);
  spmd::Mesh mesh = spmd::make_mesh({a, b}, {"a", "b"});
  std::vector<spmd::Array> arguments;
  for (const auto &[name, input] : data.inputs) {
    std::vector<spmd::DimSpec> dims;
    for (const std::string &axis : axesOf(input.shape.size()))
      dims.emplace_back(axis);
    arguments.push_back(spmd::device_put(spmd::view(input.values, input.shape),
                                         spmd::NamedSharding(mesh, spmd::P::of(std::move(dims)))));
  }
  constexpr size_t casesPerProgram = 10;
  for (size_t begin = 0; begin < data.cases.size(); begin += casesPerProgram) {
    size_t end = std::min(begin + casesPerProgram, data.cases.size()), count = 0;
    std::vector<spmd::Array> results = spmd::jit(programOf(data, a, b, begin, end, count)).call(arguments);
    ASSERT_EQ(results.size(), count);
    size_t next = 0;
    for (size_t i = begin; i < end; ++i)
      for (const std::vector<Expected> *expected : {&data.cases[i].first, &data.cases[i].second})
        for (const Expected &gradient : *expected)
          EXPECT_EQ(gradientDifference(results[next++].to_host<double>(), gradient), "")
              << data.cases[i].expression << (expected == &data.cases[i].second ? ", twice" : "");
  }
}

TEST(CompiledGradients, jax) {
  spmd::initialize({.num_processes = 1, .devices_per_process = 6});
  compareOn(2, 3);
  compareOn(3, 2);
  compareOn(6, 1);
  spmd::shutdown();
}

} // namespace
