//===- ExecutorTest.cpp - plans run on devices ----------------------------===//

#include "runtime/exec/Executor.h"

#include "JobHelper.h"
#include "PlanHelper.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "tests/support/Messages.h"
#include "tests/support/TimeLimit.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <thread>

using namespace spmd;
using spmd::test::messageOf;
using namespace spmd::test;

// This binary counts every allocation, to check that steps make none. Sanitizers have their own operator new.
static std::atomic<int64_t> allocations{0};
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)
void *operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void *p = std::malloc(bytes ? bytes : 1))
    return p;
  throw std::bad_alloc();
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, size_t) noexcept { std::free(p); }
#endif

namespace {

/// All devices of a mesh in this process.
struct Local {
  explicit Local(int count, int threads = 1) {
    std::vector<int64_t> ids(count);
    std::iota(ids.begin(), ids.end(), 0);
    devices = createCpuDevices(ids, {.hostDeviceCount = count, .threadsPerDevice = threads});
    ShmOptions options;
    options.places.resize(count);
    options.localDevices = devices;
    collectives = createShmCollectives(options);
    executorOptions.devices = ids;
    executorOptions.localDevices = devices;
    executorOptions.collectives = collectives.get();
  }
  std::unique_ptr<Executor> load(PlanBuilder &builder) { return Executor::create(builder.finish(), executorOptions); }

  std::vector<DeviceRef> devices;
  std::unique_ptr<CollectiveBackend> collectives;
  ExecutorOptions executorOptions;
};

// Arguments, results, arena and constants, on several devices with their coordinates; runs a second time with other
// buffers.
TEST(Executor, RunsKernelsOnAllDevices) {
  PlanBuilder builder({{{"a", 2}, {"b", 2}}});
  std::vector<float> ones(1000, 1.0f);
  BufferId x = builder.parameter(DType::F32, {1000}), y = builder.result(DType::F32, {1000});
  BufferId one = builder.constant(DType::F32, {1000}, ones.data()), t = builder.arena(DType::F32, {1000});
  builder.add(builder.launch("add_f32", {x, one, t}, 1000, 64));
  builder.add(builder.launch("add_coordinates", {t, y}, 1000, 64));
  for (int threads : {1, 3}) {
    Local local(4, threads);
    auto executor = local.load(builder);
    EXPECT_EQ(executor->getLocalPositions(), (std::vector<int64_t>{0, 1, 2, 3}));
    for (int round = 0; round < 3; ++round) {
      std::vector<std::vector<DeviceBufferRef>> arguments, results;
      for (auto &device : executor->getLocalDevices()) {
        std::vector<float> values(1000);
        std::iota(values.begin(), values.end(), float(round));
        arguments.push_back({upload(*device, values)});
        results.push_back({device->allocate(4000)});
      }
      executor->run(arguments, results);
      for (int position = 0; position < 4; ++position) {
        auto values = download<float>(*executor->getLocalDevices()[position], results[position][0]);
        for (int i = 0; i < 1000; ++i)
          ASSERT_EQ(values[i], float(round + i + 1 + 100 * (position / 2) + position % 2));
      }
    }
  }
}

/// x: [8, 32@b] times w: [32@b, 16], summed over b, relu: each of two devices has half of the contraction.
struct MatmulProgram {
  explicit MatmulProgram(bool withEpilogueAlone) : builder({{{"b", 2}}}) {
    BufferId x = builder.parameter(DType::F32, {8, 16}), w = builder.parameter(DType::F32, {16, 16});
    BufferId y = builder.result(DType::F32, {8, 16});
    if (withEpilogueAlone) {
      MatmulStep matmul{x, w, y, 1, 8, 16, 16, false, false, -1, {}};
      matmul.epilogueKernel = builder.kernel("relu_rows16");
      matmul.epilogueOperands = {y};
      builder.add(builder.step(matmul));
      return;
    }
    BufferId partial = builder.arena(DType::F32, {8, 16});
    builder.add(builder.step(MatmulStep{x, w, partial, 1, 8, 16, 16, false, false, -1, {}}));
    builder.add(builder.collective(builder.sumOver({{"b"}}, DType::F32, {8, 16}), partial, y));
    builder.add(builder.launch("relu_rows16", {y}, 8));
  }
  PlanBuilder builder;
};

float xAt(int64_t i, int64_t k) { return float((i * 7 + k * 3) % 5) - 2.0f; }
float wAt(int64_t k, int64_t j) { return float((k * 5 + j) % 7) - 3.0f; }

std::vector<std::vector<DeviceBufferRef>> matmulArguments(const Executor &executor) {
  std::vector<std::vector<DeviceBufferRef>> arguments;
  for (size_t d = 0; d < executor.getLocalDevices().size(); ++d) {
    int64_t offset = 16 * executor.getLocalPositions()[d];
    std::vector<float> x(8 * 16), w(16 * 16);
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t k = 0; k < 16; ++k)
        x[i * 16 + k] = xAt(i, offset + k);
    for (int64_t k = 0; k < 16; ++k)
      for (int64_t j = 0; j < 16; ++j)
        w[k * 16 + j] = wAt(offset + k, j);
    Device &device = *executor.getLocalDevices()[d];
    arguments.push_back({upload(device, x), upload(device, w)});
  }
  return arguments;
}

