//===- FakeDriver.cpp - NVIDIA's driver without a GPU ---------------------===//

#include "tests/runtime/device/cuda/doubles/FakeDriver.h"

#include "tests/runtime/device/cuda/doubles/FakeCupti.h"
#include "tests/runtime/device/cuda/doubles/FakeEntries.h"
#include "tests/runtime/device/cuda/doubles/Mistakes.h"

namespace spmd::cuda {

FakeDriver::FakeDriver(FakeDriverOptions given)
    : options(given), streams(given.gpus, given.seed, given.queues), memory(given.gpus, given.bytesPerGpu),
      kernelsToFailure(static_cast<size_t>(given.gpus), 0), kernelsToHang(static_cast<size_t>(given.gpus), 0) {
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
  auto expectNone = [](size_t count, const char *what) {
    if (count > 0)
      reportMistake(std::to_string(count) + " " + what);
  };
  expectNone(streams.countStreams(), "streams that were not destroyed");
  expectNone(streams.countEvents(), "events that were not destroyed");
  expectNone(modules.size(), "modules that were not unloaded");
  expectNone(graphs.size() + graphExecs.size(), "graphs that were not destroyed");
  expectNone(memory.countAllocations(), "allocations that were not freed");
  expectNone(memory.countPinned(), "parts of host memory that are still pinned");
  expectNone(retained.size(), "contexts that were not released");
}

void FakeDriver::failCall(const std::string &entry, int64_t call, Result error) {
  std::lock_guard lock(mutex);
  failures[entry][calls[entry] + call] = error;
}

void FakeDriver::failKernel(int gpu, int64_t number) {
  std::lock_guard lock(mutex);
  kernelsToFailure[static_cast<size_t>(gpu)] = number;
}

void FakeDriver::hangKernel(int gpu, int64_t number) {
  std::lock_guard lock(mutex);
  kernelsToHang[static_cast<size_t>(gpu)] = number;
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

void FakeDriver::noteCall(uint32_t kind, bool isInRegion) {
  if (cupti)
    cupti->call(kind, isInRegion);
}

void FakeDriver::queueWork(FakeStream &stream, uint32_t kind, FakeWork work) {
  // Graphs are not used where CUPTI records.
  bool isRecorded = cupti && !stream.isCapturing;
  streams.queue(stream, isRecorded ? cupti->observe(stream, kind, std::move(work)) : std::move(work));
}

Result FakeDriver::launch(FakeStream &stream, const LoadedFunction &function, LaunchSize size, void **arguments) {
  // The driver copies arguments when a kernel is queued.
  std::vector<void *> words;
  for (int64_t i = 0; i < function.argumentCount; ++i)
    words.push_back(*static_cast<void **>(arguments[i]));
  queueWork(stream, kCuptiKernel, [this, gpu = stream.gpu, function, size, words = std::move(words)] {
    return runKernel(gpu, function, size, words);
  });
  return kSuccess;
}

bool FakeDriver::runKernel(int gpu, const LoadedFunction &function, LaunchSize size, const std::vector<void *> &words) {
  // A kernel that hangs is tried again and again.
  if (int64_t &toHang = kernelsToHang[static_cast<size_t>(gpu)]; toHang == 1)
    return false;
  else if (toHang > 1)
    --toHang;
  ++kernels;
  int64_t &left = kernelsToFailure[static_cast<size_t>(gpu)];
  if (left > 0 && --left == 0) {
    streams.fail(gpu, kIllegalAddress);
    return true;
  }
  if (!function.module->isLoaded) {
    reportMistake(function.symbol + " runs after its module was unloaded");
    return true;
  }
  spmdc::ThreadOrder order = drawOrder();
  auto setCondition = [this](uint64_t condition, uint32_t value) { conditions.set(condition, value); };
  std::string problem = function.module->emulator->launch(function.symbol, {.gridBlocks = size.blocks,
                                                                            .blockThreads = size.threads,
                                                                            .arguments = words,
                                                                            .order = order,
                                                                            .sharedBytes = size.sharedBytes,
                                                                            .buffers = memory.listBuffers(gpu),
                                                                            .setCondition = setCondition,
                                                                            .findsRaces = order.isForward()});
  if (!problem.empty()) {
    reportMistake(problem);
    streams.fail(gpu, kLaunchFailed);
  }
  return true;
}

} // namespace spmd::cuda
