//===- Cupti.cpp - times of kernels on the device -------------------------===//

#include "runtime/device/cuda/Cupti.h"

#include "runtime/device/cuda/FindLibrary.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <thread>

namespace spmd::cuda {
namespace {

/// NVIDIA recommends 1 to 10 MB. Each thread that calls CUDA has a buffer of its own.
constexpr size_t kBufferBytes = 1 << 20;
/// Buffers that CUPTI holds at a time. It drops records rather than to use up the memory of a host.
constexpr size_t kMostBuffers = 256;

/// Kinds of records: those of calls have no times that are read, but without them CUPTI writes no external ids.
constexpr uint32_t kKinds[] = {kCuptiExternal, kCuptiDriver, kCuptiRuntime, kCuptiKernel,
                               kCuptiMemcpy,   kCuptiMemset, kCuptiPeerCopy};

/// State of CUPTI's callbacks, which have no argument of ours. It is never destroyed: CUPTI may return a buffer while
/// the process ends.
struct Callbacks {
  std::mutex mutex; ///< Guards all members.
  std::weak_ptr<Cupti> active;
  struct Buffer {
    uint64_t number; ///< They are counted.
    std::thread::id thread;
  };
  std::map<uint8_t *, Buffer> buffers; ///< Those that CUPTI has; all have kBufferBytes.
  uint64_t last = 0;                   ///< The number of the last one.
};

Callbacks &getCallbacks() {
  static Callbacks &callbacks = *new Callbacks();
  return callbacks;
}

} // namespace

std::string CuptiEntries::describe(const char *function, Status status) const {
  if (status == kCuptiTakenByOther)
    return "another tool uses CUPTI";
  const char *name = nullptr;
  if (getResultString(status, &name) != kCuptiSuccess || !name)
    return std::string(function) + " returns status " + std::to_string(status);
  return std::string(function) + ": " + name;
}

std::string CuptiEntries::resolve(void *library) {
  std::string missing;
  auto find = [&](const char *symbol, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (!function && missing.empty())
      missing = symbol;
  };
  find("cuptiGetVersion", getVersion);
  find("cuptiGetResultString", getResultString);
  find("cuptiGetTimestamp", getTimestamp);
  find("cuptiGetContextId", getContextId);
  find("cuptiGetStreamIdEx", getStreamId);
  find("cuptiActivitySetAttribute", setAttribute);
  find("cuptiActivityRegisterCallbacks", registerCallbacks);
  find("cuptiActivityEnable", enable);
  find("cuptiActivityDisable", disable);
  find("cuptiActivityFlushAll", flushAll);
  find("cuptiActivityGetNextRecord", getNextRecord);
  find("cuptiActivityGetNumDroppedRecords", countDropped);
  find("cuptiActivityPushExternalCorrelationId", push);
  find("cuptiActivityPopExternalCorrelationId", pop);
  return missing;
}

std::shared_ptr<Cupti> Cupti::make(const CuptiEntries &entries) {
  std::shared_ptr<Cupti> made(new Cupti());
  made->entries = entries;
  return made;
}

std::shared_ptr<Cupti> Cupti::load(const std::string &toolkit, int driverVersion, std::string *whyNot) {
  std::vector<std::string> names = {"libcupti.so.13", "libcupti.so.12"};
  if (constexpr int kFirst13 = 13000; driverVersion < kFirst13)
    std::swap(names[0], names[1]);
  CuptiEntries entries;
  std::string why = findLibrary(names, toolkit, {"lib64", "extras/CUPTI/lib64"}, [&](void *library) -> std::string {
    if (std::string missing = entries.resolve(library); !missing.empty())
      return "lacks the function " + missing;
    // A CUPTI that is too new for the driver does not even return its version.
    uint32_t version = 0;
    int status = entries.getVersion(&version);
    return status == kCuptiSuccess ? "" : entries.describe("cuptiGetVersion", status);
  });
  if (whyNot)
    *whyNot = why;
  return why.empty() ? make(entries) : nullptr;
}

std::shared_ptr<Cupti> Cupti::ofProcess(int driverVersion) {
  static const std::shared_ptr<Cupti> &found = *new std::shared_ptr<Cupti>(load("", driverVersion));
  return found;
}

std::string Cupti::getVersion() const {
  uint32_t version = 0;
  if (entries.getVersion(&version) != kCuptiSuccess)
    return "unknown";
  constexpr uint32_t kFirstLong = 130000; // CUPTI of CUDA 13.0; that of 12.9 has the number 28.
  if (version < kFirstLong)
    return "API " + std::to_string(version);
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

std::shared_ptr<const Cupti::Session> Cupti::start(std::string &whyNot) {
  std::lock_guard lock(mutex);
  if (sessions == 0 && refusal.empty())
    refusal = enable();
  if (!refusal.empty()) {
    whyNot = refusal;
    return nullptr;
  }
  std::shared_ptr<const Session> session(new Session(shared_from_this()));
  ++sessions;
  return session;
}

void Cupti::leaveSession() {
  std::lock_guard lock(mutex);
  if (--sessions == 0)
    disable();
}

std::string Cupti::enable() {
  {
    Callbacks &callbacks = getCallbacks();
    std::lock_guard lock(callbacks.mutex);
    if (std::shared_ptr<Cupti> other = callbacks.active.lock(); other && other.get() != this)
      return "another part of this process uses CUPTI";
    callbacks.active = weak_from_this();
  }
  // Without it a buffer is incomplete as long as other devices have work in it. CUPTI before 12.3 refuses it.
  uint8_t one = 1;
  size_t bytes = sizeof one;
  hasThreadBuffers = entries.setAttribute(kCuptiBuffersByThread, &bytes, &one) == kCuptiSuccess;
  if (int status = entries.registerCallbacks(requestBuffer, completeBuffer); status != kCuptiSuccess)
    return entries.describe("cuptiActivityRegisterCallbacks", status);
  for (uint32_t kind : kKinds)
    if (int status = entries.enable(kind); status != kCuptiSuccess) {
      disable();
      return entries.describe("cuptiActivityEnable", status);
    }
  return "";
}

void Cupti::disable() {
  for (uint32_t kind : kKinds)
    entries.disable(kind);
  std::lock_guard lock(flushing);
  entries.flushAll(kCuptiForced);
}

void Cupti::requestBuffer(uint8_t **buffer, size_t *bytes, size_t *mostRecords) {
  Callbacks &callbacks = getCallbacks();
  std::lock_guard lock(callbacks.mutex);
  *buffer = nullptr;
  *bytes = 0;
  *mostRecords = 0; // As many as there is room for.
  if (callbacks.active.expired() || callbacks.buffers.size() >= kMostBuffers)
    return;
  auto *memory = static_cast<uint8_t *>(std::malloc(kBufferBytes));
  try {
    if (memory)
      callbacks.buffers[memory] = {++callbacks.last, std::this_thread::get_id()};
  } catch (const std::bad_alloc &) {
    std::free(memory);
    return;
  }
  *buffer = memory;
  *bytes = memory ? kBufferBytes : 0;
}

void Cupti::completeBuffer(Context, uint32_t, uint8_t *buffer, size_t, size_t validBytes) {
  Callbacks &callbacks = getCallbacks();
  std::shared_ptr<Cupti> active;
  bool isOwn = false;
  {
    std::lock_guard lock(callbacks.mutex);
    active = callbacks.active.lock();
    isOwn = callbacks.buffers.erase(buffer) == 1;
  }
  if (!isOwn) {
    if (active && buffer)
      active->records.lose("CUPTI delivered a buffer that is not ours");
    return;
  }
  try {
    if (active)
      active->records.read(active->entries, buffer, kBufferBytes, validBytes);
  } catch (const std::bad_alloc &) {
    active->records.lose("there is no memory for CUPTI's records");
  }
  std::free(buffer);
}

void Cupti::flushForced() {
  std::lock_guard lock(mutex);
  if (sessions > 1)
    return;
  std::lock_guard lockFlush(flushing);
  entries.flushAll(kCuptiForced);
}

bool Cupti::flush(bool ofAnyThread) {
  Callbacks &callbacks = getCallbacks();
  uint64_t last = 0;
  {
    std::lock_guard lock(callbacks.mutex);
    last = callbacks.last;
  }
  {
    std::lock_guard lock(flushing);
    if (int status = entries.flushAll(0); status != kCuptiSuccess)
      records.lose(entries.describe("cuptiActivityFlushAll", status));
    size_t dropped = 0;
    if (entries.countDropped(nullptr, 0, &dropped) == kCuptiSuccess && dropped > 0)
      records.lose("CUPTI dropped records");
  }
  std::lock_guard lock(callbacks.mutex);
  return std::none_of(callbacks.buffers.begin(), callbacks.buffers.end(), [&](const auto &entry) {
    const Callbacks::Buffer &buffer = entry.second;
    bool isRelevant = ofAnyThread || !hasThreadBuffers || buffer.thread == std::this_thread::get_id();
    return isRelevant && buffer.number <= last;
  });
}

} // namespace spmd::cuda