/// Returns the product over k in [begin, end), clipped below at zero; small integers, so exact.
std::vector<float> expectedProduct(int64_t begin, int64_t end) {
  std::vector<float> y;
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 0; j < 16; ++j) {
      float sum = 0;
      for (int64_t k = begin; k < end; ++k)
        sum += xAt(i, k) * wAt(k, j);
      y.push_back(std::max(sum, 0.0f));
    }
  return y;
}

TEST(Executor, MatmulWithEpilogue) {
  MatmulProgram program(true);
  Local local(2);
  auto executor = local.load(program.builder);
  std::vector<std::vector<DeviceBufferRef>> results{{local.devices[0]->allocate(512)},
                                                    {local.devices[1]->allocate(512)}};
  executor->run(matmulArguments(*executor), results);
  EXPECT_EQ(download<float>(*local.devices[0], results[0][0]), expectedProduct(0, 16));
  EXPECT_EQ(download<float>(*local.devices[1], results[1][0]), expectedProduct(16, 32));
}

// A plan with a sharded contraction, in one process and in two.
TEST(Executor, ShardedContraction) {
  MatmulProgram program(false);
  for (int processes : {1, 2}) {
    auto results = runProcesses({processes, 2 / processes}, [&](ProcessContext &context) {
      ExecutorOptions options;
      options.devices = {0, 1};
      options.localDevices = context.devices;
      options.collectives = context.collectives;
      options.health = context.health;
      auto executor = Executor::create(program.builder.finish(), options);
      std::vector<std::vector<DeviceBufferRef>> outputs;
      for (auto &device : executor->getLocalDevices())
        outputs.push_back({device->allocate(512)});
      auto arguments = matmulArguments(*executor);
      for (int i = 0; i < 50; ++i)
        executor->run(arguments, outputs);
      std::vector<char> bytes;
      for (size_t d = 0; d < outputs.size(); ++d) {
        auto *data = static_cast<char *>(outputs[d][0]->data());
        bytes.insert(bytes.end(), data, data + 512);
      }
      return bytes;
    });
    std::vector<char> all;
    for (Outcome &outcome : results) {
      ASSERT_EQ(outcome.error, "");
      all.insert(all.end(), outcome.bytes.begin(), outcome.bytes.end());
    }
    std::vector<float> expected = expectedProduct(0, 32);
    ASSERT_EQ(all.size(), 1024u);
    EXPECT_EQ(std::memcmp(all.data(), expected.data(), 512), 0);
    EXPECT_EQ(std::memcmp(all.data() + 512, expected.data(), 512), 0);
  }
}

