//===- NetCommunicator.h - communicators of several hosts -------*- C++ -*-===//
//
// Combines the part of the communicator on this host, which uses shared memory, with channels to devices of other
// hosts. A device that waits unusually long for a device of another host asks that device's process for its progress.
// So it learns of a divergence, the end of a run, or an abort although no data arrives, at no cost for calls that
// succeed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/net/CallQueue.h"
#include "runtime/collective/net/Channel.h"
#include "runtime/collective/net/Network.h"
#include "runtime/collective/shm/ShmCommunicator.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace spmd::net {

class NetCommunicator;
class NetCall;

class NetEndpoint final : public CommunicatorEndpoint {
public:
  NetEndpoint(NetCommunicator &communicator, int64_t position);

  std::unique_ptr<CollectiveCall> prepare(const MeshShape &mesh, const CollectiveDesc &desc,
                                          const CallSite &site) override;
  void beginLaunch(std::function<void()> check) override { local.beginLaunch(std::move(check)); }
  void endLaunch() override { local.endLaunch(); }
  void settle() override {
    queue.settle();
    local.settle();
  }

  // Called by NetCall, on the device's thread or the queue's, whichever runs the call.

  shm::ShmEndpoint &getLocal() { return local; }
  NetCommunicator &getCommunicator() { return communicator; }
  int64_t getPosition() const { return position; }
  CallQueue &getQueue() { return queue; }
  const char *addressOf(int64_t member, const MemoryLocation &location) { return memory.addressOf(member, location); }
  /// Returns the channel to a device of another host, and creates it if there is none yet.
  Channel &channelTo(const NetCall &call, int64_t position);

  /// Sends and receives messages of this call; with `mayWait`, waits until some bytes have moved.
  void pump(const NetCall &call, bool mayWait);

  /// Reserves memory for data in transit between the barriers of one call; it grows when calls are prepared.
  void reserve(int64_t receivedBytes, int64_t sentBytes);
  char *getReceived() { return received ? static_cast<char *>(received->data()) : nullptr; }
  char *getSent() { return sent.data(); }

private:
  void waitForAny(const NetCall &call, Clock::time_point since);
  /// Called once per slice of a long wait: throws if there is a reason to stop waiting for these devices.
  void checkWait(const NetCall &call, Clock::time_point since, const std::vector<int64_t> &pending);
  void throwIfSilent(const NetCall &call, const std::vector<int64_t> &pending);
  void askPeer(const NetCall &call, int64_t peer);
  void checkHeader(const NetCall &call, Channel &channel, Incoming &message);
  [[noreturn]] void throwOutOfStep(const NetCall &call, int64_t peer, const MessageHeader &header);
  [[noreturn]] void throwLost(int64_t peer, const std::string &why);

  NetCommunicator &communicator;
  shm::ShmEndpoint &local;
  const int64_t position;
  std::map<int64_t, std::unique_ptr<Channel>> channels;
  std::map<int32_t, std::unique_ptr<Stream>> questions; ///< Connections for questions, by process.
  std::set<int32_t> silent;                             ///< Processes that have not answered the last question.
  DeviceBufferRef received;
  std::vector<char> sent;
  size_t turn = 0; ///< The next peer to ask.
  Clock::time_point nextQuestion;
  bool isFailed = false;
  shm::PeerMemory memory;
  CallQueue queue; ///< The last member: its thread uses the others.
};

class NetCommunicator final : public Communicator {
public:
  NetCommunicator(shm::Backend &backend, Network &network, std::shared_ptr<shm::ShmCommunicator> local);

  const std::vector<int64_t> &getDevices() const override { return local->getDevices(); }
  CommunicatorEndpoint &getEndpoint(int64_t position) override;
  /// Other hosts learn of the abort when they ask for the device's progress.
  void abort(const std::string &cause) override { local->abort(cause); }

  Network &getNetwork() { return network; }
  shm::Backend &getBackend() { return backend; }
  shm::ShmCommunicator &getLocal() { return *local; }
  uint64_t getKey() const { return key; }
  int32_t processOf(int64_t position) const { return backend.processOf(getDevices()[position]); }
  const std::string &hostOf(int64_t position) const { return backend.hostOf(getDevices()[position]); }
  bool isOnThisHost(int64_t position) const { return backend.isOnThisHost(getDevices()[position]); }

  /// Called on the listener's thread.
  Answer answer(const Question &question);
  /// Adds the calls of CollectiveBackend::findAwaitedCalls about which devices of other hosts have asked.
  void addAwaitedCalls(std::vector<AwaitedCall> &calls);

private:
  /// A question about a device of this process that had not made the call yet.
  struct Asked {
    int64_t position = 0;
    uint64_t sequence = 0;
    std::string call;
  };

  shm::Backend &backend;
  Network &network;
  std::shared_ptr<shm::ShmCommunicator> local;
  const uint64_t key;
  std::map<int64_t, std::unique_ptr<NetEndpoint>> endpoints;
  std::mutex askedMutex;
  std::map<int32_t, Asked> asked; ///< The last one of each process; guarded by `askedMutex`.
};

} // namespace spmd::net
