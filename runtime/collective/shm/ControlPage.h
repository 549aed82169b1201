//===- ControlPage.h - shared state of a host's devices ---------*- C++ -*-===//
//
// The layout of the segment through which the devices of a communicator find and wait for one another. Every process
// maps it; all words that two devices may access at once are atomics.
//
//   Header      abort flag and its cause
//   Group[]     one per set of devices that do collectives together: its barriers
//   Slot[]      one per device: the calls that it announces, and small operands
//
// A device announces its calls in a ring, so that several may be in flight. An entry is reused only when every reader
// of the old call is done (`consumed`); so a small collective needs one barrier instead of two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/CpuMemory.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

namespace spmd::shm {

constexpr uint64_t controlMagic = 0x314c5443444d5053u; // "SPMDCTL1"
/// Calls of a device that may be in flight.
constexpr int64_t ringSize = 8;
/// Barriers of a group that may be in flight: a call has at most three.
constexpr int64_t barrierRing = 32;
/// Value of launchesEnded of a device whose process starts no more runs.
constexpr uint64_t hasLeft = UINT64_MAX;
/// Operands up to this size are copied into the slot itself.
constexpr int64_t stagedBytes = 16 << 10;
constexpr int64_t textBytes = 256;
constexpr int64_t groupCapacity = 16384;

/// One call that a device has announced.
struct Record {
  std::atomic<uint64_t> sequence{0}; ///< Number of the call plus one; 0: never used.
  std::atomic<uint64_t> fingerprint{0}, launch{0};
  MemoryLocation operand; ///< Unused when the operand is staged.
  /// all_reduce: this device's reduced slice. Between hosts: its result, as far as other hosts have sent it.
  MemoryLocation slice;
  MemoryLocation received; ///< Between hosts: data that this device received for other members of its host.
  char text[textBytes] = {};
  /// Number plus one of the last call in this entry of which this device has read all operands.
  alignas(64) std::atomic<uint64_t> consumed{0};
  alignas(64) char staged[stagedBytes];
};

struct Slot {
  alignas(64) std::atomic<uint64_t> announced{0}; ///< Number of calls so far.
  std::atomic<uint64_t> launchesBegun{0}, launchesEnded{0};
  /// Futex word: incremented whenever `consumed` of a record changes.
  alignas(64) std::atomic<uint32_t> progress{0};
  std::atomic<uint32_t> progressSleepers{0};
  Record ring[ringSize];
};

struct Group {
  alignas(64) std::atomic<uint64_t> key{0}; ///< Hash of the members; 0: free.
  std::atomic<uint32_t> wake{0};            ///< Futex word: counts completed barriers.
  std::atomic<uint32_t> sleepers{0};
  std::atomic<int32_t> last{-1}, core{-1}; ///< The device that completed the last barrier, and where it ran.
  /// Arrivals at barrier b increment arrived[b % barrierRing]; it is complete at members * (b / barrierRing + 1),
  /// modulo 2^32.
  alignas(64) std::atomic<uint32_t> arrived[barrierRing] = {};
};

struct Header {
  uint64_t magic = controlMagic;
  int64_t deviceCount = 0;
  int64_t totalBytes = 0;
  /// 0: no abort; 1: a cause is being written; 2: the communicator is aborted.
  std::atomic<uint32_t> aborted{0};
  char cause[2048] = {};
};

/// The announcement of one call of a device, and the device's progress.
struct PeerState {
  uint64_t announced = 0, launchesEnded = 0;
  /// The requested call is still in the ring; the following fields describe it.
  bool isKnown = false;
  uint64_t fingerprint = 0, launch = 0;
  std::string text;
};

/// A view of the mapped segment.
class ControlPage {
public:
  static int64_t bytesFor(int64_t deviceCount) {
    return slotsOffset() + deviceCount * static_cast<int64_t>(sizeof(Slot));
  }
  /// Initialises a new segment. New memory is zero, which is the initial state of everything but the header.
  static void initialize(Segment &segment, int64_t deviceCount) {
    auto *header = reinterpret_cast<Header *>(segment.data());
    header->deviceCount = deviceCount;
    header->totalBytes = bytesFor(deviceCount);
    header->magic = controlMagic;
  }
  explicit ControlPage(std::shared_ptr<Segment> segment) : segment(std::move(segment)) {}

  bool isValid(int64_t deviceCount) const {
    return segment->bytes() >= bytesFor(deviceCount) && header().magic == controlMagic &&
           header().deviceCount == deviceCount && header().totalBytes == bytesFor(deviceCount);
  }
  Header &header() const { return *reinterpret_cast<Header *>(segment->data()); }
  Group &group(int64_t index) const { return reinterpret_cast<Group *>(segment->data() + groupsOffset())[index]; }
  Slot &slot(int64_t position) const { return reinterpret_cast<Slot *>(segment->data() + slotsOffset())[position]; }
  /// Whether a device makes exactly this call: the usual case, in which nothing is copied or allocated.
  bool makesCall(int64_t position, uint64_t sequence, uint64_t fingerprint, uint64_t launch) const {
    Slot &slot = this->slot(position);
    if (slot.announced.load(std::memory_order_acquire) <= sequence)
      return false;
    Record &record = slot.ring[sequence % ringSize];
    return record.fingerprint.load(std::memory_order_relaxed) == fingerprint &&
           record.launch.load(std::memory_order_relaxed) == launch &&
           record.sequence.load(std::memory_order_acquire) == sequence + 1;
  }
  PeerState stateOf(int64_t position, uint64_t sequence) const {
    Slot &slot = this->slot(position);
    PeerState state;
    state.launchesEnded = slot.launchesEnded.load(std::memory_order_acquire);
    state.announced = slot.announced.load(std::memory_order_acquire);
    if (state.announced <= sequence)
      return state;
    Record &record = slot.ring[sequence % ringSize];
    char text[textBytes + 1] = {};
    std::memcpy(text, record.text, textBytes);
    state.text = text;
    state.fingerprint = record.fingerprint.load(std::memory_order_relaxed);
    state.launch = record.launch.load(std::memory_order_relaxed);
    state.isKnown = record.sequence.load(std::memory_order_acquire) == sequence + 1;
    return state;
  }

private:
  static constexpr int64_t groupsOffset() { return 4096; }
  static constexpr int64_t slotsOffset() {
    return groupsOffset() + groupCapacity * static_cast<int64_t>(sizeof(Group));
  }
  std::shared_ptr<Segment> segment;
};

static_assert(sizeof(Header) <= 4096);

} // namespace spmd::shm
