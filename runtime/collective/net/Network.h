//===- Network.h - one process's connections to other hosts -----*- C++ -*-===//
#pragma once

#include "runtime/collective/net/ChannelListener.h"
#include "runtime/collective/net/NetCollectives.h"
#include "runtime/support/Error.h"

#include <map>
#include <mutex>

namespace spmd::net {

class Network {
public:
  /// Starts the listener and publishes its address.
  Network(int32_t process, Store &store, NetworkAddresses place, ChannelListener::Reply reply,
          ChannelListener::Fail fail);

  /// Makes one attempt to connect to a process of another host. Throws StreamEnded, or whatever `check` throws.
  std::unique_ptr<Stream> connect(int32_t peer, const Greeting &greeting, Clock::time_point deadline,
                                  const StopWaiting &check);
  /// `process 2 at 10.0.0.3:4711`, for a process whose address is known.
  const std::string &nameOf(int32_t process) { return find(process, Clock::now()).name; }
  ChannelListener &getChannelListener() { return *channelListener; }
  /// An error that names the peer, its address, and the likely reason.
  Error unreachable(int32_t peer, const StreamEnded &ended);

private:
  struct Peer {
    SocketAddress address;
    Secret secret;
    std::string fingerprint; ///< With TLS: fingerprint of the certificate with which the process joined.
    std::string name;        ///< For messages.
  };
  const Peer &find(int32_t peer, Clock::time_point deadline);

  const NetworkAddresses place;
  Store &store;
  std::unique_ptr<ChannelListener> channelListener;
  std::mutex mutex;
  std::map<int32_t, Peer> peers;
};

/// Returns the address at which the listener of a process is opened: as few interfaces as possible.
std::string listenAddress(const NetworkAddresses &place);

/// Returns the address of that process's listener as seen from this process.
std::string addressOfPeer(const NetworkAddresses &place, int32_t peer);

} // namespace spmd::net
