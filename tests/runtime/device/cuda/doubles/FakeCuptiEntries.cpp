//===- FakeCuptiEntries.cpp - CUPTI's functions, by name ------------------===//

#include "tests/runtime/device/cuda/doubles/FakeCuptiEntries.h"

#include <cstring>

namespace spmd::cuda {
namespace {

constexpr int kInvalidParameter = 1, kNotInitialized = 15, kQueueEmpty = 18; // CUptiResult.

} // namespace

/// As CUPTI 13.0.
size_t FakeCuptiEntries::sizeOf(uint32_t kind) {
  switch (kind) {
  case kCuptiKernel:
    return 216;
  case kCuptiMemcpy:
    return 96;
  case kCuptiMemset:
    return 88;
  case kCuptiExternal:
    return 24;
  case kCuptiDriver:
  case kCuptiRuntime:
    return 40;
  default:
    return 56;
  }
}

uint64_t FakeCuptiEntries::now() {
  constexpr uint64_t kOffsetNs = 1'700'000'000'000'000'000;
  auto time = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
  return kOffsetNs + static_cast<uint64_t>(time.count());
}

int FakeCuptiEntries::setAttribute(int attribute, size_t *bytes, void *value) {
  if (attribute != kCuptiBuffersByThread || *bytes != 1 || current->options.sharesBuffers)
    return kInvalidParameter;
  std::lock_guard lock(current->mutex);
  current->hasThreadBuffers = *static_cast<uint8_t *>(value) != 0;
  return kCuptiSuccess;
}

int FakeCuptiEntries::registerCallbacks(CuptiEntries::RequestBuffer request, CuptiEntries::CompleteBuffer deliver) {
  std::lock_guard lock(current->mutex);
  current->request = request;
  current->deliver = deliver;
  return kCuptiSuccess;
}

int FakeCuptiEntries::enable(uint32_t kind) {
  std::lock_guard lock(current->mutex);
  if (current->refusal != kCuptiSuccess)
    return current->refusal;
  current->kinds.insert(kind);
  return kCuptiSuccess;
}

int FakeCuptiEntries::disable(uint32_t kind) {
  std::lock_guard lock(current->mutex);
  return current->kinds.erase(kind) == 1 ? kCuptiSuccess : kInvalidParameter;
}

int FakeCuptiEntries::countDropped(Context context, uint32_t stream, size_t *count) {
  std::lock_guard lock(current->mutex);
  *count = std::exchange(current->dropped, 0);
  return context || stream ? kInvalidParameter : kCuptiSuccess;
}

int FakeCuptiEntries::push(uint32_t kind, uint64_t id) {
  std::lock_guard lock(current->mutex);
  current->regions[std::this_thread::get_id()].push_back(id);
  return kind == kCuptiCustom ? kCuptiSuccess : kInvalidParameter;
}

int FakeCuptiEntries::pop(uint32_t kind, uint64_t *last) {
  std::lock_guard lock(current->mutex);
  std::vector<uint64_t> &open = current->regions[std::this_thread::get_id()];
  if (kind != kCuptiCustom || open.empty())
    return kQueueEmpty;
  if (last)
    *last = open.back();
  open.pop_back();
  return kCuptiSuccess;
}

int FakeCuptiEntries::getStreamId(Context context, Stream stream, uint8_t, uint32_t *id) {
  std::lock_guard lock(current->mutex);
  *id = current->idOf(stream);
  return context ? kCuptiSuccess : kInvalidParameter;
}

int FakeCuptiEntries::getNextRecord(uint8_t *buffer, size_t validBytes, void **record) {
  auto *at = static_cast<uint8_t *>(*record);
  uint32_t kind = 0;
  if (at)
    std::memcpy(&kind, at, sizeof kind);
  uint8_t *next = at ? at + sizeOf(kind) : buffer;
  if (next >= buffer + validBytes)
    return kCuptiNoMoreRecords;
  std::memcpy(&kind, next, sizeof kind);
  if (kind == kDamaged) { // A record that is longer than the buffer.
    next = buffer + validBytes - sizeof kind;
    std::memcpy(next, &kCuptiKernel, sizeof kind);
  } else if (kind == kCuptiKernel || kind == kCuptiMemcpy || kind == kCuptiMemset) {
    uint64_t end = 0;
    std::memcpy(&end, next + offsetof(CuptiKernel, end), sizeof end);
    if (end == kUnwritten)
      return kCuptiIncompleteRecord;
  }
  *record = next;
  return kCuptiSuccess;
}

CuptiEntries FakeCuptiEntries::list() {
  CuptiEntries entries;
  entries.getVersion = [](uint32_t *version) {
    *version = 130001;
    return kCuptiSuccess;
  };
  entries.getResultString = [](int status, const char **name) {
    *name = status == kNotInitialized ? "CUPTI_ERROR_NOT_INITIALIZED" : nullptr;
    return *name ? kCuptiSuccess : kInvalidParameter;
  };
  entries.getTimestamp = [](uint64_t *time) {
    *time = now();
    return kCuptiSuccess;
  };
  entries.getContextId = [](Context context, uint32_t *id) {
    *id = static_cast<uint32_t>(reinterpret_cast<uint64_t>(context) % kMostGpus);
    return kCuptiSuccess;
  };
  entries.getStreamId = FakeCuptiEntries::getStreamId;
  entries.setAttribute = FakeCuptiEntries::setAttribute;
  entries.registerCallbacks = FakeCuptiEntries::registerCallbacks;
  entries.enable = FakeCuptiEntries::enable;
  entries.disable = FakeCuptiEntries::disable;
  entries.flushAll = [](uint32_t flags) { return current->flush((flags & kCuptiForced) != 0); };
  entries.getNextRecord = FakeCuptiEntries::getNextRecord;
  entries.countDropped = FakeCuptiEntries::countDropped;
  entries.push = FakeCuptiEntries::push;
  entries.pop = FakeCuptiEntries::pop;
  return entries;
}

} // namespace spmd::cuda
