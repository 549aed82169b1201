//===- Door.h - where processes of other hosts come in ----------*- C++ -*-===//
//
// One thread per process listens, lets in who knows the job's token, and keeps their connections until the devices that
// they are for take them. Before that a stranger gets 64 bytes read, five seconds, and one of a bounded number of
// places: when all are taken, who has waited longest has to go. Questions about devices of this host are answered here,
// so that an answer never waits for a device.
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

/// What the two ends of a connection have in common.
struct Secret {
  std::string token; ///< The job's.
  /// Chosen by the process that listens: a connection meant for another job or process is refused.
  std::string nonce;
  std::string key() const { return token + "|" + nonce; }
};

class Door {
public:
  using Reply = std::function<Answer(const Question &)>;
  /// Makes a stream of an accepted socket.
  using Wrap = std::function<std::unique_ptr<Stream>(UniqueFd)>;

  /// Called where nobody can come in any more.
  using Fail = std::function<void(const std::string &why)>;

  /// Listens on a port that the kernel chooses. `reply` and `fail` are called on the door's thread.
  Door(const std::string &address, Secret secret, Wrap wrap, Reply reply, Fail fail);
  ~Door();

  uint16_t getPort() const { return port; }

  /// The connection from one device to another, once it is there; null when it has not come after `limit`.
  std::unique_ptr<Stream> take(uint64_t communicator, int64_t from, int64_t to, std::chrono::milliseconds limit);

private:
  struct Guest {
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
  /// False when the guest has to go, or has been handed over.
  bool attend(Guest &guest);
  bool onInput(Guest &guest);
  void expect(Guest &guest, Guest::Stage stage, size_t bytes);

  const Secret secret;
  const Wrap wrap;
  const Reply reply;
  const Fail fail;
  uint16_t port = 0;
  UniqueFd listener, stopEvent;
  AcceptPause pause; ///< The thread's, as are its guests.
  std::list<Guest> guests;

  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::tuple<uint64_t, int64_t, int64_t>, std::unique_ptr<Stream>> channels;
  BackgroundThread thread;
};

/// Connects and passes the door. Throws StreamEnded, or what `check` throws.
std::unique_ptr<Stream> enter(const SocketAddress &address, const Secret &secret, const Door::Wrap &wrap,
                              const Greeting &greeting, Clock::time_point deadline, const StopWaiting &check);

} // namespace spmd::net
