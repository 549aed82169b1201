//===- EmulatedDriverHelper.cpp - NVIDIA's driver without a GPU -----------===//

#include "tests/runtime/device/cuda/EmulatedDriverHelper.h"

#include "runtime/device/cuda/KernelSizes.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

namespace spmd::cuda {

struct ModuleHandle {
  spmdc::GpuEmulator *emulator;
  std::map<std::string, std::unique_ptr<FunctionHandle>> functions;
};
struct FunctionHandle {
  spmdc::GpuEmulator *emulator;
  std::string symbol;
};

namespace {

constexpr Result kInvalidValue = 1, kInvalidImage = 200, kNotFound = 500, kLaunchFailed = 719,
                 kCaptureUnsupported = 900;

struct State {
  spmdc::ThreadOrder order = spmdc::ThreadOrder::forward();
  std::vector<std::string> launches;
  int captureMode = kCaptureThreadLocal;
};
std::optional<State> state;
/// All arrays that exist.
std::vector<spmdc::GpuBuffer> arrays;

/// Returns the emulator of a module's PTX, created once per process: compiling a module for this machine takes longer
/// than most tests.
spmdc::GpuEmulator *findEmulator(const std::string &ptx, std::string &error) {
  static std::map<std::string, std::unique_ptr<spmdc::GpuEmulator>> all;
  std::unique_ptr<spmdc::GpuEmulator> &emulator = all[ptx];
  if (emulator)
    return emulator.get();
  auto created = std::make_unique<spmdc::GpuEmulator>(ptx, error);
  if (error.empty())
    emulator = std::move(created);
  return emulator.get();
}

Result loadModule(Module *module, const void *image, unsigned, int *, void **) {
  // Like the driver in a thread that captures a stream.
  if (state->captureMode != kCaptureRelaxed)
    return kCaptureUnsupported;
  std::string error;
  auto loaded = std::make_unique<ModuleHandle>();
  loaded->emulator = findEmulator(static_cast<const char *>(image), error);
  if (!error.empty()) {
    ADD_FAILURE() << error;
    return kInvalidImage;
  }
  *module = loaded.release();
  return kSuccess;
}

Result unloadModule(Module module) {
  delete module;
  return kSuccess;
}

Result getFunction(Function *function, Module module, const char *symbol) {
  if (module->emulator->countArguments(symbol) < 0)
    return kNotFound;
  std::unique_ptr<FunctionHandle> &known = module->functions[symbol];
  if (!known)
    known = std::make_unique<FunctionHandle>(FunctionHandle{module->emulator, symbol});
  *function = known.get();
  return kSuccess;
}

/// All arguments have 64 bits, which LibraryTest checks in the PTX.
Result launchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned threads,
                    unsigned threadsY, unsigned threadsZ, unsigned sharedBytes, Stream, void **arguments,
                    void **extra) {
  if (gridX == 0 || gridX > INT32_MAX || gridY != 1 || gridZ != 1 || threads != kBlockThreads || threadsY != 1 ||
      threadsZ != 1 || sharedBytes != 0 || extra)
    return kInvalidValue;
  std::vector<void *> words;
  for (int64_t i = 0; i < function->emulator->countArguments(function->symbol); ++i)
    words.push_back(*static_cast<void **>(arguments[i]));
  state->launches.push_back(function->symbol);
  std::string problem = function->emulator->launch(function->symbol, {.gridBlocks = gridX,
                                                                      .blockThreads = kBlockThreads,
                                                                      .arguments = words,
                                                                      .order = state->order,
                                                                      .buffers = arrays,
                                                                      .findsRaces = state->order.isForward()});
  EXPECT_EQ(problem, "");
  return problem.empty() ? kSuccess : kLaunchFailed;
}

Result copyMemory(DevicePointer target, DevicePointer source, size_t bytes, Stream) {
  std::memcpy(reinterpret_cast<void *>(target), reinterpret_cast<const void *>(source), bytes);
  return kSuccess;
}

Result fillMemory(DevicePointer target, unsigned char value, size_t bytes, Stream) {
  std::memset(reinterpret_cast<void *>(target), value, bytes);
  return kSuccess;
}

Result exchangeCaptureMode(int *mode) {
  std::swap(*mode, state->captureMode);
  return kSuccess;
}

Result nameError(Result, const char **name) {
  *name = "CUDA_ERROR_EMULATED";
  return kSuccess;
}

} // namespace

EmulatedDriver::EmulatedDriver() {
  state.emplace();
  DriverEntries entries;
  entries.GetErrorName = nameError;
  entries.GetErrorString = nameError;
  entries.ThreadExchangeStreamCaptureMode = exchangeCaptureMode;
  entries.ModuleLoadDataEx = loadModule;
  entries.ModuleUnload = unloadModule;
  entries.ModuleGetFunction = getFunction;
  entries.LaunchKernel = launchKernel;
  entries.MemcpyDtoDAsync = copyMemory;
  entries.MemsetD8Async = fillMemory;
  driver = Driver::make(entries);
}

EmulatedDriver::~EmulatedDriver() { state.reset(); }

void EmulatedDriver::setOrder(spmdc::ThreadOrder order) { state->order = std::move(order); }

std::vector<std::string> EmulatedDriver::takeLaunches() { return std::exchange(state->launches, {}); }

/// The content before an array, and its initial content.
static constexpr char kPattern = 0x5a;

DeviceArray::DeviceArray(int64_t bytes) : size(bytes) {
  int64_t page = sysconf(_SC_PAGESIZE);
  mapped = (bytes + page + 63) / page * page + page;
  mapping = static_cast<char *>(mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_NE(mapping, MAP_FAILED);
  mprotect(mapping + mapped - page, page, PROT_NONE);
  std::memset(mapping, kPattern, mapped - page);
  // Aligned to 16 bytes, like buffers of a plan.
  data = mapping + (mapped - page - bytes) / 16 * 16;
  arrays.push_back({data, static_cast<uint64_t>(bytes)});
}

DeviceArray::DeviceArray(const void *source, int64_t bytes) : DeviceArray(bytes) {
  if (bytes > 0)
    std::memcpy(data, source, bytes);
}

DeviceArray::~DeviceArray() {
  std::erase_if(arrays, [this](const spmdc::GpuBuffer &array) { return array.begin == data; });
  for (char *at = mapping; at < data; ++at)
    if (*at != kPattern) {
      ADD_FAILURE() << "written " << data - at << " bytes in front of an array";
      break;
    }
  for (char *at = data + size; at < mapping + mapped - sysconf(_SC_PAGESIZE); ++at)
    if (*at != kPattern) {
      ADD_FAILURE() << "written behind an array";
      break;
    }
  munmap(mapping, mapped);
}

} // namespace spmd::cuda
