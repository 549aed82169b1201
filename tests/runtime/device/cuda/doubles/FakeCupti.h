//===- FakeCupti.h - CUPTI without a GPU ------------------------*- C++ -*-===//
//
// Records the calls and the work of a FakeDriver, as CUPTI's documentation describes it. A record stands in a buffer
// from the call on, and is complete when the work is done; a buffer with an incomplete record is not delivered, and
// others only some time later, in any order. Work of NCCL is queued by threads that are in no region. Records of a kind
// that nothing asked for stand between the others. The clock differs from that of the host by 54 years.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Cupti.h"
#include "tests/runtime/device/cuda/doubles/FakeDriver.h"

#include <set>

namespace spmd::cuda {

struct FakeCuptiOptions {
  uint64_t seed = 1;
  /// Each kernel, copy and memset takes as long, however long the emulator takes for it.
  int64_t workNs = 1000;
  /// Buffers are not used beyond so many bytes.
  size_t bufferBytes = 2000;
  /// All threads use the same buffers, as before CUPTI 12.3.
  bool sharesBuffers = false;
  /// A flush returns buffers only if it is forced, as Kineto has seen.
  bool needsForce = false;
};

/// At most one exists in a process; `driver` outlives it. Thread-safe.
class FakeCupti {
public:
  /// A record that is dropped and counted, or only missing; times that are 0, in the wrong order, or of another hour; a
  /// record that its buffer is too short for, and a buffer with more bytes than it has.
  enum class Fault { Dropped, Missing, NoTime, EndBeforeBegin, OtherTime, Size, Validity };

  explicit FakeCupti(FakeDriver &driver, FakeCuptiOptions options = {});
  ~FakeCupti();
  FakeCupti(const FakeCupti &) = delete;
  FakeCupti &operator=(const FakeCupti &) = delete;

  const std::shared_ptr<Cupti> &getCupti() const { return cupti; }

  /// This happens to the `number`-th record of work from now on; 1: the next.
  void fail(Fault fault, int64_t number);
  /// All kinds of records are refused with this status.
  void refuse(int status);

  bool isRecording() const;
  /// Returns the number of records of work so far.
  int64_t countWork() const;
  /// Returns the number of buffers that were delivered so far.
  int64_t countBuffers() const;

private:
  friend class FakeDriver;
  friend struct FakeCuptiEntries;
  struct Buffer {
    uint8_t *data = nullptr;
    size_t capacity = 0, used = 0;
    int64_t incomplete = 0; ///< Number of records.
    int flushes = 0;        ///< That left it although it was complete.
    std::thread::id thread;
    bool isFull = false, isDelivered = false, isInvalid = false;
  };

  // Called by FakeDriver.
  /// A call of the current thread, or of one without regions, which gets a new correlation id.
  void call(uint32_t kind, bool isInRegion);
  /// Returns the work with a record of it, which belongs to the last call.
  FakeWork observe(const FakeStream &stream, uint32_t kind, FakeWork work);

  uint8_t *append(const void *record, size_t bytes, std::shared_ptr<Buffer> *used = nullptr);
  uint32_t idOf(const void *stream);
  int flush(bool isForced);

  FakeDriver &driver;
  const FakeCuptiOptions options;
  std::shared_ptr<Cupti> cupti;

  mutable std::mutex mutex; ///< Guards all members below; locked after that of the driver.
  std::mt19937_64 random;
  CuptiEntries::RequestBuffer request = nullptr;
  CuptiEntries::CompleteBuffer deliver = nullptr;
  std::set<uint32_t> kinds;
  int refusal = kCuptiSuccess;
  bool hasThreadBuffers = false;
  std::map<std::thread::id, std::vector<uint64_t>> regions;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::map<const void *, uint32_t> streamIds;
  std::map<uint32_t, uint64_t> ends; ///< Of the last work of each stream.
  uint32_t correlation = 0;
  std::map<int64_t, Fault> faults; ///< By the number of the record of work.
  int64_t works = 0, delivered = 0;
  size_t dropped = 0;
};

} // namespace spmd::cuda