/// counter = 0; while (counter < limit) { counter += 1; total = all_reduce(counter) }; result = total
std::shared_ptr<Artifact> loopProgram(const std::string &condition, int32_t devices) {
  PlanBuilder builder({{{"a", devices}}});
  BufferId limit = builder.parameter(DType::I32, {}), total = builder.result(DType::I32, {});
  BufferId counter = builder.arena(DType::I32, {}), predicate = builder.arena(DType::Bool, {});
  builder.add(builder.launch("clear_i32", {counter}));
  WhileStep loop;
  loop.predicate = predicate;
  loop.condition = {builder.launch(condition, {counter, limit, predicate})};
  loop.body = {builder.launch("increment_i32", {counter})};
  for (Step &step : builder.collective(builder.sumOver({{"a"}}, DType::I32, {}), counter, total))
    loop.body.push_back(step);
  builder.add(builder.step(loop));
  return builder.finish();
}

TEST(Executor, LoopsWithCollectivesAllocateNothing) {
  Local local(3);
  auto executor = Executor::create(loopProgram("less_i32", 3), local.executorOptions);
  std::vector<std::vector<DeviceBufferRef>> results;
  for (auto &device : local.devices)
    results.push_back({device->allocate(4)});
  auto run = [&](int32_t limit) {
    std::vector<std::vector<DeviceBufferRef>> arguments;
    for (auto &device : local.devices)
      arguments.push_back({upload(*device, std::vector<int32_t>{limit})});
    int64_t before = allocations.load();
    executor->run(arguments, results);
    int64_t made = allocations.load() - before;
    for (auto &result : results)
      EXPECT_EQ(download<int32_t>(*local.devices[0], result[0])[0], 3 * limit);
    return made;
  };
  run(1);
  EXPECT_EQ(run(3), run(2000));
}

TEST(Executor, TakesTheBranchOfThePredicate) {
  PlanBuilder builder({{}});
  BufferId a = builder.parameter(DType::I32, {}), b = builder.parameter(DType::I32, {});
  BufferId out = builder.result(DType::I32, {}), predicate = builder.arena(DType::Bool, {});
  builder.add(builder.launch("less_i32", {a, b, predicate}));
  IfStep branch;
  branch.predicate = predicate;
  branch.thenSteps = {builder.step(CopyStep{a, out})};
  branch.elseSteps = {builder.step(CopyStep{b, out}), builder.launch("increment_i32", {out})};
  builder.add(builder.step(branch));
  Local local(1);
  local.executorOptions.collectives = nullptr;
  auto executor = local.load(builder);
  auto run = [&](int32_t x, int32_t y) {
    Device &device = *local.devices[0];
    DeviceBufferRef result = device.allocate(4);
    executor->run({{upload(device, std::vector<int32_t>{x}), upload(device, std::vector<int32_t>{y})}}, {{result}});
    return download<int32_t>(device, result)[0];
  };
  EXPECT_EQ(run(3, 5), 3);
  EXPECT_EQ(run(5, 3), 4);
}

