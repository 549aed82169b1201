//===- GpuFailuresTest.cpp - errors of the driver and of NCCL -------------===//
//
// The error of a failed call names the action and the source line; all devices of a job end; objects that were created
// before the error are freed, which the fake driver checks in its destructor.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Error.h"
#include "tests/programs/support/Case.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::CompiledProgram;
using spmdc::Poison;
using testing::AllOf;
using testing::HasSubstr;

namespace {

constexpr const char *kProgram = "fn main(x: f32[64]) {\n"
                                 "  let y = sort(x * 2.0);\n"
                                 "  return y + 1.0;\n"
                                 "}\n";
constexpr const char *kMeshProgram = "mesh m(a=2)\n"
                                     "fn main(x: f32[64@a]) {\n"
                                     "  let y = for i in 0..3 carry (y = x) {\n"
                                     "    yield y - sum(y);\n"
                                     "  };\n"
                                     "  return sort(y);\n"
                                     "}\n";

/// For devices that wait for one another: longer than any loaded machine takes.
constexpr std::chrono::seconds kPatience(60);

class GpuFailures : public testing::Test {
protected:
  GpuFailures() { spmdc::loadDialects(context); }

  /// Returns the error of a run, or an empty text.
  std::string run(CompiledProgram &program, const GpuArtifact &artifact) {
    auto arguments = makeArguments(context, artifact->plan, 1, true);
    try {
      auto inputs = program.upload(context, arguments, Poison::Nan), outputs = program.allocateResults();
      program.getExecutor().run(inputs, outputs);
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(GpuFailures, LaunchesNameTheirLine) {
  GpuArtifact artifact = compileForGpus("f.spmd", kProgram);
  GpuJob job(1);
  auto program = job.load(artifact);
  job.getDriver().failCall("LaunchKernel", 1, cuda::kInvalidValue);
  EXPECT_THAT(run(*program, artifact), HasSubstr("f.spmd:2:"));
  job.getDriver().failCall("LaunchKernel", 1, cuda::kInvalidValue);
  std::string error = run(*program, artifact);
  EXPECT_THAT(error, HasSubstr("cuda:0: the kernel '"));
  EXPECT_THAT(error, HasSubstr("does not start: CUDA_ERROR_INVALID_VALUE"));
  // The failed call loses nothing.
  EXPECT_EQ(run(*program, artifact), "");
  EXPECT_EQ(run(*program, artifact), "");
}

// Also of a step behind others with which it becomes a graph: in the first run, and while the graph is captured.
TEST_F(GpuFailures, LaunchesBehindOthersNameTheirLine) {
  GpuArtifact artifact = compileForGpus("f.spmd", kProgram);
  for (int runs : {1, 2}) {
    GpuJob job(1);
    int64_t launches = job.getDriver().countCalls("LaunchKernel");
    EXPECT_EQ(run(*job.load(artifact), artifact), "");
    launches = job.getDriver().countCalls("LaunchKernel") - launches;
    ASSERT_GE(launches, 3);
    auto program = job.load(artifact);
    job.getDriver().failCall("LaunchKernel", runs * launches, cuda::kInvalidValue);
    for (int i = 1; i < runs; ++i)
      EXPECT_EQ(run(*program, artifact), "");
    EXPECT_THAT(run(*program, artifact), HasSubstr("f.spmd:3:")) << runs;
  }
}

// The line that the program had come to is that of the kernel at fault or one behind it, also when it runs in a graph.
TEST_F(GpuFailures, KernelsOfGraphsNameALineBehindThem) {
  GpuArtifact artifact = compileForGpus("f.spmd", kProgram);
  for (int runs : {0, 1, 2}) {
    GpuJob job(1);
    auto program = job.load(artifact);
    for (int i = 0; i < runs; ++i)
      EXPECT_EQ(run(*program, artifact), "");
    job.getDriver().failKernel(0, 1);
    EXPECT_THAT(run(*program, artifact), HasSubstr("f.spmd:3:")) << runs;
    EXPECT_EQ(job.getDriver().countCalls("GraphLaunch"), runs);
  }
}

// Each call of a run fails once, in the first run and in the run that creates its graph: an error each time, the next
// run works, and nothing is left over.
TEST_F(GpuFailures, EveryCallOfARun) {
  GpuArtifact artifact = compileForGpus("f.spmd", kProgram);
  for (const char *entry : {"LaunchKernel", "StreamQuery", "MemcpyDtoDAsync", "MemsetD8Async", "StreamBeginCapture",
                            "StreamEndCapture", "GraphInstantiate", "GraphLaunch"})
    for (int64_t call = 1; call <= 3; ++call) {
      SCOPED_TRACE(std::string(entry) + ", call " + std::to_string(call));
      GpuJob job(1);
      auto program = job.load(artifact);
      job.getDriver().failCall(entry, call, cuda::kInvalidValue);
      int failed = 0;
      for (int i = 0; i < 5; ++i) {
        std::string error = run(*program, artifact);
        failed += !error.empty();
        if (!error.empty())
          EXPECT_THAT(error, AllOf(HasSubstr("CUDA_ERROR_INVALID_VALUE"), HasSubstr("f.spmd:"), HasSubstr("cuda:0")));
      }
      EXPECT_LE(failed, 1);
      EXPECT_EQ(run(*program, artifact), "");
    }
}

// Also each call that creates devices and loads a program.
TEST_F(GpuFailures, EveryCallOfLoading) {
  GpuArtifact artifact = compileForGpus("f.spmd", kMeshProgram);
  int failed = 0;
  for (Transport transport : {Transport::Host, Transport::Nccl})
    for (const char *entry : {"MemAllocFromPoolAsync", "StreamCreate", "ModuleLoadDataEx", "ModuleGetFunction",
                              "MemcpyHtoDAsync", "EventCreate", "StreamSynchronize", "MemHostRegister"})
      for (int64_t call = 1; call <= 4; ++call) {
        SCOPED_TRACE(std::string(entry) + ", call " + std::to_string(call));
        GpuJob job(2, {.transport = transport});
        job.getDriver().failCall(entry, call, cuda::kInvalidValue);
        try {
          ExecutorOptions options = job.makeOptions();
          options.prepareTimeout = kPatience; // A device that waits for a failed one is noticed.
          auto program = job.load(artifact, options);
          run(*program, artifact);
        } catch (const Error &error) {
          ++failed;
          EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
        }
      }
  EXPECT_GT(failed, 20);
}

TEST_F(GpuFailures, MemoryRunsOut) {
  GpuArtifact artifact =
      compileForGpus("m.spmd", "fn main(x: f32[1000, 64]) { return sort(x * 2.0, axis=0) + 1.0; }\n");
  GpuJob job(1, {.bytesPerGpu = 200'000});
  try {
    job.load(artifact);
    ADD_FAILURE() << "it fits";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("the intermediate values of 'main'"));
    EXPECT_THAT(error.what(), HasSubstr("bytes of memory left"));
    EXPECT_THAT(error.what(), HasSubstr("use smaller shards (more devices), or free arrays that are not needed"));
  }
}

// Freed memory makes room for other sizes, once the stream has reached the free.
TEST_F(GpuFailures, FreedMemoryIsFoundAgain) {
  GpuJob job(1, {.bytesPerGpu = 100'000});
  CudaDevice &device = job.getDevice(0);
  for (int64_t bytes : {60'000, 80'000, 20'000, 90'000}) {
    DeviceBufferRef buffer = static_cast<Device &>(device).allocate(bytes);
    EXPECT_THROW(static_cast<Device &>(device).allocate(101'000 - bytes), Error);
  }
  EXPECT_EQ(device.bytesInUse(), 0);
}

// A kernel that fails while it runs is reported by the next wait, with the line that the run had reached.
TEST_F(GpuFailures, KernelsThatFail) {
  GpuArtifact artifact = compileForGpus("f.spmd", kProgram);
  GpuJob job(1);
  auto program = job.load(artifact);
  job.getDriver().failKernel(0, 2);
  std::string error = run(*program, artifact);
  EXPECT_THAT(error, HasSubstr("f.spmd:"));
  EXPECT_THAT(error, HasSubstr("cuda:0 (Emulated GPU): a step up to here failed: CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_NE(run(*program, artifact), "");
}

/// A job that ends when a device comes to that step.
class HealthUntilStep final : public Health {
public:
  explicit HealthUntilStep(int32_t last) : last(last) {}
  void atStep(uint64_t, int32_t step, const SourceLocation &) override {
    if (step == last)
      isEnding = true;
  }
  bool isOver() const override { return isEnding; }
  [[noreturn]] void throwVerdict() override { throw Error("the job is over"); }
  void reportFailure(const std::string &) override {}

private:
  const int32_t last;
  std::atomic<bool> isEnding = false;
};

// The verdict has one text in all processes, also where it ends a wait for NCCL.
TEST_F(GpuFailures, VerdictsAreNotChanged) {
  GpuArtifact artifact = compileForGpus("f.spmd", "mesh m(a=2)\nfn main(x: f32[4096@a]) { return sum(x); }\n");
  const std::vector<Step> &steps = artifact->plan.steps;
  auto start = std::find_if(steps.begin(), steps.end(),
                            [](const Step &step) { return std::get_if<CollectiveStartStep>(&step.op) != nullptr; });
  ASSERT_NE(start, steps.end());
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    HealthUntilStep health(static_cast<int32_t>(start - steps.begin()));
    GpuJob job(2, {.transport = Transport::Nccl, .seed = seed, .health = &health});
    ExecutorOptions options = job.makeOptions();
    options.health = &health;
    auto program = job.load(artifact, options);
    EXPECT_EQ(run(*program, artifact), "the job is over") << seed;
  }
}

// One device of two fails: the other one ends with the same cause, wherever it waits.
TEST_F(GpuFailures, OneDeviceOfTwo) {
  GpuArtifact artifact = compileForGpus("f.spmd", kMeshProgram);
  for (Transport transport : {Transport::Host, Transport::Nccl})
    for (int64_t kernel = 1; kernel <= 8; ++kernel) {
      SCOPED_TRACE((transport == Transport::Nccl ? "NCCL, kernel " : "host, kernel ") + std::to_string(kernel));
      GpuJob job(2, {.transport = transport, .seed = static_cast<uint64_t>(kernel)});
      auto program = job.load(artifact);
      job.getDriver().failKernel(1, kernel);
      std::string error = run(*program, artifact);
      EXPECT_THAT(error, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
      EXPECT_THAT(error, HasSubstr("cuda:1"));
    }
}

TEST_F(GpuFailures, OneLaunchOfTwoDevices) {
  GpuArtifact artifact = compileForGpus("f.spmd", kMeshProgram);
  for (Transport transport : {Transport::Host, Transport::Nccl})
    for (int64_t call = 1; call <= 10; ++call) {
      GpuJob job(2, {.transport = transport, .seed = static_cast<uint64_t>(call)});
      auto program = job.load(artifact);
      job.getDriver().failCall("LaunchKernel", call, cuda::kInvalidValue);
      EXPECT_THAT(run(*program, artifact), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
    }
}

// An error of NCCL when calls are queued.
TEST_F(GpuFailures, NcclFails) {
  GpuArtifact artifact = compileForGpus("f.spmd", kMeshProgram);
  for (int64_t group = 1; group <= 3; ++group) {
    GpuJob job(2, {.transport = Transport::Nccl, .seed = static_cast<uint64_t>(group)});
    auto program = job.load(artifact);
    job.getNccl().failGroup(1, group);
    std::string error = run(*program, artifact);
    EXPECT_THAT(error, HasSubstr("remote process exited"));
    EXPECT_THAT(error, HasSubstr("f.spmd:4:"));
    EXPECT_NE(run(*program, artifact), "") << "its communicators are gone";
  }
}

// An asynchronous error of NCCL is found by the next wait, which knows the current step.
TEST_F(GpuFailures, TransfersFail) {
  GpuArtifact artifact = compileForGpus("f.spmd", kMeshProgram);
  for (int64_t group = 1; group <= 3; ++group) {
    GpuJob job(2, {.transport = Transport::Nccl, .seed = static_cast<uint64_t>(group)});
    auto program = job.load(artifact);
    job.getNccl().failTransfer(1, group);
    std::string error = run(*program, artifact);
    EXPECT_THAT(error, HasSubstr("remote process exited"));
    EXPECT_THAT(error, HasSubstr("f.spmd:"));
    EXPECT_THAT(error, HasSubstr("cuda:1"));
  }
}

// A group of calls ends if one of them fails, and its communicator can be aborted.
TEST_F(GpuFailures, SendsFail) {
  GpuArtifact artifact = compileForGpus("f.spmd", kMeshProgram);
  for (int64_t send = 1; send <= 4; ++send) {
    GpuJob job(2, {.transport = Transport::Nccl, .seed = static_cast<uint64_t>(send)});
    auto program = job.load(artifact);
    job.getNccl().failSend(send);
    EXPECT_THAT(run(*program, artifact), HasSubstr("ncclSend"));
  }
}

// A device that cannot be prepared does not make the others wait for it, and the next program finds all connected.
TEST_F(GpuFailures, OneDeviceCannotPrepare) {
  int failed = 0;
  GpuArtifact artifact = compileForGpus("f.spmd", kMeshProgram);
  for (const char *entry : {"MemAllocFromPoolAsync", "StreamCreate", "EventCreate", "ModuleLoadDataEx"})
    for (int64_t call = 1; call <= 5; ++call) {
      SCOPED_TRACE(std::string(entry) + ", call " + std::to_string(call));
      GpuJob job(2, {.transport = Transport::Nccl, .seed = static_cast<uint64_t>(call)});
      ExecutorOptions options = job.makeOptions();
      options.prepareTimeout = kPatience;
      auto began = std::chrono::steady_clock::now();
      job.getDriver().failCall(entry, call, cuda::kInvalidValue);
      try {
        job.load(artifact, options);
      } catch (const Error &error) {
        EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
        auto program = job.load(artifact, options);
        EXPECT_EQ(run(*program, artifact), "");
        ++failed;
      }
      EXPECT_LT(std::chrono::steady_clock::now() - began, kPatience);
    }
  EXPECT_GT(failed, 10);
}

TEST_F(GpuFailures, CodeForAnotherCard) {
  GpuArtifact artifact = compileForGpus("f.spmd", kProgram);
  auto changed = std::make_shared<Artifact>(*artifact);
  changed->plan.target.cpu = "sm_100";
  GpuJob job(1);
  EXPECT_THROW(job.load(changed), Error);
  changed->plan.target.cpu = "sm_90";
  changed->code += "no PTX\n";
  try {
    spmdc::CompiledProgram program(changed, job.makeOptions());
    ADD_FAILURE() << "PTX that the driver refuses";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("the kernels of 'main' cannot be loaded: CUDA_ERROR_INVALID_IMAGE"));
    EXPECT_THAT(error.what(), HasSubstr("a function or variable expected before 'no'"));
  }
}

} // namespace
