//===- Server.h - the coordinator on its sockets ----------------*- C++ -*-===//
//
// Feeds the coordinator's state machine from a listening socket and its connections. Lives on the background thread of
// process 0, except for listenAt().
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Address.h"
#include "runtime/coordinator/FramedConnection.h"
#include "runtime/coordinator/StateMachine.h"
#include "runtime/support/Process.h"

#include <asio.hpp>

#include <map>
#include <memory>

namespace spmd::coordinator {

/// A socket that accepts connections, and its address.
struct Listener {
  UniqueFd fd;
  asio::ip::tcp::endpoint endpoint;
  std::vector<asio::ip::address> shortcuts; ///< As in ListenPlan.
  std::string warning;                      ///< As in ListenPlan.
};

/// listenAt throws this if another program has the port.
class PortTaken : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Listens for that host at the addresses of planListening (no SO_REUSEPORT: a port has one coordinator). Throws
/// PortTaken, or spmd::Error if the host is not known or is not this machine.
Listener listenAt(asio::io_context &io, const Address &address, bool hasToken);

/// Returns the inherited socket if it listens on this port (JoinOptions::listenFd).
std::optional<Listener> adoptListener(int fd, uint16_t port);

class Server {
public:
  /// `tls`: the identity for TLS connections, or null for plain ones.
  Server(asio::io_context &io, Listener listener, ServerOptions options, std::shared_ptr<const TlsIdentity> tls);
  ~Server();

  void start();
  void onChildEnded(const ChildEndMessage &end);
  /// Returns whether the job has ended, all members have disconnected, and no latecomer is expected that would ask why.
  bool isQuiet() const {
    return machine.getStage() >= StateMachine::Stage::Done && machine.countConnectedMembers() == 0 &&
           machine.countLatecomers() == 0;
  }
  JobStatus status() const { return machine.status(Clock::now()); }
  /// Returns the position of this process, which is process 0.
  std::function<Position()> position;
  /// Called when isQuiet() may have become true.
  std::function<void()> quiet;

private:
  void acceptLater();
  void acceptAll();
  void pump();
  void armTimer();

  asio::io_context &io;
  const std::shared_ptr<const TlsIdentity> tls;
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer timer, acceptTimer;
  StateMachine machine;
  ConnectionId lastConnection = 0;
  std::map<ConnectionId, std::shared_ptr<FramedConnection>> connections;
};

} // namespace spmd::coordinator
