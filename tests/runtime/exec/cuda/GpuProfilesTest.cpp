//===- GpuProfilesTest.cpp - profiles with the times of CUPTI -------------===//
//
// Each kernel takes a microsecond as CUPTI tells it, less than in the emulator: a step whose time is that of events
// takes another time.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ProfileLog.h"
#include "runtime/support/Error.h"
#include "tests/runtime/device/cuda/doubles/FakeCublasLt.h"
#include "tests/runtime/exec/cuda/GpuRunFixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <map>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using cuda::FakeCupti;
using spmdc::CompiledProgram;
using spmdc::Poison;
using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::SizeIs;

namespace {

using Events = std::vector<ProfileEvent>;

class GpuProfiles : public GpuRunFixture {
protected:
  /// Runs the program, and returns the events by device.
  std::map<int64_t, Events> profile(CompiledProgram &program, ArrayRef<spmdc::Tensor> arguments,
                                    const std::vector<double> &expected) {
    auto inputs = program.upload(context, arguments, Poison::Nan), outputs = program.allocateResults();
    Events events;
    program.getExecutor().run(inputs, outputs, &events);
    EXPECT_EQ(download(program, outputs), expected);
    std::map<int64_t, Events> byDevice;
    for (const ProfileEvent &event : events)
      byDevice[event.device].push_back(event);
    for (const auto &[device, own] : byDevice)
      expectNested(own);
    return byDevice;
  }

  /// Each event is inside of one before it, or behind it.
  static void expectNested(const Events &events) {
    std::vector<int64_t> ends;
    int64_t begin = INT64_MIN;
    for (const ProfileEvent &event : events) {
      EXPECT_LE(begin, event.beginNs) << "the events are in order";
      begin = event.beginNs;
      EXPECT_LE(event.beginNs, event.endNs);
      while (!ends.empty() && ends.back() < event.endNs) {
        EXPECT_LE(ends.back(), event.beginNs) << "the events do not overlap";
        ends.pop_back();
      }
      ends.push_back(event.endNs);
    }
  }

  /// Returns the durations, in nanoseconds, of the steps with this name; `kernel`: of all that are kernels, which the
  /// plan names `add_1`.
  static std::vector<int64_t> durationsOf(const CompiledProgram &program, const Events &events,
                                          const std::string &name) {
    std::vector<int64_t> durations;
    for (const ProfileEvent &event : events) {
      const std::string &own = program.getExecutor().getStepInfo()[static_cast<size_t>(event.step)].name;
      if (own == name || (name == "kernel" && std::isdigit(static_cast<unsigned char>(own.back()))))
        durations.push_back(event.endNs - event.beginNs);
    }
    return durations;
  }

  /// Whether the times of computing steps, of one kernel each, are those of CUPTI.
  static bool hasTimesOfKernels(const CompiledProgram &program, const Events &events) {
    std::vector<int64_t> durations = durationsOf(program, events, "kernel");
    EXPECT_THAT(durations, Not(IsEmpty()));
    return std::all_of(durations.begin(), durations.end(), [](int64_t each) { return std::abs(each - 1000) <= 2; });
  }
};

/// The duration of one kernel. The conversion between clocks rounds.
auto isOneKernel() { return AllOf(Ge(998), Le(1002)); }

constexpr const char *kSort = "fn main(x: f32[4]) { return sort(x * 2.0)[::-1] + 1.0; }\n";

TEST_F(GpuProfiles, AStepTakesAsLongAsItsKernels) {
  GpuArtifact artifact = compileForGpus("p.spmd", kSort);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    GpuJob job(1, {.seed = seed, .hasCupti = true, .cupti = {.seed = seed, .sharesBuffers = seed % 2 == 0}});
    auto program = job.load(artifact);
    for (int run = 0; run < 2; ++run) {
      Events events = profile(*program, {floats({3, 1, 4, 2})}, {9, 7, 5, 3})[0];
      EXPECT_TRUE(hasTimesOfKernels(*program, events));
      EXPECT_THAT(durationsOf(*program, events, "sort"), AllOf(SizeIs(1), Each(Ge(998))));
      EXPECT_FALSE(job.getCupti().isRecording()) << "no profile is wanted any more";
    }
    // Runs without a profile have no records.
    int64_t works = job.getCupti().countWork();
    ASSERT_TRUE(succeeded(program->run(context, {floats({1, 2, 3, 4})}, Poison::Nan, error))) << error;
    EXPECT_EQ(job.getCupti().countWork(), works);
  }
}

