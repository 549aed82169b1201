//===- ShmCommunicator.h - communicators of one host ------------*- C++ -*-===//
//
// Announces calls, waits for peers, and detects errors; ShmCall.cpp moves the data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/shm/Backend.h"

#include <map>
#include <vector>

namespace spmd::shm {

class ShmCommunicator;

/// A call as its endpoint sees it.
class AnnouncedCall : public CollectiveCall {
public:
  /// Completes the call, as `done` does; nothing if it is complete already.
  virtual void finish() = 0;
  virtual uint64_t getFingerprint() const = 0;
  /// Description of the call with its source location.
  virtual std::string describe() const = 0;
};

/// Adds the call, unless there is one of its process already.
void addCall(std::vector<AwaitedCall> &calls, AwaitedCall call);

/// The text of AnnouncedCall::describe, the same for all backends.
std::string describeCall(const CollectiveDesc &desc, const CallSite &site);
uint64_t fingerprintCall(const MeshShape &mesh, const CollectiveDesc &desc, const CallSite &site);
void setText(Record &record, const std::string &text);

/// The devices that take part in one call, as this endpoint sees them.
struct GroupState {
  Group *shared = nullptr;
  std::vector<int64_t> members; ///< Mesh positions, in group order.
  uint64_t nextBarrier = 0;     ///< The number of the next barrier, the same on all members.
};

/// The users of the barriers of a set of devices. Each has its own barrier counter, because each may be another thread.
enum class BarrierUse : uint64_t { Calls, NetReady, NetMeet };

/// Memory that the calls of one device share, because they are completed one after the other. Preparing a call enlarges
/// it. Calls with memory of their own would need more of it with each call and device, and some for each pair of
/// devices.
struct CallScratch {
  std::vector<const char *> sources;  ///< The members' operands, in group order.
  std::vector<const void *> pointers; ///< For each thread of the device, the inputs of a reduction.
  std::vector<char> packed;           ///< For each thread, short runs beside one another.
  std::shared_ptr<std::vector<char>> reduction = std::make_shared<std::vector<char>>();
};

/// Maps the memory of other devices of this host; for one thread at a time.
class PeerMemory {
public:
  explicit PeerMemory(ShmCommunicator &communicator);
  const char *addressOf(int64_t member, const MemoryLocation &location);

private:
  ShmCommunicator &communicator;
  std::vector<std::vector<const char *>> bases; ///< [position][segment]
};

class ShmEndpoint final : public CommunicatorEndpoint {
public:
  ShmEndpoint(ShmCommunicator &communicator, int64_t position);

  std::unique_ptr<CollectiveCall> prepare(const MeshShape &mesh, const CollectiveDesc &desc,
                                          const CallSite &site) override;
  void beginLaunch(std::function<void()> check) override;
  void endLaunch() override;
  void settle() override { checkDevice = nullptr; } // Nothing to wait for: `done` has read all data.

  // Called by ShmCall on the device's thread; NetCall also waits, checks and marks on another thread.

  CpuDevice &getDevice() const { return device; }
  int64_t getPosition() const { return position; }
  /// Takes the number of this device's next call and returns its record, which is free to be written. Finishes the call
  /// that used the record before, if it is still in flight.
  Record &nextRecord(const AnnouncedCall &call, uint64_t &sequence);
  void announce(AnnouncedCall &call, GroupState &group, uint64_t sequence);
  /// Declares that this device has read all data that it needs of the call.
  void markConsumed(uint64_t sequence);
  void forget(const AnnouncedCall &call);

  void arrive(GroupState &group, uint64_t barrier);
  void wait(GroupState &group, uint64_t barrier, const AnnouncedCall &call, uint64_t sequence);
  /// Throws if a member announces another call under this number, or never will announce one.
  void checkMembers(const GroupState &group, const AnnouncedCall &call, uint64_t sequence);

  /// Throws if a member in this state, here or on another host, will not make this call.
  void checkPeer(int64_t member, const PeerState &state, const AnnouncedCall &call, uint64_t sequence);
  bool hasProcessLeft(int64_t member) const;
  /// `theirs` describes what the member does, `ours` what this device calls.
  [[noreturn]] void throwDivergence(int64_t member, const std::string &theirs, const std::string &ours);
  /// Throws if the job is over, the communicator was aborted, or the device has failed.
  void checkJob();
  /// Ends the wait for these members with an error. `reason` adds what is known of the cause.
  [[noreturn]] void throwTimeout(const AnnouncedCall &call, const std::vector<int64_t> &missing,
                                 const std::string &reason = "a process hangs, or the limit (--collective-timeout) is "
                                                             "too short");

  GroupState &groupFor(const std::vector<int64_t> &members, BarrierUse use = BarrierUse::Calls);
  uint64_t getLaunch() const { return launches; }
  std::string nameOf(int64_t member) const;
  Record &recordOf(int64_t member, uint64_t sequence);
  const char *addressOf(int64_t member, const MemoryLocation &location) { return memory.addressOf(member, location); }
  CallScratch &getScratch() { return scratch; }

private:
  struct InFlight {
    std::atomic<AnnouncedCall *> call{nullptr}; ///< Null once it is done.
    GroupState *group = nullptr;
    uint64_t sequence = 0;
  };
  template <typename IsReady>
  void waitOn(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers, const GroupState *group,
              const AnnouncedCall &call, uint64_t sequence, IsReady &&isReady);
  /// Called once per slice of a long wait: throws if there is a reason to stop waiting.
  void checkWait(const GroupState *group, const AnnouncedCall &call, uint64_t sequence,
                 std::chrono::steady_clock::time_point deadline);
  void reportMissing(int32_t process, const std::string &cause);
  std::string describeTimeout(const AnnouncedCall &call, const std::vector<int64_t> &missing) const;
  [[noreturn]] void throwAborted();

  ShmCommunicator &communicator;
  const int64_t position;
  CpuDevice &device;
  Slot &slot;
  uint64_t sequence = 0, launches = 0;
  std::function<void()> checkDevice; ///< Of the current run; may be null.
  std::map<std::pair<BarrierUse, std::vector<int64_t>>, GroupState> groups;
  InFlight inFlight[ringSize];
  PeerMemory memory;
  CallScratch scratch;
};

class ShmCommunicator final : public Communicator {
public:
  ShmCommunicator(Backend &backend, std::vector<int64_t> devices, const ControlPage &page);

  const std::vector<int64_t> &getDevices() const override { return devices; }
  CommunicatorEndpoint &getEndpoint(int64_t position) override;
  void abort(const std::string &cause) override;

  Backend &getBackend() { return backend; }
  const ControlPage &getPage() const { return page; }
  /// Adds the calls of CollectiveBackend::findAwaitedCalls that devices of this host have begun.
  void addAwaitedCalls(std::vector<AwaitedCall> &calls) const;
  std::string nameOf(int64_t member) const;
  int32_t processOf(int64_t member) const { return backend.processOf(devices[member]); }
  /// Whether devices of other processes take part, on this host or on others.
  bool spansProcesses() const { return endpoints.size() < devices.size(); }

private:
  Backend &backend;
  const std::vector<int64_t> devices;
  const ControlPage page;
  std::map<int64_t, std::unique_ptr<ShmEndpoint>> endpoints;
};

} // namespace spmd::shm
