//===- CountedCalls.cpp - calls of artifacts, between marks for valgrind --===//
//
//   counted-calls CALLS ARTIFACT...
//
// Loads each artifact in turn, on one device and one thread, calls it once, and then CALLS times between two requests
// to callgrind, which writes a file with the instructions in between and the artifact's path. The values of arguments
// are fixed.
//
//===----------------------------------------------------------------------===//

#include "spmd/spmd.h"

#include <valgrind/callgrind.h>

#include <bit>
#include <cstdio>
#include <cstdlib>

namespace {

/// An array of numbers from -2 to 2, in the order of a linear congruential generator; of f16 from 1 to 2; of integers
/// from 0 to 127, which are indices in every program.
spmd::Array argumentOf(const spmd::ValueDescription &parameter) {
  size_t count = 1;
  for (int64_t size : parameter.shape)
    count *= static_cast<size_t>(size);
  std::vector<float> wide(count);
  std::vector<int32_t> whole(count);
  std::vector<uint16_t> half(count);
  uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223; // Numerical Recipes.
    wide[i] = static_cast<float>(state >> 8) * 0x1p-22f - 2;
    whole[i] = static_cast<int32_t>(state >> 25);
    half[i] = parameter.dtype == spmd::DType::F16 ? 0x3c00 | (state >> 22)
                                                  : static_cast<uint16_t>(std::bit_cast<uint32_t>(wide[i]) >> 16);
  }
  const void *data = wide.data();
  if (parameter.dtype == spmd::DType::I32)
    data = whole.data();
  else if (parameter.dtype != spmd::DType::F32)
    data = half.data();
  return spmd::device_put(spmd::ArrayView{parameter.dtype, parameter.shape, data}, parameter.sharding);
}

void count(const char *path, int calls) {
  spmd::Function function = spmd::load(path);
  std::vector<spmd::Array> arguments;
  for (const spmd::ValueDescription &parameter : function.parameters())
    arguments.push_back(argumentOf(parameter));
  auto call = [&] {
    for (const spmd::Array &result : function.call(arguments))
      result.block_until_ready();
  };
  call();
  CALLGRIND_DUMP_STATS; // Counts begin anew after it, on all threads; CALLGRIND_ZERO_STATS would clear this thread's.
  for (int i = 0; i < calls; ++i)
    call();
  CALLGRIND_DUMP_STATS_AT(path);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: counted-calls CALLS ARTIFACT...\n");
    return 2;
  }
  try {
    for (int i = 2; i < argc; ++i)
      count(argv[i], std::atoi(argv[1]));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "counted-calls: error: %s\n", error.what());
    return 1;
  }
}
