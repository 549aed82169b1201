//===- NetCall.h - one prepared collective between hosts --------*- C++ -*-===//
//
// What all kinds have in common: the members of this host announce the call and meet, compare it, exchange messages
// with other hosts, and meet again. Between each two hosts of the group at least one message goes in each direction,
// so a result is there only when every member is known to be in this call: those of a host vouch for one another.
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
  /// For the queue: from the meeting of this host's members to the end. `loop` shares out what there is to compute.
  void run(ParallelFor &loop);
  uint64_t getFingerprint() const final { return fingerprint; }
  std::string describe() const final { return text; }

  uint64_t getSequence() const { return sequence; }
  Clock::time_point getBegin() const { return begin; }
  const std::vector<Channel *> &getChannels() const { return channels; }

protected:
  /// Between the first meeting and the end. When it returns nobody of this host reads this device's memory any more.
  virtual void transfer() = 0;

  // Preparing.
  Outgoing &addOutgoing(int64_t member, uint32_t phase);
  Incoming &addIncoming(int64_t member, uint32_t phase);

  // Running.
  void send(Outgoing &message, const char *data, size_t bytes, size_t ready);
  void receive(Incoming &message, char *data, size_t bytes);
  /// Until all messages have been sent and received.
  void drain();
  void meet();
  const char *addressOf(int64_t member, const MemoryLocation &location) {
    return endpoint.addressOf(movement.group[member], location);
  }
  shm::Record &recordOf(int64_t member) { return endpoint.getLocal().recordOf(movement.group[member], sequence); }
  /// The operand of a member of this host.
  const char *operandOf(int64_t member);
  ParallelFor &parallelFor() { return *loop; }
  void copyInParallel(const Box &box, const char *source, char *target);
  /// Makes `base` the memory that others of this host can read this device's result from: the result itself where it
  /// lies in the device's memory and may be written, else a buffer of its own.
  void placeResult();

  NetEndpoint &endpoint;
  Movement movement;
  const HostGroup hosts;
  const bool isStaged; ///< Operands travel in the control page.
  const bool isReceiver;
  const int64_t elementBytes;

  // The call under way.
  const char *operand = nullptr;
  char *result = nullptr;
  char *base = nullptr;

private:
  /// Where memory lies that others of this host can read: `data`, which may be null, or else `staging`.
  std::pair<MemoryLocation, char *> locate(const char *data, int64_t bytes, DeviceBufferRef &staging);
  void connect();

  uint64_t fingerprint = 0;
  std::string text;
  std::deque<Outgoing> outgoing; ///< Their addresses stay.
  std::deque<Incoming> incoming;
  std::vector<Channel *> channels;
  DeviceBufferRef operandStaging, resultStaging;
  const bool isAsync;
  /// This host's members: what start arrives at, and where they meet while the call runs.
  shm::GroupState *ready = nullptr, *meeting = nullptr;
  ParallelFor *loop = nullptr;
  uint64_t sequence = 0;
  uint32_t readyBarrier = 0;
  Clock::time_point begin;
  bool isUnderWay = false;
};

/// The call for a group of several hosts.
std::unique_ptr<CollectiveCall> prepareNetCall(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                               Movement movement, const CallSite &site);

std::unique_ptr<NetCall> makeSmallAllReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                            Movement movement, const CallSite &site);
std::unique_ptr<NetCall> makeSlicedReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                          Movement movement, const CallSite &site);
std::unique_ptr<NetCall> makeNetMove(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                     Movement movement, const CallSite &site);

} // namespace spmd::net
