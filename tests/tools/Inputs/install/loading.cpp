// Runs what `spmdc compile` wrote: the runtime alone.
#include <spmd/spmd.h>

#include <cstdio>

int main(int, char **arguments) {
  spmd::initialize({.num_processes = 1, .devices_per_process = 4});
  spmd::Function total = spmd::load(arguments[1]);
  std::vector<float> values = {1, 1, 1, 1, 1, 1, 1, 1};
  std::printf("%g\n", total(spmd::device_put(spmd::view(values), total.parameters()[0].sharding))[0].item<float>());
  spmd::shutdown();
}
