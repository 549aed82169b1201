//===- trace.cpp - training a network written in C++ ----------------------===//
//
// A step of training of a network with two layers, traced from C++ and partitioned over a mesh: rows of a batch over
// `data`, the hidden layer over `model`. Run it alone, or as four processes of two devices each:
//
//   SPMD_DEVICES_PER_PROCESS=8 build/release/bin/example-trace
//   SPMD_DEVICES_PER_PROCESS=2 build/release/bin/spmdc launch -n 4 -- build/release/bin/example-trace
//
//===----------------------------------------------------------------------===//

#include "spmd/spmd.h"

#include <cmath>
#include <cstdio>

namespace {

constexpr int64_t kRows = 256, kInputs = 16, kHidden = 64;

struct Network {
  spmd::Array in, bias, out;
  auto tree_members() { return std::tie(in, bias, out); }
};

/// Numbers between -1 and 1 that look random, the same on all processes.
std::vector<float> noise(int64_t count, uint32_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1);
  }
  return values;
}

spmd::Array loss(const Network &network, const spmd::Array &x, const spmd::Array &y) {
  spmd::Array hidden = spmd::tanh(spmd::matmul(x, network.in) + network.bias);
  return spmd::mean(spmd::power(spmd::matmul(hidden, network.out) - y, 2));
}

} // namespace

int main() {
  try {
    spmd::initialize();
    spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"data", "model"});
    auto put = [&](const std::vector<float> &values, std::vector<int64_t> shape, spmd::P spec) {
      return spmd::device_put(spmd::view(values, std::move(shape)), spmd::NamedSharding(mesh, std::move(spec)));
    };
    spmd::Array x = put(noise(kRows * kInputs, 1), {kRows, kInputs}, spmd::P("data"));
    // Operations outside of a traced function run as separate programs.
    spmd::Array y = spmd::sin(3 * spmd::sum(x, 1, /*keepdims=*/true) / kInputs);
    Network network = {put(noise(kInputs * kHidden, 2), {kInputs, kHidden}, spmd::P(nullptr, "model")) * 0.25,
                       put(std::vector<float>(kHidden), {kHidden}, spmd::P("model")),
                       put(noise(kHidden, 3), {kHidden, 1}, spmd::P("model")) * 0.125};

    // Traced and compiled at the first call, for the types and shardings of its arguments.
    auto step = spmd::jit([](const Network &network, const spmd::Array &x, const spmd::Array &y) {
      auto [value, derivative] = spmd::value_and_grad(loss)(network, x, y);
      Network next =
          spmd::tree_map([](const spmd::Array &p, const spmd::Array &g) { return p - 0.2 * g; }, network, derivative);
      return std::pair(next, value);
    });
    double first = 0, last = 0;
    for (int i = 0; i < 100; ++i) {
      auto [next, value] = step(network, x, y);
      network = next;
      if (i == 0)
        first = value.item<float>();
      last = i == 99 ? value.item<float>() : 0;
    }
    if (spmd::process_index() == 0) {
      std::printf("loss %.3f at first, %.3f after 100 steps\n", first, last);
      std::printf("the hidden layer's weights are sharded as %s\n", network.in.sharding().spec().str().c_str());
    }
    spmd::shutdown();
    return 0;
  } catch (const spmd::Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
