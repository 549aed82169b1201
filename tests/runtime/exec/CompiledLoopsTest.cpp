//===- CompiledLoopsTest.cpp - loops that one function runs ---------------===//

#include "runtime/artifact/CompiledLoops.h"
#include "runtime/artifact/PlanVerifier.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/support/Error.h"
#include "tests/runtime/exec/PlanHelper.h"

#include <gtest/gtest.h>

#include <set>

namespace spmd::test {
namespace {

/// counter = 0; while (counter < limit) counter += 1. The steps of the loop add 2 where its function adds 1, so that an
/// odd limit tells which of them ran.
struct Program {
  PlanBuilder builder{{{}}};

  Program() {
    BufferId limit = builder.parameter(DType::I32, {}), counter = builder.result(DType::I32, {});
    BufferId predicate = builder.arena(DType::Bool, {});
    builder.add(builder.launch("clear_i32", {counter}));
    WhileStep loop;
    loop.predicate = predicate;
    loop.condition = {builder.launch("less_i32", {counter, limit, predicate})};
    loop.body = {builder.launch("increment_i32", {counter}), builder.launch("increment_i32", {counter})};
    builder.add(builder.step(loop));
    builder.kernel(getLoopFunctionName(1));
  }
};

/// Records positions; the job is over after so many reports of the steps of the loop.
class RecordingHealth final : public Health {
public:
  explicit RecordingHealth(int limit) : limit(limit) {}
  void atStep(uint64_t, int32_t step, const SourceLocation &) override {
    reports += step > 0;
    steps.insert(step);
  }
  bool isOver() const override { return reports > limit; }
  [[noreturn]] void throwVerdict() override { throw Error("process 7 was killed", Error::Kind::Verdict); }
  void reportFailure(const std::string &) override {}

  const int limit;
  int reports = 0;
  std::set<int32_t> steps;
};

class CompiledLoops : public ::testing::Test {
protected:
  /// Returns the counter.
  int32_t run(int32_t limit, Health *health = nullptr, std::vector<ProfileEvent> *profile = nullptr) {
    ExecutorOptions options;
    options.devices = {0};
    options.localDevices = createCpuDevices({0}, {.threadsPerDevice = 1});
    options.health = health;
    Device &device = *options.localDevices[0];
    auto executor = Executor::create(program.builder.finish(), options);
    DeviceBufferRef result = upload(device, std::vector<int32_t>{-1});
    executor->run({{upload(device, std::vector<int32_t>{limit})}}, {{result}}, profile);
    return download<int32_t>(device, result)[0];
  }

  Program program;
};

TEST_F(CompiledLoops, OperandsAreOneBufferOfEachRange) {
  const Plan &plan = program.builder.plan();
  std::vector<CompiledLoop> loops = listCompiledLoops(plan);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].step, &plan.steps[1]);
  EXPECT_EQ(plan.kernels[static_cast<size_t>(loops[0].function)].symbol, "loop.1");
  EXPECT_EQ(listLoopOperands(plan, plan.steps[1]), (std::vector<BufferId>{2, 1, 0}));
}

TEST_F(CompiledLoops, TheFunctionRunsTheLoop) {
  EXPECT_EQ(run(7), 7);
  EXPECT_EQ(run(-3), 0);
}

TEST_F(CompiledLoops, ProfilesRunTheSteps) {
  std::vector<ProfileEvent> profile;
  EXPECT_EQ(run(7, nullptr, &profile), 8);
  // The first step, the loop, five conditions and four times two steps.
  EXPECT_EQ(profile.size(), 15u);
}

TEST_F(CompiledLoops, AnEndlessLoopEndsWithTheJob) {
  RecordingHealth health(100);
  EXPECT_THROW(
      {
        try {
          run(INT32_MAX, &health);
        } catch (const Error &error) {
          EXPECT_STREQ(error.what(), "process 7 was killed");
          EXPECT_EQ(error.getKind(), Error::Kind::Verdict);
          throw;
        }
      },
      Error);
  // Each step of the loop was reported: positions that change tell that the device is not stuck.
  EXPECT_EQ(health.steps, (std::set<int32_t>{0, 1, 2, 3, 4}));
}

TEST_F(CompiledLoops, NoStepLaunchesTheFunctionOfALoop) {
  program.builder.add(program.builder.launch("loop.1", {0}));
  EXPECT_THROW(
      {
        try {
          verifyPlan(program.builder.plan(), 0);
        } catch (const Error &error) {
          EXPECT_NE(std::string(error.what()).find("a launch names 'loop.1', the function of a loop"),
                    std::string::npos)
              << error.what();
          throw;
        }
      },
      Error);
}

} // namespace
} // namespace spmd::test
