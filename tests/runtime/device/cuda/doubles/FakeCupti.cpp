//===- FakeCupti.cpp - CUPTI without a GPU --------------------------------===//

#include "tests/runtime/device/cuda/doubles/FakeCuptiEntries.h"

#include "tests/runtime/device/cuda/doubles/Mistakes.h"

#include <algorithm>
#include <cstring>

namespace spmd::cuda {

FakeCupti::FakeCupti(FakeDriver &driver, FakeCuptiOptions options)
    : driver(driver), options(options), random(options.seed) {
  if (std::exchange(FakeCuptiEntries::current, this))
    reportMistake("there is another FakeCupti");
  cupti = Cupti::make(FakeCuptiEntries::list());
  std::lock_guard lock(driver.mutex);
  driver.cupti = this;
}

FakeCupti::~FakeCupti() {
  {
    std::lock_guard lock(driver.mutex);
    driver.cupti = nullptr;
  }
  if (!kinds.empty())
    reportMistake("CUPTI still records");
  for (const auto &[thread, open] : regions)
    if (!open.empty())
      reportMistake("a thread is still in a region");
  FakeCuptiEntries::current = nullptr;
}

void FakeCupti::fail(Fault fault, int64_t number) {
  std::lock_guard lock(mutex);
  faults[works + number] = fault;
}

void FakeCupti::refuse(int status) {
  std::lock_guard lock(mutex);
  refusal = status;
}

bool FakeCupti::isRecording() const {
  std::lock_guard lock(mutex);
  return !kinds.empty();
}

int64_t FakeCupti::countWork() const {
  std::lock_guard lock(mutex);
  return works;
}

int64_t FakeCupti::countBuffers() const {
  std::lock_guard lock(mutex);
  return delivered;
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

uint32_t FakeCupti::idOf(const void *stream) {
  return streamIds.try_emplace(stream, static_cast<uint32_t>(streamIds.size()) + 7).first->second;
}

uint8_t *FakeCupti::append(const void *record, size_t bytes, std::shared_ptr<Buffer> *used) {
  constexpr uint64_t kOpenBuffers = 2; // Of each thread: records come in other orders.
  std::thread::id thread = hasThreadBuffers ? std::this_thread::get_id() : std::thread::id();
  std::vector<std::shared_ptr<Buffer>> open;
  for (const auto &buffer : buffers)
    if (buffer->thread == thread && !buffer->isFull) {
      buffer->isFull = buffer->capacity - buffer->used < bytes;
      if (!buffer->isFull)
        open.push_back(buffer);
    }
  if (open.size() < kOpenBuffers) {
    auto buffer = std::make_shared<Buffer>();
    size_t most = 0;
    request(&buffer->data, &buffer->capacity, &most);
    if (!buffer->data || buffer->capacity < bytes) {
      ++dropped;
      return nullptr;
    }
    buffer->capacity = std::min(buffer->capacity, options.bufferBytes);
    buffer->thread = thread;
    buffers.push_back(buffer);
    open.push_back(buffer);
  }
  const std::shared_ptr<Buffer> &buffer = open[random() % open.size()];
  uint8_t *at = buffer->data + buffer->used;
  std::memset(at, 0xee, bytes);
  std::memcpy(at, record, std::min(bytes, sizeof(CuptiKernel)));
  buffer->used += bytes;
  if (used)
    *used = buffer;
  return at;
}

void FakeCupti::call(uint32_t kind, bool isInRegion) {
  std::lock_guard lock(mutex);
  ++correlation;
  if (!kinds.contains(kind))
    return;
  if (const auto &open = regions[std::this_thread::get_id()];
      isInRegion && kinds.contains(kCuptiExternal) && !open.empty()) {
    std::array<uint8_t, sizeof(CuptiKernel)> bytes{};
    CuptiExternal record{kCuptiExternal, kCuptiCustom, open.back(), correlation, 0};
    std::memcpy(bytes.data(), &record, sizeof record);
    append(bytes.data(), FakeCuptiEntries::sizeOf(kCuptiExternal));
  }
  CuptiKernel other{};
  other.kind = kind;
  append(&other, FakeCuptiEntries::sizeOf(kind));
  if (random() % 8 == 0) {
    other.kind = FakeCuptiEntries::kUnknown;
    append(&other, FakeCuptiEntries::sizeOf(FakeCuptiEntries::kUnknown));
  }
}

FakeWork FakeCupti::observe(const FakeStream &stream, uint32_t kind, FakeWork work) {
  std::lock_guard lock(mutex);
  if (!kinds.contains(kind))
    return work;
  auto known = faults.find(++works);
  std::optional<Fault> fault = known == faults.end() ? std::nullopt : std::optional(known->second);
  if (fault == Fault::Dropped)
    ++dropped;
  if (fault == Fault::Dropped || fault == Fault::Missing)
    return work;
  std::array<uint8_t, sizeof(CuptiKernel)> bytes{};
  auto fill = [&](auto record) {
    record.kind = kind;
    record.device = static_cast<uint32_t>(stream.gpu);
    record.context = record.device + 1;
    record.stream = idOf(&stream);
    record.correlation = correlation;
    std::memcpy(bytes.data(), &record, sizeof record);
  };
  kind == kCuptiKernel ? fill(CuptiKernel{}) : fill(CuptiCopy{});
  for (size_t place : {offsetof(CuptiKernel, start), offsetof(CuptiKernel, end)})
    std::memcpy(bytes.data() + place, &FakeCuptiEntries::kUnwritten, sizeof FakeCuptiEntries::kUnwritten);
  std::shared_ptr<Buffer> buffer;
  uint8_t *record = append(bytes.data(), FakeCuptiEntries::sizeOf(kind), &buffer);
  if (!record)
    return work;
  ++buffer->incomplete;
  auto begin = std::make_shared<uint64_t>(0);
  return [this, &driver = driver, work = std::move(work), buffer, record, begin, fault, id = idOf(&stream)] {
    if (*begin == 0)
      *begin = FakeCuptiEntries::now();
    if (!work())
      return false;
    if (driver.cupti != this)
      return true;
    std::lock_guard lock(mutex);
    if (buffer->isDelivered)
      return true;
    uint64_t start = std::max(*begin, ends[id]), end = start + static_cast<uint64_t>(options.workNs);
    ends[id] = end;
    if (fault == Fault::NoTime)
      start = end = 0;
    if (fault == Fault::EndBeforeBegin)
      std::swap(start, end);
    constexpr uint64_t kHour = 3'600'000'000'000;
    if (fault == Fault::OtherTime)
      start -= kHour;
    // All records of work have these fields at the same places.
    std::memcpy(record + offsetof(CuptiKernel, start), &start, sizeof start);
    std::memcpy(record + offsetof(CuptiKernel, end), &end, sizeof end);
    if (fault == Fault::Size)
      std::memcpy(record, &FakeCuptiEntries::kDamaged, sizeof FakeCuptiEntries::kDamaged);
    if (fault == Fault::Validity)
      buffer->isInvalid = true;
    --buffer->incomplete;
    return true;
  };
}

int FakeCupti::flush(bool isForced) {
  std::vector<std::shared_ptr<Buffer>> ready;
  CuptiEntries::CompleteBuffer to = nullptr;
  {
    std::lock_guard lock(mutex);
    std::erase_if(buffers, [&](const auto &buffer) {
      constexpr int kMostFlushes = 2;
      bool isComplete = buffer->incomplete == 0 && !options.needsForce;
      bool isReady = isForced || (isComplete && (random() % 3 != 0 || buffer->flushes++ == kMostFlushes));
      buffer->isDelivered = isReady;
      if (isReady)
        ready.push_back(buffer);
      return isReady;
    });
    std::shuffle(ready.begin(), ready.end(), random);
    delivered += static_cast<int64_t>(ready.size());
    to = deliver;
  }
  for (const auto &buffer : ready)
    to(nullptr, 0, buffer->data, buffer->capacity, buffer->isInvalid ? SIZE_MAX : buffer->used);
  return kCuptiSuccess;
}

} // namespace spmd::cuda