// The device with the smallest id prints the global value of a sharded array once.
TEST(Executor, PrintsTheGlobalValueOnce) {
  PlanBuilder builder({{{"a", 4}}});
  BufferId x = builder.parameter(DType::F32, {3}), s = builder.parameter(DType::F32, {});
  PrintStep print;
  print.texts = {"x = ", ", s = ", "."};
  print.values = {x, s};
  print.infos.resize(2);
  print.infos[0].shape = {10};
  print.infos[0].localShape = {3};
  print.infos[0].sharding = {{{{"a"}}}, {}};
  builder.add(builder.step(print));
  Local local(4);
  std::vector<std::string> lines;
  local.executorOptions.print = [&](const std::vector<std::string> &texts, const std::vector<HostView> &values) {
    std::string line = texts[0];
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t count = elementCount(values[i].shape);
      for (int64_t j = 0; j < count; ++j)
        line += std::to_string(int(static_cast<const float *>(values[i].data)[j])) + " ";
      line += texts[i + 1];
    }
    lines.push_back(line);
  };
  auto executor = local.load(builder);
  std::vector<std::vector<DeviceBufferRef>> arguments;
  for (int p = 0; p < 4; ++p)
    arguments.push_back(
        {upload(*local.devices[p], std::vector<float>{float(3 * p), float(3 * p + 1), float(3 * p + 2)}),
         upload(*local.devices[p], std::vector<float>{42})});
  executor->run(arguments, {{}, {}, {}, {}});
  executor->run(arguments, {{}, {}, {}, {}});
  EXPECT_EQ(lines, (std::vector<std::string>(2, "x = 0 1 2 3 4 5 6 7 8 9 , s = 42 .")));
}

// Runs are queued; those of several executors keep the order of the calls.
TEST(Executor, QueuesRunsInOrder) {
  PlanBuilder builder({{}});
  BufferId x = builder.parameter(DType::I32, {}), y = builder.result(DType::I32, {});
  builder.add(builder.step(CopyStep{x, y}));
  builder.add(builder.launch("increment_i32", {y}));
  Local local(1);
  auto first = local.load(builder), second = local.load(builder);
  DeviceBufferRef value = upload(*local.devices[0], std::vector<int32_t>{0});
  std::vector<std::shared_ptr<Launch>> launches;
  for (int i = 0; i < 100; ++i) {
    DeviceBufferRef next = local.devices[0]->allocate(4);
    launches.push_back((i % 2 ? first : second)->launch({{value}}, {{next}}));
    value = next;
  }
  for (auto &launch : launches)
    launch->wait();
  EXPECT_TRUE(launches[0]->isDone());
  EXPECT_EQ(download<int32_t>(*local.devices[0], value)[0], 100);
}

// More devices than cores: a thread that waits runs the work of all of them, unless they wait for each other. Threads
// launch programs with and without collectives, and wait at once, later, or in another order.
TEST(Executor, SharesTheThreadsOfCallers) {
  constexpr int kThreads = 3, kRounds = 60;
  int count = 4 * availableCores();
  Local local(count);
  ASSERT_TRUE(local.devices.front()->sharesCores());
  auto makeProgram = [&](bool hasCollective) {
    PlanBuilder builder({{{"a", count}}});
    std::vector<float> ones(64, 1.0f);
    BufferId x = builder.parameter(DType::F32, {64}), y = builder.result(DType::F32, {64});
    BufferId t = hasCollective ? builder.arena(DType::F32, {64}) : y;
    builder.add(builder.launch("add_f32", {x, builder.constant(DType::F32, {64}, ones.data()), t}, 64, 64));
    if (hasCollective)
      builder.add(builder.collective(builder.sumOver({{"a"}}, DType::F32, {64}), t, y));
    return local.load(builder);
  };
  auto call = [&](int seed) {
    std::mt19937 random(seed);
    std::unique_ptr<Executor> programs[] = {makeProgram(false), makeProgram(true)};
    struct Running {
      std::shared_ptr<Launch> launch;
      std::vector<std::vector<DeviceBufferRef>> results;
      float expected;
    };
    std::vector<Running> running;
    auto endOne = [&] {
      size_t which = random() % running.size();
      running[which].launch->wait();
      for (int device = 0; device < count; ++device)
        for (float value : download<float>(*local.devices[device], running[which].results[device][0]))
          ASSERT_EQ(value, running[which].expected);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    };
    for (int round = 0; round < kRounds; ++round) {
      bool hasCollective = random() % 4 == 0;
      std::vector<std::vector<DeviceBufferRef>> arguments, results;
      for (const DeviceRef &device : local.devices) {
        arguments.push_back({upload(*device, std::vector<float>(64, float(round)))});
        results.push_back({device->allocate(256)});
      }
      float sum = float(round) + 1;
      running.push_back({programs[hasCollective]->launch(arguments, results, nullptr), results,
                         hasCollective ? sum * float(count) : sum});
      while (!running.empty() && (running.size() == 4 || random() % 4 != 0))
        endOne();
    }
    while (!running.empty())
      endOne();
  };
  std::vector<std::thread> callers;
  for (int seed = 0; seed < kThreads; ++seed)
    callers.emplace_back(call, seed);
  for (std::thread &caller : callers)
    caller.join();
}

