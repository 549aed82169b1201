//===- Network.h - one process's connections to other hosts -----*- C++ -*-===//
#pragma once

#include "runtime/collective/net/Door.h"
#include "runtime/collective/net/NetCollectives.h"
#include "runtime/support/Error.h"

#include <map>
#include <mutex>

namespace spmd::net {

class Network {
public:
  /// Opens the door and tells the others where it is.
  Network(int32_t process, Store &store, NetworkPlace place, Door::Reply reply, Door::Fail fail);

  /// One attempt to connect to a process of another host. Throws StreamEnded, or what `check` throws.
  std::unique_ptr<Stream> connect(int32_t peer, const Greeting &greeting, Clock::time_point deadline,
                                  const StopWaiting &check);
  /// `process 2 at 10.0.0.3:4711`, of a process that has been found.
  const std::string &nameOf(int32_t process) { return find(process, Clock::now()).name; }
  Door &getDoor() { return *door; }
  /// Who cannot be reached, where, and what may be the reason.
  Error unreachable(int32_t peer, const StreamEnded &ended);

private:
  struct Peer {
    SocketAddress address;
    Secret secret;
    std::string fingerprint; ///< With TLS: of the certificate with which it has joined.
    std::string name;        ///< For messages.
  };
  const Peer &find(int32_t peer, Clock::time_point deadline);

  const NetworkPlace place;
  Store &store;
  std::unique_ptr<Door> door;
  std::mutex mutex;
  std::map<int32_t, Peer> peers;
};

/// Where the door of a process is to be: no wider than it has to.
std::string doorAddress(const NetworkPlace &place);

/// Where that process's door is found from here.
std::string addressOfPeer(const NetworkPlace &place, int32_t peer);

} // namespace spmd::net
