//===- FakeEntries.cpp - the driver's functions, by name ------------------===//

#include "tests/runtime/device/cuda/doubles/FakeEntries.h"

#include "runtime/device/cuda/CuptiEntries.h"
#include "tests/runtime/device/cuda/doubles/Mistakes.h"

#include <cstring>

namespace spmd::cuda {

FakeDriver *FakeEntries::fake = nullptr;
thread_local int FakeEntries::captureMode = 0;

namespace {

uint64_t generation = 0;

/// For this thread: `generation * kMostGpus + gpu + 1` of its FakeDriver.
thread_local uint64_t current = 0;

/// Whether a call is work for a GPU, which fails with the GPU's error.
bool needsContext(std::string_view name) {
  return name != "Init" && name != "DriverGetVersion" && name != "CtxSetCurrent" && !name.starts_with("GetError") &&
         !name.starts_with("Device") && !name.starts_with("MemPool") && name != "ThreadExchangeStreamCaptureMode";
}

} // namespace

//===----------------------------------------------------------------------===//
// The common part of all calls
//===----------------------------------------------------------------------===//

Result FakeEntries::check(const char *name) {
  int64_t number = ++fake->calls[name];
  if (auto known = fake->failures.find(name); known != fake->failures.end())
    if (auto failure = known->second.find(number); failure != known->second.end()) {
      if (std::string_view(name) == "StreamEndCapture") // A capture ends, whether the call succeeds or not.
        fake->streams.endCaptures(std::this_thread::get_id());
      if (failure->second == kCaptureInvalidated)
        fake->streams.invalidateCaptures(std::this_thread::get_id());
      return failure->second;
    }
  if (!needsContext(name))
    return kSuccess;
  return currentGpu() < 0 ? kInvalidContext : fake->streams.getError(currentGpu());
}

template <size_t index, typename... Arguments, Result (*function)(Arguments...)>
struct FakeEntries::Call<index, function> {
  static inline const char *name = nullptr;
  static Result call(Arguments... arguments) {
    std::lock_guard lock(fake->mutex);
    Result result = check(name);
    fake->noteCall(kCuptiDriver);
    return result == kSuccess ? function(arguments...) : result;
  }
};

/// Waits without holding the lock all the time.
static Result synchronize(Stream stream) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (bool isFirst = true; std::chrono::steady_clock::now() < deadline; isFirst = false) {
    Result result = FakeEntries::StreamSynchronize(stream);
    if (result != kNotReady)
      return result;
    if (!isFirst) // It waits for work that another thread has to queue.
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  reportMistake("a stream waits for work that no thread queues");
  return kLaunchFailed;
}

DriverEntries FakeEntries::begin(FakeDriver &driver) {
  if (fake)
    reportMistake("there is another FakeDriver");
  fake = &driver;
  ++generation;
  DriverEntries entries;
#define SPMD_CUDA_ENTRY(entry, symbol, ...)                                                                            \
  Call<offsetof(DriverEntries, entry), &FakeEntries::entry>::name = #entry;                                            \
  entries.entry = &Call<offsetof(DriverEntries, entry), &FakeEntries::entry>::call;
#include "runtime/device/cuda/DriverEntries.def"
#undef SPMD_CUDA_ENTRY
  entries.StreamSynchronize = [](Stream stream) {
    {
      std::lock_guard lock(fake->mutex);
      if (Result result = check("StreamSynchronize"); result != kSuccess)
        return result;
    }
    return synchronize(stream);
  };
  return entries;
}

void FakeEntries::end() { fake = nullptr; }

int FakeEntries::currentGpu() {
  return current == 0 || (current - 1) / kMostGpus != generation ? -1 : static_cast<int>((current - 1) % kMostGpus);
}

FakeStream *FakeEntries::target(Stream stream) {
  FakeStream *known = fake->streams.find(stream);
  return known && known->gpu == currentGpu() ? known : nullptr;
}

bool FakeEntries::refusesForCapture() {
  if (captureMode == kCaptureRelaxed || !fake->streams.isCapturing(std::this_thread::get_id()))
    return false;
  fake->streams.invalidateCaptures(std::this_thread::get_id());
  return true;
}

//===----------------------------------------------------------------------===//
// The driver and its GPUs
//===----------------------------------------------------------------------===//

Result FakeEntries::Init(unsigned) { return kSuccess; }
Result FakeEntries::DriverGetVersion(int *version) {
  *version = fake->options.driverVersion;
  return kSuccess;
}

Result FakeEntries::GetErrorName(Result error, const char **name) {
  *name = error == kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == kLaunchFailed   ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == kInvalidValue   ? "CUDA_ERROR_INVALID_VALUE"
          : error == kInvalidContext ? "CUDA_ERROR_INVALID_CONTEXT"
          : error == kInvalidHandle  ? "CUDA_ERROR_INVALID_HANDLE"
          : error == kInvalidImage   ? "CUDA_ERROR_INVALID_IMAGE"
                                     : nullptr;
  return *name ? kSuccess : kInvalidValue;
}
Result FakeEntries::GetErrorString(Result error, const char **text) {
  *text = error == kOutOfMemory ? "out of memory" : "an error of the double";
  return kSuccess;
}

Result FakeEntries::DeviceGetCount(int *count) {
  *count = fake->options.gpus;
  return kSuccess;
}
Result FakeEntries::DeviceGet(GpuHandle *handle, int ordinal) {
  *handle = ordinal;
  return ordinal < fake->options.gpus ? kSuccess : kInvalidValue;
}
Result FakeEntries::DeviceGetName(char *name, int bytes, GpuHandle) {
  std::strncpy(name, "Emulated GPU", static_cast<size_t>(bytes));
  return kSuccess;
}
Result FakeEntries::DeviceGetUuid(Uuid *uuid, GpuHandle gpu) {
  const FakeDriverOptions &options = fake->options;
  uint64_t machine = std::hash<std::string>()(options.machine);
  uint64_t card = static_cast<uint64_t>(options.cards.empty() ? gpu : options.cards[static_cast<size_t>(gpu)]);
  std::memcpy(uuid->bytes.data(), &machine, sizeof machine);
  std::memcpy(uuid->bytes.data() + sizeof machine, &card, sizeof card);
  return kSuccess;
}
Result FakeEntries::DeviceGetAttribute(int *value, int attribute, GpuHandle gpu) {
  const FakeDriverOptions &options = fake->options;
  int capability =
      options.capabilities.empty() ? options.capability : options.capabilities.at(static_cast<size_t>(gpu));
  *value = attribute == kMultiprocessorCount    ? 4
           : attribute == kCapabilityMajor      ? capability / 10
           : attribute == kCapabilityMinor      ? capability % 10
           : attribute == kMemoryPoolsSupported ? 1
                                                : -1;
  return *value < 0 ? kInvalidValue : kSuccess;
}

Result FakeEntries::DevicePrimaryCtxRetain(Context *context, GpuHandle gpu) {
  fake->retained.insert(gpu);
  *context = reinterpret_cast<Context>(generation * kMostGpus + static_cast<uint64_t>(gpu) + 1);
  return kSuccess;
}
Result FakeEntries::DevicePrimaryCtxRelease(GpuHandle gpu) {
  auto known = fake->retained.find(gpu);
  if (known == fake->retained.end())
    return kInvalidContext;
  fake->retained.erase(known);
  return kSuccess;
}
Result FakeEntries::CtxSetCurrent(Context context) {
  current = reinterpret_cast<uint64_t>(context);
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result FakeEntries::DeviceGetDefaultMemPool(MemoryPool *pool, GpuHandle gpu) {
  *pool = reinterpret_cast<MemoryPool>(static_cast<uint64_t>(gpu) + 1);
  return kSuccess;
}
Result FakeEntries::MemPoolSetAttribute(MemoryPool, int attribute, void *) {
  return attribute == kPoolReleaseThreshold ? kSuccess : kInvalidValue;
}
Result FakeEntries::MemPoolTrimTo(MemoryPool, size_t) { return kSuccess; }

Result FakeEntries::MemAllocFromPoolAsync(DevicePointer *pointer, size_t bytes, MemoryPool pool, Stream stream) {
  int gpu = static_cast<int>(reinterpret_cast<uint64_t>(pool)) - 1;
  FakeStream *known = target(stream);
  if (!known || known->gpu != gpu || known->isCapturing || bytes == 0)
    return kInvalidValue;
  *pointer = fake->memory.allocate(gpu, static_cast<int64_t>(bytes));
  return *pointer ? kSuccess : kOutOfMemory;
}
Result FakeEntries::MemFreeAsync(DevicePointer pointer, Stream stream) {
  FakeStream *known = target(stream);
  if (!known || known->isCapturing || !fake->memory.contains(known->gpu, pointer, 1))
    return kInvalidValue;
  fake->streams.queue(*known, [pointer] {
    if (!fake->memory.free(pointer))
      reportMistake("memory is freed twice");
    return true;
  });
  return kSuccess;
}
Result FakeEntries::MemGetInfo(size_t *free, size_t *total) {
  *free = static_cast<size_t>(fake->memory.getFree(currentGpu()));
  *total = static_cast<size_t>(fake->memory.getTotal());
  return kSuccess;
}

Result FakeEntries::MemHostAlloc(void **data, size_t bytes, unsigned) {
  if (refusesForCapture())
    return kCaptureUnsupported;
  *data = std::malloc(bytes);
  fake->memory.pin(*data, bytes, /*isMapped=*/true);
  return kSuccess;
}
Result FakeEntries::MemFreeHost(void *data) {
  if (refusesForCapture())
    return kCaptureUnsupported;
  if (!fake->memory.unpin(data))
    return kInvalidValue;
  std::free(data);
  return kSuccess;
}
Result FakeEntries::MemHostRegister(void *data, size_t bytes, unsigned) {
  if (refusesForCapture())
    return kCaptureUnsupported;
  if (fake->memory.isPinned(data, 1))
    return kInvalidValue;
  fake->memory.pin(data, bytes, /*isMapped=*/false);
  return kSuccess;
}
Result FakeEntries::MemHostUnregister(void *data) {
  if (refusesForCapture())
    return kCaptureUnsupported;
  return fake->memory.unpin(data) ? kSuccess : kInvalidValue;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

bool FakeEntries::mayCopy(const FakeStream &stream, DevicePointer pointer, size_t bytes) {
  return bytes > 0 && fake->memory.contains(stream.gpu, pointer, bytes);
}

Result FakeEntries::MemcpyHtoDAsync(DevicePointer to, const void *from, size_t bytes, Stream stream) {
  FakeStream *known = target(stream);
  if (!known || known->isCapturing || !mayCopy(*known, to, bytes))
    return kInvalidValue;
  std::shared_ptr<std::vector<char>> staged;
  if (!fake->memory.isPinned(from, bytes))
    staged =
        std::make_shared<std::vector<char>>(static_cast<const char *>(from), static_cast<const char *>(from) + bytes);
  return fill(kCuptiMemcpy, stream, to, bytes,
              [from, bytes, staged](char *target) { std::memcpy(target, staged ? staged->data() : from, bytes); });
}

/// Also late for memory that is not pinned, which the driver copies at once: code must not rely on that.
Result FakeEntries::MemcpyDtoHAsync(void *to, DevicePointer from, size_t bytes, Stream stream) {
  FakeStream *known = target(stream);
  if (!known || known->isCapturing || !mayCopy(*known, from, bytes))
    return kInvalidValue;
  return fill(kCuptiMemcpy, stream, from, bytes, [to, bytes](const char *source) { std::memcpy(to, source, bytes); });
}

Result FakeEntries::MemcpyDtoDAsync(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  FakeStream *known = target(stream);
  if (!known || !mayCopy(*known, from, bytes) || !mayCopy(*known, to, bytes))
    return kInvalidValue;
  return fill(kCuptiMemcpy, stream, to, bytes, [gpu = known->gpu, from, bytes](char *target) {
    if (fake->memory.contains(gpu, from, bytes))
      std::memcpy(target, reinterpret_cast<const char *>(from), bytes);
    else
      reportMistake("a copy from memory that was freed before it ran");
  });
}

Result FakeEntries::fill(uint32_t kind, Stream stream, DevicePointer to, size_t bytes,
                         std::function<void(char *)> write) {
  FakeStream *known = target(stream);
  if (!known || !mayCopy(*known, to, bytes))
    return kInvalidValue;
  fake->queueWork(*known, kind, [gpu = known->gpu, to, bytes, write = std::move(write)] {
    if (fake->memory.contains(gpu, to, bytes))
      write(reinterpret_cast<char *>(to));
    else
      reportMistake("a copy of memory that was freed before it ran");
    return true;
  });
  return kSuccess;
}

Result FakeEntries::MemsetD8Async(DevicePointer to, unsigned char value, size_t bytes, Stream stream) {
  return fill(kCuptiMemset, stream, to, bytes, [value, bytes](char *target) { std::memset(target, value, bytes); });
}
Result FakeEntries::MemsetD32Async(DevicePointer to, unsigned value, size_t count, Stream stream) {
  if (to % sizeof(unsigned) != 0)
    return kInvalidValue;
  return fill(kCuptiMemset, stream, to, count * sizeof(unsigned), [value, count](char *target) {
    for (size_t i = 0; i < count; ++i)
      std::memcpy(target + i * sizeof(unsigned), &value, sizeof(unsigned));
  });
}

} // namespace spmd::cuda
