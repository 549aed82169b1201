//===- GpuControlTest.cpp - loops and branches that the GPU executes ------===//

#include "runtime/support/Error.h"
#include "tests/runtime/exec/cuda/GpuRunFixture.h"
#include "tests/runtime/exec/cuda/ProgramCheckHelper.h"

#include <gmock/gmock.h>

#include <chrono>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::CompiledProgram;
using spmdc::Poison;
using spmdc::Tensor;
using testing::HasSubstr;

namespace {

/// Before and since the driver has conditional nodes.
constexpr int kOldDriver = 12070, kNewDriver = 12080;

/// A loop of seven iterations for the argument 1, 2, 3, 4.
constexpr const char *kLoop = "fn main(x: f32[4]) {\n"
                              "  let (y, n) = while sum(y) < 1000.0 carry (y = x, n = 0) {\n"
                              "    yield (sort(y * 2.0), n + 1);\n"
                              "  };\n"
                              "  return (y, n);\n"
                              "}\n";
constexpr const char *kBranch = "fn main(x: f32[4]) {\n"
                                "  return if sum(x) > 5.0 { sort(x)[::-1] } else { cumsum(x) };\n"
                                "}\n";

class GpuControl : public GpuRunFixture {};

// One graph and one launch, from the first run on; the host reads no predicate.
TEST_F(GpuControl, ALoopIsOneGraph) {
  GpuArtifact artifact = compileForGpus("w.spmd", kLoop);
  for (int version : {kOldDriver, kNewDriver}) {
    GpuJob job(1, {.driverVersion = version});
    cuda::FakeDriver &driver = job.getDriver();
    auto program = job.load(artifact);
    auto inputs = program->upload(context, {floats({4, 1, 3, 2})}, Poison::Nan), outputs = program->allocateResults();
    for (int run = 0; run < 3; ++run) {
      int64_t launches = driver.countCalls("GraphLaunch"), reads = driver.countCalls("MemcpyDtoHAsync");
      program->getExecutor().run(inputs, outputs);
      if (version == kNewDriver) {
        // From the second run on, the steps before it are a graph, too.
        EXPECT_EQ(driver.countCalls("GraphLaunch") - launches, run == 0 ? 1 : 2);
        EXPECT_EQ(driver.countCalls("MemcpyDtoHAsync") - reads, 0);
      } else {
        EXPECT_EQ(driver.countCalls("MemcpyDtoHAsync") - reads, 8); // One for each question whether it goes on.
      }
      EXPECT_EQ(download(*program, outputs), (std::vector<double>{128, 256, 384, 512}));
    }
    EXPECT_EQ(driver.countCalls("GraphAddNode"), version == kNewDriver ? 1 : 0);
  }
}

// Where addresses never come back, graphs are made for the first of them only.
TEST_F(GpuControl, LoopsOfBuffersThatAreNew) {
  GpuArtifact artifact = compileForGpus("w.spmd", kLoop);
  constexpr int kSets = 12, kMostGraphs = 8;
  GpuJob job(1);
  cuda::FakeDriver &driver = job.getDriver();
  auto program = job.load(artifact);
  std::vector<CompiledProgram::Buffers> inputs, outputs;
  for (int i = 0; i < kSets; ++i) {
    inputs.push_back(program->upload(context, {floats({4, 1, 3, 2})}, Poison::Nan));
    outputs.push_back(program->allocateResults());
  }
  for (int run = 0; run < 2 * kSets; ++run) {
    program->getExecutor().run(inputs[run % kSets], outputs[run % kSets]);
    EXPECT_EQ(download(*program, outputs[run % kSets]), (std::vector<double>{128, 256, 384, 512}));
  }
  EXPECT_EQ(driver.countCalls("GraphAddNode"), kMostGraphs);
  // A set that does come back has a graph.
  for (int run = 0; run < 3; ++run) {
    int64_t reads = driver.countCalls("MemcpyDtoHAsync");
    program->getExecutor().run(inputs[0], outputs[0]);
    EXPECT_EQ(driver.countCalls("MemcpyDtoHAsync") - reads, run == 0 ? 8 : 0);
    EXPECT_EQ(download(*program, outputs[0]), (std::vector<double>{128, 256, 384, 512}));
  }
}

// A short loop over numbers is a part of the graph of the steps around it, also for old drivers; a long one has a graph
// that runs once for each number.
TEST_F(GpuControl, ALoopOverNumbers) {
  for (int count : {5, 600}) {
    GpuArtifact artifact = compileForGpus("f.spmd", "fn main(x: f32[4]) {\n"
                                                    "  let y = sort(x);\n"
                                                    "  let z = for i in 0.." +
                                                        std::to_string(count) +
                                                        " carry (z = y) { yield sort(z)[::-1] + cast(i, f32); };\n"
                                                        "  return cumsum(z);\n"
                                                        "}\n");
    double sum = count * (count - 1) / 2;
    for (int version : {kOldDriver, kNewDriver}) {
      GpuJob job(1, {.driverVersion = version});
      auto program = job.load(artifact);
      auto inputs = program->upload(context, {floats({4, 1, 3, 2})}, Poison::Nan), outputs = program->allocateResults();
      for (int run = 0; run < 3; ++run) {
        int64_t launches = job.getDriver().countCalls("GraphLaunch");
        program->getExecutor().run(inputs, outputs);
        launches = job.getDriver().countCalls("GraphLaunch") - launches;
        if (count == 5)
          EXPECT_EQ(launches, run == 0 ? 0 : 1);
        else
          EXPECT_GE(launches, count - 1);
        EXPECT_EQ(download(*program, outputs), (std::vector<double>{4 + sum, 7 + 2 * sum, 9 + 3 * sum, 10 + 4 * sum}));
      }
    }
  }
}

// Its graph pays when the addresses come back.
TEST_F(GpuControl, ABranchIsAGraphWhenItComesBack) {
  GpuArtifact artifact = compileForGpus("b.spmd", kBranch);
  GpuJob job(1);
  cuda::FakeDriver &driver = job.getDriver();
  auto program = job.load(artifact);
  auto inputs = program->upload(context, {floats({4, 1, 3, 2})}, Poison::Nan), outputs = program->allocateResults();
  for (int run = 0; run < 4; ++run) {
    int64_t reads = driver.countCalls("MemcpyDtoHAsync");
    program->getExecutor().run(inputs, outputs);
    EXPECT_EQ(driver.countCalls("MemcpyDtoHAsync") - reads, run == 0 ? 1 : 0);
    // Each run takes the other branch.
    EXPECT_EQ(download(*program, outputs),
              run % 2 == 0 ? (std::vector<double>{4, 3, 2, 1}) : (std::vector<double>{-4, -3, 0, 2}));
    float first = run % 2 == 0 ? -4.0f : 4.0f;
    job.getDevice(0).copyFromHost(*inputs[0][0], &first, sizeof first, 0);
  }
}

// All forms inside of one another, against the steps of CPUs.
TEST(GpuControlResults, Nested) {
  for (const char *text : {
           // Loops in loops; the inner one has no iteration at times.
           "fn main(x: f32[6]) {\n"
           "  return while n < 4 carry (y = x, n = 0) {\n"
           "    let z = while sum(z) < 100.0 * cast(n, f32) carry (z = y) { yield sort(z * 2.0 + 3.0)[::-1]; };\n"
           "    yield (z + 1.0, n + 1);\n"
           "  };\n"
           "}\n",
           // A counter that is read, and one that is not; no iterations.
           "fn main(x: f32[6]) {\n"
           "  return while n < 3 carry (y = x, n = 0) {\n"
           "    let a = for i in -2..3 carry (a = y) { yield sort(a + cast(i * n, f32)); };\n"
           "    let b = for i in 0..2 carry (b = a) { yield cumsum(b); };\n"
           "    let c = for i in 3..3 carry (c = b) { yield sort(c); };\n"
           "    yield (c - y, n + 1);\n"
           "  };\n"
           "}\n",
           // Branches with steps on both sides and on one side, and loops in branches.
           "fn main(x: f32[6]) {\n"
           "  return while n < 6 carry (y = x, n = 0) {\n"
           "    let z = if n % 2 == 0 { sort(y) } else { cumsum(y) * 0.5 };\n"
           "    let w = if sum(z) > 3.0 { z } else { sort(z + 2.0)[::-1] };\n"
           "    let v = if n > 3 { while sum(v) < 50.0 carry (v = w) { yield sort(abs(v) + 1.0); } } else { w };\n"
           "    yield (v, n + 1);\n"
           "  };\n"
           "}\n",
           // A branch outside of loops, taken and not taken.
           "fn main(x: f32[6]) {\n"
           "  let y = if sum(x) > 1e9 { sort(x) } else { while sum(y) < 9.0 carry (y = abs(x)) { yield y + sort(y) + "
           "0.5; } };\n"
           "  return if sum(x) < 1e9 { sort(y) } else { y };\n"
           "}\n",
           // Products and windows in a loop.
           "fn main(x: f32[6], w: f32[6, 6]) {\n"
           "  return while n < 4 carry (y = x, n = 0) {\n"
           "    let z = (w @ y) % 7.0;\n"
           "    yield (update(z, y[0:2] + 1.0, start=[n]), n + 1);\n"
           "  };\n"
           "}\n",
       })
    checkOnGpus(text, {.areExact = true, .orders = 2});
}

// A loop with collectives stays with the host, the loops in it do not.
TEST(GpuControlResults, LoopsBetweenCollectives) {
  checkOnGpus("mesh m(a=2)\n"
              "fn main(x: f32[6@a]) {\n"
              "  return for i in 0..3 carry (y = x) {\n"
              "    let s = sum(y) % 5.0;\n"
              "    let z = while any(z < 10.0) carry (z = abs(y)) { yield z * 2.0 + 1.0; };\n"
              "    yield z - s;\n"
              "  };\n"
              "}\n",
              {.areExact = true, .orders = 3});
}

// Where CUDA refuses any part of a graph, the host decides, and nothing is left over.
TEST_F(GpuControl, TheHostDecidesWhereCudaRefuses) {
  GpuArtifact artifact = compileForGpus("w.spmd", kLoop);
  struct Failure {
    const char *entry;
    int64_t call;
    cuda::Result error = cuda::kInvalidValue;
  };
  // Each call that makes the graph: the stream's state is asked before each of the two objects, and the captures of the
  // loop's steps and of the graph end.
  std::vector<Failure> failures = {{"StreamBeginCapture", 1},
                                   {"StreamGetCaptureInfo", 1},
                                   {"StreamGetCaptureInfo", 2},
                                   {"GraphConditionalHandleCreate", 1},
                                   {"GraphAddNode", 1},
                                   {"StreamUpdateCaptureDependencies", 1},
                                   {"StreamBeginCaptureToGraph", 1},
                                   {"StreamEndCapture", 1},
                                   {"StreamEndCapture", 2},
                                   {"GraphInstantiate", 1},
                                   {"GraphLaunch", 1}};
  // A launch of the condition, of its predicate, or of the steps invalidates a capture: neither that of the steps nor
  // the one around it may end.
  for (int64_t call : {1, 2, 3, 4, 5})
    failures.push_back({"LaunchKernel", call, cuda::kCaptureInvalidated});
  for (auto [entry, call, error] : failures) {
    SCOPED_TRACE(std::string(entry) + ", call " + std::to_string(call));
    GpuJob job(1);
    auto program = job.load(artifact);
    auto inputs = program->upload(context, {floats({4, 1, 3, 2})}, Poison::Nan), outputs = program->allocateResults();
    job.getDriver().failCall(entry, call, error);
    for (int run = 0; run < 3; ++run) {
      int64_t reads = job.getDriver().countCalls("MemcpyDtoHAsync");
      program->getExecutor().run(inputs, outputs);
      EXPECT_EQ(job.getDriver().countCalls("MemcpyDtoHAsync") - reads, 8);
      EXPECT_EQ(download(*program, outputs), (std::vector<double>{128, 256, 384, 512}));
    }
  }
}

// A GPU that has failed fails the run, whoever decides.
TEST_F(GpuControl, AFailedKernelOfALoop) {
  GpuArtifact artifact = compileForGpus("w.spmd", kLoop);
  for (int64_t kernel : {1, 3, 12}) {
    GpuJob job(1);
    auto program = job.load(artifact);
    auto inputs = program->upload(context, {floats({4, 1, 3, 2})}, Poison::Nan), outputs = program->allocateResults();
    job.getDriver().failKernel(0, kernel);
    try {
      program->getExecutor().run(inputs, outputs);
      ADD_FAILURE() << kernel;
    } catch (const Error &error) {
      EXPECT_THAT(error.what(), HasSubstr("w.spmd:2:16: cuda:0"));
      EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
  }
}

/// A job that is over at a time.
class EndingHealth final : public Health {
public:
  void atStep(uint64_t, int32_t, const SourceLocation &) override {}
  bool isOver() const override { return std::chrono::steady_clock::now() > end; }
  [[noreturn]] void throwVerdict() override { throw Error("the job is over"); }
  void reportFailure(const std::string &) override {}

  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
};

// A loop that never ends by itself ends with the job, also if it has the only queue of its GPU; the program's objects
// can then be destroyed.
TEST_F(GpuControl, TheJobEndsEveryLoop) {
  for (const char *body : {"yield y + 0.0;", "yield while all(y < 1e9) carry (y = y) { yield sort(y); };",
                           "yield for i in 0..2000000000 carry (y = y) { yield sort(y); };"}) {
    SCOPED_TRACE(body);
    GpuArtifact artifact = compileForGpus("e.spmd", std::string("fn main(x: f32[4]) {\n"
                                                                "  return while all(y < 1e9) carry (y = x) { ") +
                                                        body + " };\n}\n");
    GpuJob job(1, {.queues = 1});
    EndingHealth health;
    ExecutorOptions options = job.makeOptions();
    options.health = &health;
    auto program = job.load(artifact, options);
    auto inputs = program->upload(context, {floats({4, 1, 3, 2})}, Poison::Nan), outputs = program->allocateResults();
    try {
      program->getExecutor().run(inputs, outputs);
      ADD_FAILURE() << "the loop has ended";
    } catch (const Error &error) {
      EXPECT_THAT(error.what(), HasSubstr("the job is over"));
    }
    EXPECT_EQ(job.getDriver().countCalls("GraphLaunch"), 1);
  }
}

} // namespace
