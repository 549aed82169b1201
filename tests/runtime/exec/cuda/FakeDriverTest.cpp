//===- FakeDriverTest.cpp - tests of the fake driver ----------------------===//
//
// Makes each mistake that the fake driver has to detect, so that other tests can rely on it.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/LibraryPtx.h"
#include "runtime/support/Error.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <cstring>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class FakeDriverTest : public testing::Test {
protected:
  void SetUp() override {
    gpu.makeCurrent();
    for (Stream &stream : streams)
      ASSERT_EQ(driver.StreamCreate(&stream, kStreamNonBlocking), kSuccess);
  }
  void TearDown() override {
    for (Stream stream : streams)
      driver.StreamDestroy(stream);
  }

  /// Counts values that a stream reads before another stream writes them, with or without an event between them.
  int64_t countStale(bool hasEvent) {
    constexpr int kRounds = 40, kBytes = 4;
    int64_t stale = 0;
    Event event = nullptr;
    EXPECT_EQ(driver.EventCreate(&event, kEventWithoutTime), kSuccess);
    for (int round = 0; round < kRounds; ++round) {
      DevicePointer array = gpu.allocate(kBytes, streams[0]);
      EXPECT_EQ(driver.MemsetD8Async(array, 1, kBytes, streams[0]), kSuccess);
      if (hasEvent) {
        EXPECT_EQ(driver.EventRecord(event, streams[0]), kSuccess);
        EXPECT_EQ(driver.StreamWaitEvent(streams[1], event, 0), kSuccess);
      }
      char read = 0;
      EXPECT_EQ(driver.MemcpyDtoHAsync(&read, array, 1, streams[1]), kSuccess);
      EXPECT_EQ(driver.StreamSynchronize(streams[1]), kSuccess);
      stale += read != 1;
      gpu.free(array, streams[0]);
    }
    EXPECT_EQ(driver.StreamSynchronize(streams[0]), kSuccess);
    driver.EventDestroy(event);
    return stale;
  }

  FakeDriver fake{{.gpus = 2}};
  const Driver &driver = *fake.getDriver();
  Gpu gpu{fake.getDriver(), 0}, other{fake.getDriver(), 1};
  Stream streams[2] = {};
};

// A missing event is detected soon; with the event the order always holds.
TEST_F(FakeDriverTest, EventsOrderStreams) {
  EXPECT_EQ(countStale(true), 0);
  EXPECT_GT(countStale(false), 5);
}

TEST_F(FakeDriverTest, NothingRunsUntilSomebodyWaits) {
  DevicePointer array = gpu.allocate(4, streams[0]);
  uint32_t seen = 0;
  ASSERT_EQ(driver.MemsetD32Async(array, 77, 1, streams[0]), kSuccess);
  ASSERT_EQ(driver.MemcpyDtoHAsync(&seen, array, 4, streams[0]), kSuccess);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(driver.StreamQuery(streams[0]), kNotReady);
  int questions = 1;
  while (driver.StreamQuery(streams[0]) == kNotReady)
    ++questions;
  EXPECT_EQ(seen, 77u);
  EXPECT_LT(questions, 100);
  gpu.free(array, streams[0]);
  driver.StreamSynchronize(streams[0]);
}

TEST_F(FakeDriverTest, NewMemoryIsNanAndCopiesStayInside) {
  DevicePointer array = gpu.allocate(8, streams[0]);
  float seen[2] = {};
  ASSERT_EQ(driver.MemcpyDtoHAsync(seen, array, 8, streams[0]), kSuccess);
  driver.StreamSynchronize(streams[0]);
  EXPECT_TRUE(std::isnan(seen[0]) && std::isnan(seen[1]));
  EXPECT_EQ(driver.MemcpyDtoHAsync(seen, array + 4, 8, streams[0]), kInvalidValue);
  EXPECT_EQ(driver.MemsetD8Async(array - 1, 0, 1, streams[0]), kInvalidValue);
  gpu.free(array, streams[0]);
  driver.StreamSynchronize(streams[0]);
  EXPECT_EQ(driver.MemsetD8Async(array, 0, 1, streams[0]), kInvalidValue);
}

TEST_F(FakeDriverTest, WritesBesideAnAllocationAreFound) {
  DevicePointer array = gpu.allocate(10, streams[0]);
  reinterpret_cast<char *>(array)[10] = 0;
  gpu.free(array, streams[0]);
  EXPECT_NONFATAL_FAILURE(driver.StreamSynchronize(streams[0]), "written at offset 10");
}