TEST(Executor, ProfilesEveryStep) {
  Local local(2);
  auto executor = Executor::create(loopProgram("less_i32", 2), local.executorOptions);
  std::vector<std::vector<DeviceBufferRef>> arguments, results;
  for (auto &device : local.devices) {
    arguments.push_back({upload(*device, std::vector<int32_t>{2})});
    results.push_back({device->allocate(4)});
  }
  std::vector<ProfileEvent> events;
  executor->run(arguments, results, &events);
  std::vector<std::string> names;
  for (const ProfileEvent &event : events) {
    EXPECT_LE(event.beginNs, event.endNs);
    if (event.device == 1)
      names.push_back(executor->getStepInfo()[event.step].name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"clear_i32", "while", "less_i32", "increment_i32", "all_reduce start",
                                             "all_reduce done", "less_i32", "increment_i32", "all_reduce start",
                                             "all_reduce done", "less_i32"}));
  EXPECT_EQ(executor->getStepInfo()[4].location.str(), "x.spmd:4:1");
}

// Arguments and artifacts that do not fit are refused when they are loaded or passed, and the error names both sides.
TEST(Executor, RefusesWhatDoesNotFit) {
  Local local(2);
  {
    PlanBuilder builder({{{"a", 3}}});
    EXPECT_EQ(messageOf([&] { local.load(builder); }), "the mesh of 'main' has 3 devices, but 2 were given");
  }
  PlanBuilder builder({{{"a", 2}}});
  BufferId x = builder.parameter(DType::F32, {10}), y = builder.result(DType::F32, {10});
  builder.add(builder.launch("add_f32", {x, x, y}, 10));
  auto executor = local.load(builder);
  auto buffer = [&](int i, int64_t bytes) { return local.devices[i]->allocate(bytes); };
  EXPECT_EQ(messageOf([&] { executor->run({{buffer(0, 40)}}, {{buffer(0, 40)}, {buffer(1, 40)}}); }),
            "'main': arguments for 1 device were given, but this process has 2");
  EXPECT_EQ(messageOf([&] { executor->run({{buffer(0, 40)}, {buffer(1, 36)}}, {{buffer(0, 40)}, {buffer(1, 40)}}); }),
            "'main': the buffer of argument 'p0' on cpu:1 has 36 bytes, but 40 are needed");
  builder.plan().target.features = {"+sse2", "+avx2", "+amx-future", "-sse3"};
  builder.plan().target.cpu = "nextcpu";
  std::string error = messageOf([&] { local.load(builder); });
  EXPECT_EQ(error,
            "the artifact is compiled for nextcpu, but this CPU lacks amx-future; compile it on this machine, or "
            "with --target=cpu:<its name>");
  builder.plan().target.features.clear();
  builder.add(builder.launch("no_such_kernel", {x, y}));
  EXPECT_EQ(messageOf([&] { local.load(builder); }),
            "the kernels of 'main' lack 'no_such_kernel': the artifact is incomplete; compile it again");
  builder.plan().target.backend = "cuda";
  EXPECT_NE(messageOf([&] { local.load(builder); }).find("is compiled for cuda"), std::string::npos);
  auto broken = std::make_shared<Artifact>(*builder.finish());
  broken->plan.target.backend = "cpu";
  broken->code.resize(100);
  EXPECT_NE(messageOf([&] { Executor::create(broken, local.executorOptions); }).find("cannot be loaded"),
            std::string::npos);
}

