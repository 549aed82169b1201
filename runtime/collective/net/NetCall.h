//===- NetCall.h - one prepared collective between hosts --------*- C++ -*-===//
//
// The base of all kinds: the members of this host announce the call and meet, compare it, exchange messages with other
// hosts, and meet again. Between each two hosts of the group at least one message is sent in each direction. So a
// result is complete only when every member is known to be in this call: the members of a host vouch for one another.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/Movement.h"
#include "runtime/collective/net/HostGroup.h"
#include "runtime/collective/net/NetCommunicator.h"

#include <deque>
#include <vector>

namespace spmd::net {

class NetCall : public shm::AnnouncedCall {
public:
  NetCall(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc, Movement movement,
          const CallSite &site);
  ~NetCall() override;

  void start(const void *operand, void *result) final;
  void done() final { finish(); }
  void finish() final;
  /// Runs the call for the queue, from the meeting of this host's members to its end. `loop` distributes computations
  /// over threads.
  void run(ParallelFor &loop);
  uint64_t getFingerprint() const final { return fingerprint; }
  std::string describe() const final { return text; }

  uint64_t getSequence() const { return sequence; }
  Clock::time_point getBegin() const { return begin; }
  const std::vector<Channel *> &getChannels() const { return channels; }

protected:
  /// Runs between the first meeting and the end. When it returns, no member of this host reads this device's memory any
  /// more.
  virtual void transfer() = 0;

  // Functions for preparing a call.
  Outgoing &addOutgoing(int64_t member, uint32_t phase);
  Incoming &addIncoming(int64_t member, uint32_t phase);

  // Functions for running it.
  void send(Outgoing &message, const char *data, size_t bytes, size_t ready);
  void receive(Incoming &message, char *data, size_t bytes);
  /// Returns when all messages have been sent and received.
  void drain();
  void meet();
  const char *addressOf(int64_t member, const MemoryLocation &location) {
    return endpoint.addressOf(movement.group[member], location);
  }
  shm::Record &recordOf(int64_t member) { return endpoint.getLocal().recordOf(movement.group[member], sequence); }
  /// Returns the operand of a member of this host.
  const char *operandOf(int64_t member);
  ParallelFor &parallelFor() { return *loop; }
  void copyInParallel(const Box &box, const char *source, char *target);
  /// Sets `base` to memory from which other members of this host can read this device's result: the result itself if it
  /// is in the device's memory and may be written, else a separate buffer.
  void placeResult();

  NetEndpoint &endpoint;
  Movement movement;
  const HostGroup hosts;
  const bool isStaged; ///< Operands are in the control page.
  const bool isReceiver;
  const int64_t elementBytes;

  // State of the call in flight.
  const char *operand = nullptr;
  char *result = nullptr;
  char *base = nullptr;

private:
  /// Returns memory that other members of this host can read: `data`, unless it is null or outside the device's memory,
  /// else `staging`.
  std::pair<MemoryLocation, char *> locate(const char *data, int64_t bytes, DeviceBufferRef &staging);
  void connect();

  uint64_t fingerprint = 0;
  std::string text;
  std::deque<Outgoing> outgoing; ///< A deque, because the addresses of its elements must not change.
  std::deque<Incoming> incoming;
  std::vector<Channel *> channels;
  DeviceBufferRef operandStaging, resultStaging;
  const bool isAsync;
  /// Barriers of this host's members: `ready` for the start, `meeting` for the meetings during the call.
  shm::GroupState *ready = nullptr, *meeting = nullptr;
  ParallelFor *loop = nullptr;
  uint64_t sequence = 0;
  uint64_t readyBarrier = 0;
  Clock::time_point begin;
  bool isInFlight = false;
};

/// Prepares the call of a group that spans several hosts.
std::unique_ptr<CollectiveCall> prepareNetCall(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                               Movement movement, const CallSite &site);

std::unique_ptr<NetCall> makeSmallAllReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                            Movement movement, const CallSite &site);
std::unique_ptr<NetCall> makeSlicedReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                          Movement movement, const CallSite &site);
std::unique_ptr<NetCall> makeNetMove(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                     Movement movement, const CallSite &site);

} // namespace spmd::net