TEST_F(FakeDriverTest, FreedMemoryCannotBeRead) {
  DevicePointer array = gpu.allocate(10, streams[0]);
  gpu.free(array, streams[0]);
  driver.StreamSynchronize(streams[0]);
  EXPECT_DEATH(EXPECT_EQ(*reinterpret_cast<volatile char *>(array), 0), "");
}

TEST_F(FakeDriverTest, StreamsBelongToAGpu) {
  DevicePointer array = gpu.allocate(4, streams[0]);
  other.makeCurrent();
  EXPECT_NE(driver.MemsetD8Async(array, 0, 4, streams[0]), kSuccess);
  gpu.makeCurrent();
  EXPECT_EQ(driver.MemsetD8Async(array, 0, 4, streams[0]), kSuccess);
  std::thread([&] { EXPECT_EQ(driver.MemsetD8Async(array, 0, 4, streams[0]), kInvalidContext); }).join();
  gpu.free(array, streams[0]);
  driver.StreamSynchronize(streams[0]);
}

// A graph contains the queued work, and runs it at each launch.
TEST_F(FakeDriverTest, Graphs) {
  DevicePointer array = gpu.allocate(4, streams[0]);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  ASSERT_EQ(driver.StreamBeginCapture(streams[1], kCaptureThreadLocal), kSuccess);
  ASSERT_EQ(driver.MemsetD32Async(array, 5, 1, streams[1]), kSuccess);
  EXPECT_EQ(driver.StreamSynchronize(streams[1]), kCaptureUnsupported);
  ASSERT_EQ(driver.StreamEndCapture(streams[1], &graph), kSuccess);
  ASSERT_EQ(driver.GraphInstantiate(&exec, graph, 0), kSuccess);
  ASSERT_EQ(driver.GraphDestroy(graph), kSuccess);
  for (int i = 0; i < 3; ++i) {
    uint32_t seen = 0;
    ASSERT_EQ(driver.MemsetD32Async(array, 1, 1, streams[0]), kSuccess);
    ASSERT_EQ(driver.GraphLaunch(exec, streams[0]), kSuccess);
    ASSERT_EQ(driver.MemcpyDtoHAsync(&seen, array, 4, streams[0]), kSuccess);
    ASSERT_EQ(driver.StreamSynchronize(streams[0]), kSuccess);
    EXPECT_EQ(seen, 5u);
  }
  ASSERT_EQ(driver.GraphExecDestroy(exec), kSuccess);
  gpu.free(array, streams[0]);
  driver.StreamSynchronize(streams[0]);
}

