//===- FakeDriverHelper.cpp - NVIDIA's driver without a GPU ---------------===//

#include "tests/runtime/exec/cuda/FakeDriverHelper.h"

#include "tests/runtime/exec/cuda/FakeEntriesHelper.h"

#include <gtest/gtest.h>

namespace spmd::cuda {

FakeDriver::FakeDriver(FakeDriverOptions given)
    : options(given), streams(given.gpus, given.seed), memory(given.gpus, given.bytesPerGpu),
      kernelsToFailure(static_cast<size_t>(given.gpus), 0) {
  driver = Driver::make(FakeEntries::begin(*this));
}

FakeDriver::~FakeDriver() {
  while (streams.run(1) == 1)
    continue;
  FakeEntries::end();
  // The objects of a context with an error are lost.
  for (int gpu = 0; gpu < options.gpus; ++gpu)
    if (streams.getError(gpu) != kSuccess)
      return;
  EXPECT_EQ(streams.countStreams(), 0u) << "streams that were not destroyed";
  EXPECT_EQ(streams.countEvents(), 0u) << "events that were not destroyed";
  EXPECT_EQ(modules.size(), 0u) << "modules that were not unloaded";
  EXPECT_EQ(graphs.size() + graphExecs.size(), 0u) << "graphs that were not destroyed";
  EXPECT_EQ(memory.countAllocations(), 0u) << "memory that was not freed";
  EXPECT_EQ(memory.countPinned(), 0u) << "host memory that is still pinned";
  EXPECT_EQ(retained.size(), 0u) << "contexts that were not released";
}

void FakeDriver::failCall(const std::string &entry, int64_t call, Result error) {
  std::lock_guard lock(mutex);
  failures[entry][calls[entry] + call] = error;
}

void FakeDriver::failKernel(int gpu, int64_t number) {
  std::lock_guard lock(mutex);
  kernelsToFailure[static_cast<size_t>(gpu)] = number;
}

int64_t FakeDriver::countCalls(const std::string &entry) const {
  std::lock_guard lock(mutex);
  auto known = calls.find(entry);
  return known == calls.end() ? 0 : known->second;
}

int64_t FakeDriver::countKernels() const {
  std::lock_guard lock(mutex);
  return kernels;
}

spmdc::ThreadOrder FakeDriver::drawOrder() {
  switch (streams.draw(4)) {
  case 0:
    return spmdc::ThreadOrder::backward();
  case 1:
    return spmdc::ThreadOrder::shuffled(streams.draw(1u << 16));
  default: // Half of the tests, because it is the fastest order.
    return spmdc::ThreadOrder::forward();
  }
}

Result FakeDriver::launch(FakeStream &stream, const LoadedFunction &function, int64_t blocks, int32_t threads,
                          void **arguments) {
  // The driver copies arguments when a kernel is queued.
  std::vector<void *> words;
  for (int64_t i = 0; i < function.argumentCount; ++i)
    words.push_back(*static_cast<void **>(arguments[i]));
  streams.queue(stream, [this, gpu = stream.gpu, function, blocks, threads, words = std::move(words)] {
    return runKernel(gpu, function, blocks, threads, words);
  });
  return kSuccess;
}

bool FakeDriver::runKernel(int gpu, const LoadedFunction &function, int64_t blocks, int32_t threads,
                           const std::vector<void *> &words) {
  ++kernels;
  int64_t &left = kernelsToFailure[static_cast<size_t>(gpu)];
  if (left > 0 && --left == 0) {
    streams.fail(gpu, kIllegalAddress);
    return true;
  }
  if (!function.module->isLoaded) {
    ADD_FAILURE() << function.symbol << " runs after its module was unloaded";
    return true;
  }
  spmdc::ThreadOrder order = drawOrder();
  std::string problem = function.module->emulator->launch(function.symbol, {.gridBlocks = blocks,
                                                                            .blockThreads = threads,
                                                                            .arguments = words,
                                                                            .order = order,
                                                                            .buffers = memory.listBuffers(gpu),
                                                                            .findsRaces = order.isForward()});
  if (!problem.empty()) {
    ADD_FAILURE() << problem;
    streams.fail(gpu, kLaunchFailed);
  }
  return true;
}

} // namespace spmd::cuda