TEST_F(GpuProfiles, BuffersThatOnlyForceReturns) {
  GpuArtifact artifact = compileForGpus("p.spmd", kSort);
  GpuJob job(1, {.hasCupti = true, .cupti = {.needsForce = true}});
  auto program = job.load(artifact);
  for (int run = 0; run < 2; ++run)
    EXPECT_TRUE(hasTimesOfKernels(*program, profile(*program, {floats({3, 1, 4, 2})}, {9, 7, 5, 3})[0]));
}

TEST_F(GpuProfiles, ALogKeepsRecordsOn) {
  GpuArtifact artifact = compileForGpus("p.spmd", kSort);
  GpuJob job(1, {.hasCupti = true});
  ProfileLog log;
  ExecutorOptions options = job.makeOptions();
  options.profileLog = &log;
  {
    auto program = job.load(artifact, options);
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(succeeded(program->run(context, {floats({3, 1, 4, 2})}, Poison::Nan, error))) << error;
      EXPECT_TRUE(job.getCupti().isRecording());
    }
    auto [runs, dropped] = log.take();
    ASSERT_EQ(runs.size(), 3u);
    for (const ProfileLog::Run &run : runs)
      EXPECT_TRUE(hasTimesOfKernels(*program, run.events));
  }
  EXPECT_FALSE(job.getCupti().isRecording());
}

TEST_F(GpuProfiles, ProductsOfCublasLt) {
  GpuArtifact artifact =
      compileForGpus("p.spmd", "fn main(x: f32[2, 2], y: f32[2, 2]) { return (x + 1.0) @ y @ y; }\n");
  cuda::FakeCublasLt blas;
  GpuJob job(1, {.blas = blas.getLibrary(), .hasCupti = true});
  auto program = job.load(artifact);
  std::vector<spmdc::Tensor> arguments = makeArguments(context, artifact->plan, 1, /*areExact=*/true);
  auto inputs = program->upload(context, arguments, Poison::Nan), outputs = program->allocateResults();
  Events events;
  program->getExecutor().run(inputs, outputs, &events);
  expectNested(events);
  EXPECT_THAT(durationsOf(*program, events, "matmul"), AllOf(SizeIs(2), Each(isOneKernel())));
}

TEST_F(GpuProfiles, LoopsAndBranchesEncloseTheirSteps) {
  GpuArtifact artifact = compileForGpus("p.spmd", R"(
fn main(x: f32[4]) {
  let y = for i in 0..3 carry (y = x) { yield sort(y * 2.0)[::-1]; };
  return while sum(z) < 1000.0 carry (z = y) { yield if z[0] > 20.0 { sort(z)[::-1] * 4.0 } else { sort(z + 1.0) }; };
}
)");
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    GpuJob job(1, {.seed = seed, .hasCupti = true, .cupti = {.seed = seed}});
    auto program = job.load(artifact);
    std::string text;
    FailureOr<SmallVector<spmdc::Tensor>> expected = program->run(context, {floats({3, 1, 4, 2})}, Poison::Nan, error);
    ASSERT_TRUE(succeeded(expected)) << error;
    std::vector<double> values;
    for (spmdc::Scalar element : (*expected)[0].elements)
      values.push_back(element.f);
    Events events = profile(*program, {floats({3, 1, 4, 2})}, values)[0];
    EXPECT_TRUE(hasTimesOfKernels(*program, events));
    for (const char *name : {"for", "while", "if"})
      EXPECT_THAT(durationsOf(*program, events, name), AllOf(Not(IsEmpty()), Each(Ge(2000)))) << name;
  }
}