// Loading a module invalidates a capture, unless the thread has chosen relaxed capture.
// A node has to know its graph, what it waits for, and its condition; its own graph may be captured once it is there.
TEST_F(FakeDriverTest, ConditionalNodes) {
  DevicePointer array = gpu.allocate(4, streams[0]);
  Graph graph = nullptr, captured = nullptr, body = nullptr;
  GraphExec exec = nullptr;
  GraphCondition condition = 0;
  GraphNode node = nullptr;
  const GraphNode *before = nullptr;
  size_t count = 0;
  int status = 0;
  ASSERT_EQ(driver.StreamGetCaptureInfo(streams[1], &status, nullptr, &captured, nullptr, nullptr, nullptr), kSuccess);
  EXPECT_NE(status, kCaptureActive);
  EXPECT_NE(driver.GraphConditionalHandleCreate(&condition, captured, gpu.getContext(), 0, 0), kSuccess);

  ASSERT_EQ(driver.StreamBeginCapture(streams[1], kCaptureThreadLocal), kSuccess);
  ASSERT_EQ(driver.MemsetD32Async(array, 5, 1, streams[1]), kSuccess);
  ASSERT_EQ(driver.StreamGetCaptureInfo(streams[1], &status, nullptr, &captured, &before, nullptr, &count), kSuccess);
  EXPECT_EQ(status, kCaptureActive);
  ASSERT_EQ(driver.GraphConditionalHandleCreate(&condition, captured, gpu.getContext(), 0, 0), kSuccess);
  ConditionalNode parameters;
  parameters.condition = condition;
  parameters.context = gpu.getContext();
  EXPECT_NE(driver.GraphAddNode(&node, captured, nullptr, nullptr, 0, &parameters), kSuccess); // It waits for nothing.
  parameters.condition = condition + 1;
  EXPECT_NE(driver.GraphAddNode(&node, captured, before, nullptr, count, &parameters), kSuccess);
  parameters.condition = condition;
  ASSERT_EQ(driver.GraphAddNode(&node, captured, before, nullptr, count, &parameters), kSuccess);
  EXPECT_NONFATAL_FAILURE(driver.MemsetD32Async(array, 6, 1, streams[1]), "does not wait for the node before it");
  EXPECT_NE(
      driver.StreamBeginCaptureToGraph(streams[1], parameters.graphs[0], nullptr, nullptr, 0, kCaptureThreadLocal),
      kSuccess);
  ASSERT_EQ(driver.StreamEndCapture(streams[1], &graph), kSuccess);
  driver.GraphDestroy(graph);

  // One that no kernel sets.
  ASSERT_EQ(driver.StreamBeginCapture(streams[1], kCaptureThreadLocal), kSuccess);
  ASSERT_EQ(driver.StreamGetCaptureInfo(streams[1], &status, nullptr, &captured, &before, nullptr, &count), kSuccess);
  ASSERT_EQ(driver.GraphConditionalHandleCreate(&condition, captured, gpu.getContext(), 0, 0), kSuccess);
  parameters.condition = condition;
  ASSERT_EQ(driver.GraphAddNode(&node, captured, before, nullptr, count, &parameters), kSuccess);
  ASSERT_EQ(driver.StreamUpdateCaptureDependencies(streams[1], &node, nullptr, 1, kSetDependencies), kSuccess);
  ASSERT_EQ(
      driver.StreamBeginCaptureToGraph(streams[0], parameters.graphs[0], nullptr, nullptr, 0, kCaptureThreadLocal),
      kSuccess);
  ASSERT_EQ(driver.MemsetD32Async(array, 7, 1, streams[0]), kSuccess);
  ASSERT_EQ(driver.StreamEndCapture(streams[0], &body), kSuccess);
  EXPECT_EQ(body, parameters.graphs[0]);
  ASSERT_EQ(driver.StreamEndCapture(streams[1], &graph), kSuccess);
  ASSERT_EQ(driver.GraphInstantiate(&exec, graph, 0), kSuccess);
  driver.GraphDestroy(graph);
  ASSERT_EQ(driver.GraphLaunch(exec, streams[0]), kSuccess);
  EXPECT_NONFATAL_FAILURE(driver.StreamSynchronize(streams[0]), "before its condition is set");
  driver.GraphExecDestroy(exec);
  gpu.free(array, streams[0]);
  driver.StreamSynchronize(streams[0]);
}

TEST_F(FakeDriverTest, ModulesAndGraphs) {
  Graph graph = nullptr;
  Module module = nullptr;
  std::string ptx(findLibraryPtx("Boxes"));
  ASSERT_EQ(driver.StreamBeginCapture(streams[1], kCaptureThreadLocal), kSuccess);
  EXPECT_EQ(driver.ModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), kCaptureUnsupported);
  EXPECT_EQ(driver.StreamEndCapture(streams[1], &graph), kCaptureInvalidated);
  ASSERT_EQ(driver.StreamBeginCapture(streams[1], kCaptureThreadLocal), kSuccess);
  int mode = kCaptureRelaxed;
  driver.ThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(driver.ModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), kSuccess);
  driver.ThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(driver.StreamEndCapture(streams[1], &graph), kSuccess);
  driver.GraphDestroy(graph);
  driver.ModuleUnload(module);
}

TEST_F(FakeDriverTest, EntriesFailOnRequest) {
  fake.failCall("StreamQuery", 2, kLaunchFailed);
  EXPECT_EQ(driver.StreamQuery(streams[0]), kSuccess);
  EXPECT_EQ(driver.StreamQuery(streams[0]), kLaunchFailed);
  EXPECT_EQ(driver.StreamQuery(streams[0]), kSuccess);
  EXPECT_EQ(fake.countCalls("StreamQuery"), 3);
}

TEST(FakeDriverEnd, WhatIsLeftIsAFailure) {
  EXPECT_NONFATAL_FAILURE(
      {
        FakeDriver fake;
        Gpu gpu(fake.getDriver(), 0);
        Event event = nullptr;
        fake.getDriver()->EventCreate(&event, 0);
      },
      "events that were not destroyed");
}

} // namespace
