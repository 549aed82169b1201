//===- ProcessesTest.cpp - random programs in several processes -----------===//
//
// Real processes, joined through the coordinator, exchange data through shared memory and the network: each program
// runs in one process and in up to eight, on up to three hosts, and gives the evaluator's results, with the same bits
// everywhere. `spmd-fuzz --processes` does the same with thousands of programs.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Error.h"
#include "tests/programs/support/Differential.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

constexpr uint64_t kPrograms = 48;

// One test, so that its processes are started once.
TEST(Processes, RandomProgramsGiveTheSameBitsOnEveryLayout) {
  ProcessJobs jobs(SPMDC_BINARY_DIR "/bin/program-worker");
  int shared = 0;
  for (uint64_t seed = 200'000; seed < 200'000 + kPrograms; ++seed) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    loadDialects(context);
    GeneratorOptions generator;
    generator.seed = seed;
    generator.maxDevices = 8;
    Mode mode = seed % 3 ? Mode::Text : Mode::Everything;
    Case test = generateCase(context, generator, mode);
    CheckOptions options;
    options.processes = &jobs;
    jobs.prepare(test.program.mesh.deviceCount());
    std::string failure = checkCase(test, options);
    EXPECT_EQ(failure, "") << test.program.str() << "\nreduce it with: spmd-fuzz --processes --count 1 --seed " << seed
                           << " --max-devices 8 -O2 --mode " << (mode == Mode::Everything ? "everything" : "text");
    if (!failure.empty())
      jobs.reset();
    shared += test.program.mesh.deviceCount() > 1;
  }
  EXPECT_GT(shared, 30);
}

// The error of a process that cannot start arrives at the test.
TEST(Processes, AJobThatCannotBeStartedIsAnError) {
  ProcessJobs jobs("/nonexistent/program-worker");
  EXPECT_THROW(jobs.prepare(2), spmd::Error);
}

} // namespace
