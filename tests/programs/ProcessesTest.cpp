//===- ProcessesTest.cpp - random programs in several processes -----------===//
//
// Real processes, joined through the coordinator, exchange data through shared memory and the network: each program
// runs in one process and in up to eight, on up to three hosts, and gives the evaluator's results, with the same bits
// everywhere. `spmd-fuzz --processes` does the same with thousands of programs.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Libdevice.h"
#include "runtime/support/Error.h"
#include "tests/programs/support/Differential.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

constexpr const char *kWorker = SPMDC_BINARY_DIR "/bin/program-worker";

/// Checks so many programs in these jobs; returns how many are for several devices.
int checkPrograms(uint64_t firstSeed, uint64_t programs, ProcessJobs &jobs, const CheckOptions &options,
                  const std::string &flag) {
  int shared = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + programs; ++seed) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    loadDialects(context);
    GeneratorOptions generator;
    generator.seed = seed;
    generator.maxDevices = 8;
    Mode mode = seed % 3 ? Mode::Text : Mode::Everything;
    Case test = generateCase(context, generator, mode);
    jobs.prepare(test.program.mesh.deviceCount());
    std::string failure = checkCase(test, options);
    EXPECT_EQ(failure, "") << test.program.str() << "\nreduce it with: spmd-fuzz " << flag << " --count 1 --seed "
                           << seed << " --max-devices 8 -O2 --mode "
                           << (mode == Mode::Everything ? "everything" : "text");
    if (!failure.empty())
      jobs.reset();
    shared += test.program.mesh.deviceCount() > 1;
  }
  return shared;
}

// One test, so that its processes are started once.
TEST(Processes, RandomProgramsGiveTheSameBitsOnEveryLayout) {
  ProcessJobs jobs(kWorker);
  CheckOptions options;
  options.processes = &jobs;
  EXPECT_GT(checkPrograms(200'000, 48, jobs, options, "--processes"), 30);
}

// The same for GPUs, which are emulated: NCCL's double connects the processes.
TEST(Processes, RandomProgramsOnGpus) {
  if (!findLibdevice(""))
    GTEST_SKIP() << "no libdevice: the CUDA toolkit is not installed";
  ProcessJobs jobs(kWorker, SPMDC_BINARY_DIR "/tests/libcuda");
  CheckOptions options;
  options.lastStage = Stage::Propagated;
  options.gpuProcesses = &jobs;
  EXPECT_GT(checkPrograms(210'000, 16, jobs, options, "--gpus"), 8);
}

// The error of a process that cannot start arrives at the test.
TEST(Processes, AJobThatCannotBeStartedIsAnError) {
  ProcessJobs jobs("/nonexistent/program-worker");
  EXPECT_THROW(jobs.prepare(2), spmd::Error);
}

} // namespace
