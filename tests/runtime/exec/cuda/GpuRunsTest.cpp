//===- GpuRunsTest.cpp - state that runs of a program share ---------------===//
//
// Graphs of steps whose addresses repeat, buffers that are argument and result, prints, profiles, NaNs.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ProfileLog.h"
#include "runtime/support/Error.h"
#include "runtime/support/NanError.h"
#include "tests/runtime/exec/cuda/GpuRunFixture.h"
#include "tests/runtime/exec/cuda/ProgramCheckHelper.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace mlir;
using namespace spmd;
using namespace spmd::test;
using spmdc::CompiledProgram;
using spmdc::Poison;
using testing::HasSubstr;

namespace {

class GpuRuns : public GpuRunFixture {};

/// Three kernels, because a product and a sort are not generated kernels.
constexpr const char *kSeveralSteps = "fn main(x: f32[4]) { return sort(x * 2.0)[::-1] + 1.0; }\n";

TEST_F(GpuRuns, GraphsOfTheSameBuffers) {
  GpuArtifact artifact = compileForGpus("g.spmd", kSeveralSteps);
  GpuJob job(1);
  auto program = job.load(artifact);
  auto inputs = program->upload(context, {floats({3, 1, 4, 2})}, Poison::Nan), outputs = program->allocateResults();
  for (int run = 0; run < 3; ++run) {
    int64_t launches = job.getDriver().countCalls("GraphLaunch"), kernels = job.getDriver().countKernels();
    program->getExecutor().run(inputs, outputs);
    EXPECT_EQ(job.getDriver().countCalls("GraphLaunch") - launches, run == 0 ? 0 : 1) << run;
    EXPECT_GE(job.getDriver().countKernels() - kernels, 2);
    EXPECT_EQ(download(*program, outputs), (std::vector<double>{9, 7, 5, 3}));
    // The graph reads the current content of the buffer.
    float first = run == 0 ? 0.5f : 3.0f;
    job.getDevice(0).copyFromHost(*inputs[0][0], &first, sizeof first, 0);
    program->getExecutor().run(inputs, outputs);
    EXPECT_EQ(download(*program, outputs),
              run == 0 ? (std::vector<double>{9, 5, 3, 2}) : (std::vector<double>{9, 7, 5, 3}));
    first = 3.0f;
    job.getDevice(0).copyFromHost(*inputs[0][0], &first, sizeof first, 0);
  }
  EXPECT_EQ(job.getDriver().countCalls("GraphInstantiate"), 1);
}

// Two alternating sets of addresses have a graph each; if there are more than the cache keeps, there are no graphs, and
// the results are right.
TEST_F(GpuRuns, GraphsOfAlternatingBuffers) {
  GpuArtifact artifact = compileForGpus("g.spmd", kSeveralSteps);
  for (int sets : {2, 10}) {
    GpuJob job(1);
    auto program = job.load(artifact);
    std::vector<CompiledProgram::Buffers> inputs, outputs;
    for (int i = 0; i < sets; ++i) {
      inputs.push_back(program->upload(context, {floats({1.0 * i, 1, 0, -1})}, Poison::Nan));
      outputs.push_back(program->allocateResults());
    }
    for (int run = 0; run < 3 * sets; ++run) {
      int set = run % sets;
      program->getExecutor().run(inputs[set], outputs[set]);
      EXPECT_EQ(download(*program, outputs[set]),
                set == 0 ? (std::vector<double>{3, 1, 1, -1}) : (std::vector<double>{2.0 * set + 1, 3, 1, -1}));
    }
    EXPECT_EQ(job.getDriver().countCalls("GraphInstantiate"), sets == 2 ? 2 : 0);
    EXPECT_EQ(job.getDriver().countCalls("GraphLaunch"), sets == 2 ? 4 : 0);
  }
}

TEST_F(GpuRuns, ResultsInTheBuffersOfArguments) {
  GpuArtifact artifact = compileForGpus("d.spmd", "mesh m(a=2)\n"
                                                  "fn main(p: f32[6@a], x: f32[6@a]) {\n"
                                                  "  let q = sum(p * x); let p = p - 0.5 * x + sum(p); return (p, q);\n"
                                                  "}\n");
  for (Transport transport : {Transport::Host, Transport::Nccl}) {
    GpuJob job(2, {.transport = transport});
    auto program = job.load(artifact);
    ASSERT_EQ(artifact->plan.aliases[0], 0);
    auto inputs = program->upload(context, {floats({1, 2, 3, 4, 5, 6}), floats({2, 0, 2, 0, 2, 0})}, Poison::Nan);
    auto outputs = program->allocateResults();
    for (size_t device = 0; device < 2; ++device)
      outputs[device][0] = inputs[device][0];
    program->getExecutor().run(inputs, outputs);
    EXPECT_EQ(download(*program, outputs), (std::vector<double>{21, 23, 23, 25, 25, 27}));
    program->getExecutor().run(inputs, outputs); // The sum is 144.
    EXPECT_EQ(download(*program, outputs), (std::vector<double>{164, 167, 166, 169, 168, 171}));
    EXPECT_EQ(download(*program, outputs, 1), (std::vector<double>{2 * (21 + 23 + 25)}));
  }
}

TEST_F(GpuRuns, Prints) {
  GpuArtifact artifact = compileForGpus("p.spmd", "mesh m(a=2)\n"
                                                  "fn main(x: f32[5@a]) {\n"
                                                  "  print(\"x\", x, \"sum\", sum(x));\n"
                                                  "  return for i in 0..3 carry (y = x) {\n"
                                                  "    print(i, y[4]); yield y * 2.0;\n"
                                                  "  };\n"
                                                  "}\n");
  for (Transport transport : {Transport::Host, Transport::Nccl}) {
    GpuJob job(2, {.transport = transport});
    std::string text;
    ExecutorOptions options = job.makeOptions();
    options.print = [&](const std::vector<std::string> &, const std::vector<HostView> &values) {
      for (const HostView &value : values) {
        int64_t count = value.shape.empty() ? 1 : value.shape[0];
        for (int64_t i = 0; i < count; ++i)
          text +=
              std::to_string(value.dtype == DType::I32 ? static_cast<const int32_t *>(value.data)[i]
                                                       : static_cast<int>(static_cast<const float *>(value.data)[i])) +
              " ";
        text += "| ";
      }
    };
    auto program = job.load(artifact, options);
    ASSERT_TRUE(succeeded(program->run(context, {floats({1, 2, 3, 4, 5})}, Poison::Huge, error))) << error;
    EXPECT_EQ(text, "1 2 3 4 5 | 15 | 0 | 5 | 1 | 10 | 2 | 20 | ");
  }
}

TEST_F(GpuRuns, Profiles) {
  GpuArtifact artifact = compileForGpus("p.spmd", "mesh m(a=2)\n"
                                                  "fn main(x: f32[6@a]) {\n"
                                                  "  let y = for i in 0..2 carry (y = x) { yield sort(y * 2.0); };\n"
                                                  "  return y - sum(y);\n"
                                                  "}\n");
  for (Transport transport : {Transport::Host, Transport::Nccl}) {
    GpuJob job(2, {.transport = transport});
    auto program = job.load(artifact);
    auto inputs = program->upload(context, {floats({1, 2, 3, 4, 5, 6})}, Poison::Nan);
    auto outputs = program->allocateResults();
    for (int run = 0; run < 2; ++run) {
      std::vector<ProfileEvent> events;
      program->getExecutor().run(inputs, outputs, &events);
      EXPECT_EQ(download(*program, outputs), (std::vector<double>{-80, -76, -72, -68, -64, -60}));
      ASSERT_FALSE(events.empty());
      std::set<int64_t> devices;
      int64_t now = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
      for (const ProfileEvent &event : events) {
        devices.insert(event.device);
        EXPECT_LE(event.beginNs, event.endNs);
        EXPECT_GT(event.beginNs, now - int64_t{60'000'000'000});
        EXPECT_LE(event.endNs, now + int64_t{1'000'000'000});
      }
      EXPECT_EQ(devices, (std::set<int64_t>{0, 1}));
    }
  }
}

TEST_F(GpuRuns, NanChecks) {
  SKIP_WITHOUT_LIBDEVICE();
  GpuArtifact artifact = compileForGpus("n.spmd", "mesh m(a=2)\n"
                                                  "fn main(x: f32[4@a]) {\n"
                                                  "  let y = sqrt(x);\n"
                                                  "  return sum(sort(y));\n"
                                                  "}\n");
  for (Transport transport : {Transport::Host, Transport::Nccl}) {
    GpuJob job(2, {.transport = transport});
    ExecutorOptions options = job.makeOptions();
    options.checkNans = true;
    auto program = job.load(artifact, options);
    auto run = [&](std::initializer_list<double> values) {
      auto inputs = program->upload(context, {floats(values)}, Poison::Nan), outputs = program->allocateResults();
      program->getExecutor().run(inputs, outputs);
      return download(*program, outputs);
    };
    EXPECT_EQ(run({1, 4, 9, 16}), (std::vector<double>{10}));
    try {
      run({1, 4, 9, -16});
      ADD_FAILURE() << "no NaN is found";
    } catch (const NanError &nan) {
      EXPECT_THAT(nan.what(), HasSubstr("n.spmd:3"));
    }
    EXPECT_EQ(run({1, 4, 0, 1}), (std::vector<double>{4})) << "the next run works";
  }
}

} // namespace