TEST_F(GpuProfiles, CollectivesOfTwoDevices) {
  GpuArtifact artifact = compileForGpus("p.spmd", R"(
mesh m(a=2)
fn main(x: f32[6@a]) {
  let y = for i in 0..2 carry (y = x) { yield sort(y * 2.0); };
  return y - sum(y);
}
)");
  for (Transport transport : {Transport::Host, Transport::Nccl})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      GpuJob job(2, {.transport = transport, .seed = seed, .hasCupti = true, .cupti = {.seed = seed}});
      auto program = job.load(artifact);
      auto events = profile(*program, {floats({1, 2, 3, 4, 5, 6})}, {-80, -76, -72, -68, -64, -60});
      ASSERT_THAT(events, SizeIs(2));
      for (const auto &[device, own] : events) {
        EXPECT_TRUE(hasTimesOfKernels(*program, own)) << device;
        // An end that waits for a transfer by NCCL takes as long as its kernels, one at least; through the host, also
        // the time of the host.
        int64_t longest = 0;
        for (const ProfileEvent &event : own)
          if (program->getExecutor().getStepInfo()[static_cast<size_t>(event.step)].collective ==
              StepInfo::Collective::Done)
            longest = std::max(longest, event.endNs - event.beginNs);
        EXPECT_GE(longest, 998);
      }
    }
}

TEST_F(GpuProfiles, RecordsThatAreLostOrDamaged) {
  using enum FakeCupti::Fault;
  GpuArtifact artifact = compileForGpus("p.spmd", kSort);
  for (FakeCupti::Fault fault : {Dropped, Missing, NoTime, EndBeforeBegin, OtherTime, Size, Validity}) {
    GpuJob job(1, {.hasCupti = true});
    auto program = job.load(artifact);
    EXPECT_TRUE(hasTimesOfKernels(*program, profile(*program, {floats({3, 1, 4, 2})}, {9, 7, 5, 3})[0]));
    job.getCupti().fail(fault, 1);
    EXPECT_FALSE(hasTimesOfKernels(*program, profile(*program, {floats({3, 1, 4, 2})}, {9, 7, 5, 3})[0]));
    EXPECT_TRUE(hasTimesOfKernels(*program, profile(*program, {floats({3, 1, 4, 2})}, {9, 7, 5, 3})[0]));
  }
}

TEST_F(GpuProfiles, ACuptiThatRefuses) {
  GpuArtifact artifact = compileForGpus("p.spmd", kSort);
  GpuJob job(1, {.hasCupti = true});
  job.getCupti().refuse(cuda::kCuptiTakenByOther);
  auto program = job.load(artifact);
  for (int run = 0; run < 2; ++run)
    EXPECT_FALSE(hasTimesOfKernels(*program, profile(*program, {floats({3, 1, 4, 2})}, {9, 7, 5, 3})[0]));
}

// The next run works, and no region is left open (the double looks).
TEST_F(GpuProfiles, ARunThatFails) {
  GpuArtifact artifact = compileForGpus("p.spmd", kSort);
  GpuJob job(1, {.hasCupti = true});
  auto program = job.load(artifact);
  job.getDriver().failCall("LaunchKernel", 2, cuda::kLaunchFailed);
  auto inputs = program->upload(context, {floats({3, 1, 4, 2})}, Poison::Nan), outputs = program->allocateResults();
  Events events;
  EXPECT_THROW(program->getExecutor().run(inputs, outputs, &events), Error);
  EXPECT_TRUE(hasTimesOfKernels(*program, profile(*program, {floats({3, 1, 4, 2})}, {9, 7, 5, 3})[0]));
}

} // namespace
