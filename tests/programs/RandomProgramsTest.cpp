//===- RandomProgramsTest.cpp - two thousand random programs --------------===//
//
// Programs of fixed seeds through every station, evaluated; a failure prints the seed, and `spmd-fuzz --seed N` with
// it repeats the case. Blocks of seeds are cases of their own, so that they run side by side.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Differential.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

constexpr uint64_t kSeedsPerBlock = 50;
/// Compiled ones: code generation takes most of the time.
constexpr uint64_t kCompiledPerBlock = 8;

class RandomPrograms : public ::testing::TestWithParam<int> {
protected:
  void check(ShardingMode mode) {
    for (uint64_t i = 0; i < kSeedsPerBlock; ++i) {
      GeneratorOptions generator;
      generator.seed = 1 + static_cast<uint64_t>(GetParam()) * kSeedsPerBlock + i;
      generator.mode = mode;
      generator.maxOps = 8;
      EXPECT_EQ(checkSeed(generator, {}), "");
    }
  }
};

// What a person could have written: some annotations, the rest is propagated.
TEST_P(RandomPrograms, Annotated) { check(ShardingMode::Annotations); }

// Every value sharded at random: what the partitioner must be able to take, however odd.
TEST_P(RandomPrograms, EverythingSharded) { check(ShardingMode::Everything); }

// Through code generation, and run on all devices in this process.
TEST_P(RandomPrograms, Compiled) {
  for (uint64_t i = 0; i < kCompiledPerBlock; ++i) {
    GeneratorOptions generator;
    generator.seed = 100'000 + static_cast<uint64_t>(GetParam()) * kCompiledPerBlock + i;
    generator.mode = i % 2 ? ShardingMode::Everything : ShardingMode::Annotations;
    DifferentialOptions options;
    options.compiled = true;
    options.optimizationLevel = static_cast<unsigned>(i % 4);
    EXPECT_EQ(checkSeed(generator, options), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range(0, 20));

} // namespace
