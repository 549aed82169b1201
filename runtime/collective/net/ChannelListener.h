//===- ChannelListener.h - accepts connections of other hosts --------------*- C++ -*-===//
//
// The listener of a process for connections of other hosts. Its thread accepts connections whose peer knows the job's
// token, and keeps each until the device that it is for takes it. An unauthenticated peer gets 64 bytes read, five
// seconds, and one of a bounded number of slots; when all slots are in use, the peer that has waited longest is
// dropped. The thread also answers questions about devices of this host, so that an answer never waits for a device.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/AcceptPause.h"
#include "runtime/collective/net/Stream.h"
#include "runtime/collective/net/Wire.h"
#include "runtime/coordinator/Handshake.h"
#include "runtime/support/BackgroundThread.h"

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <tuple>

namespace spmd::net {

/// The secret that the two ends of a connection share.
struct Secret {
  std::string token; ///< The token of the job.
  /// Chosen by the listening process, so that a connection meant for another job or process is refused.
  std::string nonce;
  std::string key() const { return token + "|" + nonce; }
};

class ChannelListener {
public:
  using Reply = std::function<Answer(const Question &)>;
  /// Makes a stream of an accepted socket.
  using Wrap = std::function<std::unique_ptr<Stream>(UniqueFd)>;

  /// Called when no more connections can be accepted.
  using Fail = std::function<void(const std::string &why)>;

  /// Listens on a port that the kernel chooses. `reply` and `fail` are called on the listener's thread.
  ChannelListener(const std::string &address, Secret secret, Wrap wrap, Reply reply, Fail fail);
  ~ChannelListener();

  uint16_t getPort() const { return port; }

  /// Returns the connection from one device to another as soon as it exists; null if it has not arrived within `limit`.
  std::unique_ptr<Stream> take(uint64_t communicator, int64_t from, int64_t to, std::chrono::milliseconds limit);

private:
  struct PendingPeer {
    enum class Stage { Opening, Hello, Proof, Greeting, Question };
    std::unique_ptr<Stream> stream;
    Stage stage = Stage::Opening;
    Clock::time_point deadline;
    coordinator::Opening theirs, ours;
    std::string input, output;
    size_t wanted = 0;
  };

  void serve();
  void accept();
  /// Returns false if the connection must be closed, or was handed over.
  bool attend(PendingPeer &pendingPeer);
  bool onInput(PendingPeer &pendingPeer);
  void expect(PendingPeer &pendingPeer, PendingPeer::Stage stage, size_t bytes);

  const Secret secret;
  const Wrap wrap;
  const Reply reply;
  const Fail fail;
  uint16_t port = 0;
  UniqueFd listener, stopEvent;
  AcceptPause pause; ///< Only the thread uses it and `pendingPeers`.
  std::list<PendingPeer> pendingPeers;

  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::tuple<uint64_t, int64_t, int64_t>, std::unique_ptr<Stream>> channels;
  BackgroundThread thread;
};

/// Connects and authenticates. Throws StreamEnded, or whatever `check` throws.
std::unique_ptr<Stream> enter(const SocketAddress &address, const Secret &secret, const ChannelListener::Wrap &wrap,
                              const Greeting &greeting, Clock::time_point deadline, const StopWaiting &check);

} // namespace spmd::net
