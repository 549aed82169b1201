// Compiles a program, looks at it, runs it, and catches a mistake.
#include <spmd/spmd.h>

#include <cstdio>

int main() {
  spmd::initialize({.num_processes = 1, .devices_per_process = 4});
  spmd::Function total = spmd::jit("mesh m(i=4)\nfn main(x: f32[8@i]) -> f32 { return sum(x * x); }");
  std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7};
  spmd::NamedSharding cut(spmd::make_mesh({4}, {"i"}), spmd::P("i"));
  std::printf("%g\n", total(spmd::device_put(spmd::view(values), cut))[0].item<float>());
  std::printf("%g bytes sent\n", total.cost_analysis().wire_bytes());
  auto traced = spmd::jit([](const spmd::Array &x) { return spmd::sum(x * x); });
  std::printf("%g traced\n", traced(spmd::device_put(spmd::view(values), cut)).item<float>());
  try {
    spmd::jit("mesh m(i=4)\nfn main(x: f32[8@i]) -> f32 { return sum(y); }").lower();
  } catch (const spmd::Error &error) {
    std::printf("%s\n", error.what());
  }
  spmd::shutdown();
}