/// The job is over after so many queries.
class CountedHealth final : public Health {
public:
  explicit CountedHealth(int limit) : limit(limit) {}
  void atStep(uint64_t, int32_t, const SourceLocation &) override {}
  bool isOver() const override { return ++questions > limit; }
  [[noreturn]] void throwVerdict() override { throw Error("process 7 was killed", Error::Kind::Verdict); }
  void reportFailure(const std::string &) override { ++reports; }

  const int limit;
  mutable std::atomic<int> questions{0};
  std::atomic<int> reports{0};
};

// The job ends while a device is in the middle of a long step: it does not finish the step.
TEST(Executor, LeavesLongStepsWhenTheJobIsOver) {
  for (int threads : {1, 2}) {
    PlanBuilder builder({{}});
    BufferId x = builder.parameter(DType::F32, {});
    builder.add(builder.launch("slow", {x}, 640));
    Local local(1, threads);
    CountedHealth health(3);
    local.executorOptions.health = &health;
    auto executor = local.load(builder);
    DeviceBufferRef value = upload(*local.devices[0], std::vector<float>{0});
    EXPECT_EQ(messageOf([&] { executor->run({{value}}, {{}}); }), "process 7 was killed");
    EXPECT_EQ(health.reports, 0);
    // Each chunk queries once; of the 64 chunks (8 on two threads) only the first few ran.
    EXPECT_LE(health.questions, 3 + 4 * threads);
  }
  // Also between blocks of rows of a product: it queries often enough that some rows are done and others not.
  PlanBuilder builder({{}});
  BufferId x = builder.parameter(DType::F32, {65536, 16}), w = builder.parameter(DType::F32, {16, 16});
  BufferId y = builder.result(DType::F32, {65536, 16});
  builder.add(builder.step(MatmulStep{x, w, y, 1, 65536, 16, 16, false, false, -1, {}}));
  bool leftHalfway = false;
  for (int limit = 1; limit <= 512 && !leftHalfway; limit *= 2) {
    Local local(1);
    CountedHealth health(limit);
    local.executorOptions.health = &health;
    auto executor = local.load(builder);
    Device &device = *local.devices[0];
    DeviceBufferRef result = upload(device, std::vector<float>(65536 * 16, -1.0f));
    auto arguments = std::vector<DeviceBufferRef>{upload(device, std::vector<float>(65536 * 16, 1.0f)),
                                                  upload(device, std::vector<float>(16 * 16, 1.0f))};
    if (messageOf([&] { executor->run({arguments}, {{result}}); }).empty())
      break;
    std::vector<float> values = download<float>(device, result);
    leftHalfway = values.front() == 16.0f && values.back() == -1.0f;
  }
  EXPECT_TRUE(leftHalfway);
}

// One device leaves a loop earlier than the other: both notice it before the run counts as done, and name both
// locations.
TEST(Executor, DivergingLoopEndsBothProcesses) {
  auto artifact = loopProgram("less_by_coordinate", 2);
  auto results = runProcesses({2, 1}, [&](ProcessContext &context) {
    ExecutorOptions options;
    options.devices = {0, 1};
    options.localDevices = context.devices;
    options.collectives = context.collectives;
    options.health = context.health;
    auto executor = Executor::create(artifact, options);
    DeviceBufferRef limit = upload(*context.devices[0], std::vector<int32_t>{5});
    executor->run({{limit}}, {{context.devices[0]->allocate(4)}});
    return std::vector<char>();
  });
  for (const Outcome &outcome : results) {
    EXPECT_NE(outcome.error.find("the processes do not run the same program"), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("all_reduce sum i32[] over (a) at x.spmd:4:1"), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("the end of 'main' at x.spmd:5:1"), std::string::npos) << outcome.error;
    EXPECT_LT(outcome.seconds, timeLimit(2.0));
  }
}

} // namespace
