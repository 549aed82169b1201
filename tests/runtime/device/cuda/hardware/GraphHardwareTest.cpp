//===- GraphHardwareTest.cpp - loops and branches in graphs on a GPU ------===//

#include "runtime/device/cuda/GraphControl.h"
#include "tests/runtime/device/cuda/hardware/Machine.h"

#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class GraphHardware : public HardwareTest {
protected:
  void SetUp() override {
    HardwareTest::SetUp();
    if (IsSkipped())
      return;
    if (!machine->driver.hasConditionalNodes())
      GTEST_SKIP() << "the driver has no conditional nodes";
    stop = std::make_unique<LoopStop>(machine->gpu);
    control = std::make_unique<GraphControl>(machine->gpu, machine->library.getKernels(), *stop,
                                             machine->upload(std::vector<char>(sizeof(uint64_t))));
  }

  void copy(Stream stream, DevicePointer target, DevicePointer source, size_t bytes = 1) {
    machine->driver.check(machine->driver.MemcpyDtoDAsync(target, source, bytes, stream), "cuMemcpyDtoDAsync");
  }
  void fill(Stream stream, DevicePointer target, unsigned char value, size_t bytes = 1) {
    machine->driver.check(machine->driver.MemsetD8Async(target, value, bytes, stream), "cuMemsetD8Async");
  }

  /// Runs what `queue` queues as a graph, so many times.
  void run(const std::function<void(Stream)> &queue, int times = 1) {
    launch(queue, times);
    machine->driver.check(machine->driver.StreamSynchronize(machine->stream), "cuStreamSynchronize");
    machine->driver.check(machine->driver.GraphExecDestroy(exec), "cuGraphExecDestroy");
  }
  void launch(const std::function<void(Stream)> &queue, int times = 1) {
    const Driver &driver = machine->driver;
    // An error of the arguments' upload is not one of the capture.
    driver.check(driver.StreamSynchronize(machine->stream), "cuStreamSynchronize");
    Graph graph = nullptr;
    driver.check(driver.StreamBeginCapture(machine->stream, kCaptureThreadLocal), "cuStreamBeginCapture");
    queue(machine->stream);
    driver.check(driver.StreamEndCapture(machine->stream, &graph), "cuStreamEndCapture");
    driver.check(driver.GraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
    driver.check(driver.GraphDestroy(graph), "cuGraphDestroy");
    for (int i = 0; i < times; ++i)
      driver.check(driver.GraphLaunch(exec, machine->stream), "cuGraphLaunch");
  }

  std::unique_ptr<LoopStop> stop;
  std::unique_ptr<GraphControl> control;
  GraphExec exec = nullptr;
};

// The body sees the number of its iteration, in every launch of the graph.
TEST_F(GraphHardware, For) {
  LibraryCall call;
  call.function = LibraryFunction::UpdateSlice;
  call.dtype = DType::U8;
  call.sizes = {8, 1};
  call.indexTypes = {DType::I32};
  DevicePointer array = machine->upload(std::vector<char>(8)), mark = machine->upload({7});
  DevicePointer number = machine->upload(std::vector<char>(4)), counter = machine->upload({9, 9, 9, 9});
  machine->library.prepare(call);
  run(
      [&](Stream stream) {
        fill(stream, array, 0, 8);
        control->addFor(stream, number, counter, 2, 6,
                        [&](Stream body) { machine->library.run(call, body, {array, mark, counter}, array, 0); });
        fill(stream, array + 7, 1);
      },
      2);
  EXPECT_EQ(machine->download(array, 8), (std::vector<char>{0, 0, 7, 7, 7, 7, 0, 1}));
  EXPECT_EQ(machine->download(counter, 4), (std::vector<char>{5, 0, 0, 0}));
  run([&](Stream stream) { control->addFor(stream, number, 0, 3, 3, [&](Stream body) { fill(body, array, 3, 8); }); });
  EXPECT_EQ(machine->download(array, 8), (std::vector<char>{0, 0, 7, 7, 7, 7, 0, 1}));
}

// Three iterations: each moves the flags down and a mark up.
TEST_F(GraphHardware, While) {
  DevicePointer flags = machine->upload({1, 1, 1, 0, 0, 0, 0, 0}), predicate = machine->upload({0});
  DevicePointer marks = machine->upload({1, 0, 0, 0, 0, 0, 0, 0});
  run([&](Stream stream) {
    control->addWhile(
        stream, predicate, [&](Stream condition) { copy(condition, predicate, flags); },
        [&](Stream body) {
          for (DevicePointer i = 0; i < 7; ++i)
            copy(body, flags + i, flags + i + 1);
          for (DevicePointer i = 7; i > 0; --i)
            copy(body, marks + i, marks + i - 1);
          fill(body, marks, 0);
        });
  });
  EXPECT_EQ(machine->download(marks, 8), (std::vector<char>{0, 0, 0, 1, 0, 0, 0, 0}));
}

// The first branch writes over the predicate.
TEST_F(GraphHardware, If) {
  for (char value : {0, 1}) {
    DevicePointer predicate = machine->upload({value}), result = machine->upload({0, 0});
    run([&](Stream stream) {
      control->addIf(
          stream, predicate,
          [&](Stream branch) {
            fill(branch, predicate, 0);
            fill(branch, result, 5);
          },
          [&](Stream branch) {
            fill(branch, predicate, 1);
            fill(branch, result + 1, 6);
          });
    });
    EXPECT_EQ(machine->download(result, 2), (value ? std::vector<char>{5, 0} : std::vector<char>{0, 6}));
  }
}

// A loop in a branch in a loop.
TEST_F(GraphHardware, Nested) {
  DevicePointer numbers[] = {machine->upload({0, 0, 0, 0}), machine->upload({0, 0, 0, 0})};
  DevicePointer counter = machine->upload({0, 0, 0, 0}), marks = machine->upload({1, 0, 0, 0, 0, 0, 0, 0});
  run([&](Stream stream) {
    control->addFor(stream, numbers[0], counter, 0, 3, [&](Stream outer) {
      // The lowest byte of the number is the predicate: the iterations 1 and 2 have two steps each.
      control->addIf(outer, counter,
                     [&](Stream branch) {
                       control->addFor(branch, numbers[1], 0, 0, 2, [&](Stream inner) {
                         for (DevicePointer i = 7; i > 0; --i)
                           copy(inner, marks + i, marks + i - 1);
                         fill(inner, marks, 0);
                       });
                     },
                     {});
    });
  });
  EXPECT_EQ(machine->download(marks, 8), (std::vector<char>{0, 0, 0, 0, 1, 0, 0, 0}));
}

// A word that the host writes ends a loop that does not end by itself.
TEST_F(GraphHardware, Stops) {
  const Driver &driver = machine->driver;
  DevicePointer predicate = machine->upload({1});
  launch([&](Stream stream) {
    control->addWhile(stream, predicate, [&](Stream condition) { fill(condition, predicate, 1); }, [&](Stream) {});
  });
  auto wait = [&](std::chrono::milliseconds time) {
    auto end = std::chrono::steady_clock::now() + time;
    while (driver.StreamQuery(machine->stream) == kNotReady && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    return driver.StreamQuery(machine->stream);
  };
  EXPECT_EQ(wait(std::chrono::milliseconds(50)), kNotReady);
  stop->set(true);
  ASSERT_EQ(wait(std::chrono::seconds(10)), kSuccess);
  driver.check(driver.GraphExecDestroy(exec), "cuGraphExecDestroy");
}

} // namespace
