//===- NetCommunicator.h - devices of several hosts that work together -*- C++ -*-===//
//
// Joins the part of the communicator on this host, which goes through shared memory, to channels to devices of others.
// A device that waits longer than usual for one of another host asks the process of that one how far it has come: so a
// divergence, an end of its run, or an abort is learned of although no data comes, at no cost for calls that go well.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/net/CallQueue.h"
#include "runtime/collective/net/Channel.h"
#include "runtime/collective/net/Network.h"
#include "runtime/collective/shm/ShmCommunicator.h"

#include <map>
#include <memory>
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
  void beginLaunch() override { local.beginLaunch(); }
  void endLaunch() override { local.endLaunch(); }
  void settle() override { queue.settle(); }

  // For NetCall, on the device's thread or the queue's, whichever runs it.

  shm::ShmEndpoint &getLocal() { return local; }
  NetCommunicator &getCommunicator() { return communicator; }
  int64_t getPosition() const { return position; }
  CallQueue &getQueue() { return queue; }
  const char *addressOf(int64_t member, const MemoryLocation &location) { return memory.addressOf(member, location); }
  /// The connection to a device of another host; made where there is none yet.
  Channel &channelTo(const NetCall &call, int64_t position);

  /// Moves messages of this call; with `mayWait`, waits until at least one piece has moved.
  void pump(const NetCall &call, bool mayWait);

  /// Memory for what comes in between the barriers of one call; it grows when calls are prepared.
  void reserve(int64_t receivedBytes, int64_t sentBytes);
  char *getReceived() { return received ? static_cast<char *>(received->data()) : nullptr; }
  char *getSent() { return sent.data(); }

private:
  void waitForAny(const NetCall &call, Clock::time_point since);
  /// Once per slice of a long wait: throws if there is a reason to stop waiting for these devices.
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
  std::map<int32_t, std::unique_ptr<Stream>> questions; ///< By process.
  std::set<int32_t> silent;                             ///< Processes that have not answered the last question.
  DeviceBufferRef received;
  std::vector<char> sent;
  size_t turn = 0; ///< Whom to ask next.
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
  /// Other hosts learn of it when they ask why nothing comes.
  void abort(const std::string &cause) override { local->abort(cause); }

  Network &getNetwork() { return network; }
  shm::Backend &getBackend() { return backend; }
  shm::ShmCommunicator &getLocal() { return *local; }
  uint64_t getKey() const { return key; }
  int32_t processOf(int64_t position) const { return backend.processOf(getDevices()[position]); }
  const std::string &hostOf(int64_t position) const { return backend.hostOf(getDevices()[position]); }
  bool isOnThisHost(int64_t position) const { return backend.isOnThisHost(getDevices()[position]); }

  Answer answer(const Question &question) const;

private:
  shm::Backend &backend;
  Network &network;
  std::shared_ptr<shm::ShmCommunicator> local;
  const uint64_t key;
  std::map<int64_t, std::unique_ptr<NetEndpoint>> endpoints;
};

} // namespace spmd::net
