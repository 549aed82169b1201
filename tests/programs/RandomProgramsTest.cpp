//===- RandomProgramsTest.cpp - thousands of random programs --------------===//
//
// Programs of fixed seeds go through every stage, and each stage is evaluated; a failure prints the seed, and
// `spmd-fuzz --seed N` repeats the case and reduces it. Blocks of seeds are tests of their own, so that they run in
// parallel.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Differential.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

constexpr uint64_t kSeedsPerBlock = 100;
/// Programs in which everything is sharded at random take the longest to partition.
constexpr uint64_t kShardedPerBlock = 25;
/// Code generation takes most of the time of compiled programs.
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
      EXPECT_EQ(failure, "") << test.program.str() << "\nreduce it with: spmd-fuzz --count 1 --seed " << seed
                             << " --mode " << (mode == Mode::Everything ? "everything" : "text")
                             << (options.compiled ? " --compiled -O" + std::to_string(options.optimizationLevel) : "");
    }
  }
};

// Programs that a user could have written: some annotations; the rest is propagated.
TEST_P(RandomPrograms, Text) { check(1 + GetParam() * kSeedsPerBlock, kSeedsPerBlock, Mode::Text, {}); }

// Every value is sharded at random: the partitioner must handle any combination.
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

// With a cost model in which transfers overlap with products and have no latency, so that collective matmuls pay.
TEST_P(RandomPrograms, CollectiveMatmuls) {
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

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range(0, 12));

} // namespace
