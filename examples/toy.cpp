//===- toy.cpp - one program, many processes ------------------------------===//
//
// The toy example of JAX's multi-process tutorial. Run it alone, or as four processes of two devices each:
//
//   SPMD_DEVICES_PER_PROCESS=8 build/release/bin/example-toy
//   SPMD_DEVICES_PER_PROCESS=2 build/release/bin/spmdc launch -n 4 -- build/release/bin/example-toy
//
//===----------------------------------------------------------------------===//

#include "spmd/spmd.h"

#include <cstdio>
#include <numeric>

int main() {
  try {
    // The environment describes the cluster here; the same as arguments: {.coordinator_address = "10.0.0.1:4711", ...}.
    spmd::initialize();
    int process = spmd::process_index();

    // A mesh over the devices of all processes, and an array over that mesh.
    spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"i", "j"});
    std::vector<float> data(32);
    std::iota(data.begin(), data.end(), 0.0f);
    spmd::Array x = spmd::device_put(spmd::view(data, {4, 8}), spmd::NamedSharding(mesh, spmd::P("i", "j")));

    // Each process holds the shards of its own devices.
    for (const spmd::Shard &shard : x.addressable_shards())
      std::printf("process %d: %s has %s\n", process, shard.device.str().c_str(), shard.data.str().c_str());

    // One program, compiled at its first call and partitioned over the devices. Its result is replicated.
    spmd::Function total = spmd::jit("mesh m(i=4, j=2)\n"
                                     "fn main(x: f32[4@i, 8@j]) -> f32 { return sum(sin(x)); }\n");
    std::printf("process %d: the sum is %.8f\n", process, total(x)[0].item<float>());
    spmd::shutdown();
    return 0;
  } catch (const spmd::Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
