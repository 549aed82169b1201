//===- RandomProgramsTest.cpp - thousands of random programs --------------===//
//
// Programs of fixed seeds through every station, evaluated; a failure prints the seed, and `spmd-fuzz --seed N` with
// it repeats the case and makes it smaller. Blocks of seeds are cases of their own, so that they run side by side.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Differential.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

constexpr uint64_t kSeedsPerBlock = 100;
/// Of programs in which everything is sharded at random, the ones that take the longest to partition.
constexpr uint64_t kShardedPerBlock = 25;
/// Compiled ones: code generation takes most of the time.
constexpr uint64_t kCompiledPerBlock = 20;

class RandomPrograms : public ::testing::TestWithParam<int> {
protected:
  void check(uint64_t firstSeed, uint64_t count, Mode mode, const CheckOptions &options) {
    for (uint64_t seed = firstSeed; seed < firstSeed + count; ++seed) {
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      loadDialects(context);
      GeneratorOptions generator;
      generator.seed = seed;
      Case test = generateCase(context, generator, mode);
      std::string failure = checkCase(test, options);
      EXPECT_EQ(failure, "") << test.program.str() << "\nmade smaller by: spmd-fuzz --count 1 --seed " << seed
                             << " --mode " << (mode == Mode::Everything ? "everything" : "text")
                             << (options.compiled ? " --compiled -O" + std::to_string(options.optimizationLevel) : "");
    }
  }
};

// What a person could have written: some annotations, the rest is propagated.
TEST_P(RandomPrograms, Text) { check(1 + GetParam() * kSeedsPerBlock, kSeedsPerBlock, Mode::Text, {}); }

// Every value sharded at random: what the partitioner must be able to take, however odd.
TEST_P(RandomPrograms, EverythingSharded) {
  check(1 + GetParam() * kShardedPerBlock, kShardedPerBlock, Mode::Everything, {});
}

// Through code generation, and run on all devices in this process.
TEST_P(RandomPrograms, Compiled) {
  CheckOptions options;
  options.compiled = true;
  options.optimizationLevel = static_cast<unsigned>(GetParam() % 4);
  uint64_t first = 100'000 + GetParam() * kCompiledPerBlock;
  check(first, kCompiledPerBlock * 3 / 4, Mode::Text, options);
  check(first + kCompiledPerBlock * 3 / 4, kCompiledPerBlock / 4, Mode::Everything, options);
}

// Under a cost model by which transfers run under products and cost no latency, so that rings pay.
TEST_P(RandomPrograms, Rings) {
  CheckOptions options;
  options.costModel.link = {0, 5e9, 1};
  options.costModel.flopsPerSecond = 1e10;
  options.costModel.memoryPerSecond = 1e18;
  uint64_t first = 200'000 + GetParam() * kSeedsPerBlock;
  check(first, kSeedsPerBlock / 20, Mode::Text, options);
  check(first + kSeedsPerBlock / 20, kSeedsPerBlock / 5, Mode::Everything, options);
  options.compiled = true;
  options.optimizationLevel = static_cast<unsigned>(GetParam() % 4);
  check(first, kCompiledPerBlock / 8, Mode::Everything, options);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range(0, 20));

} // namespace
