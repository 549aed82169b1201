#include "runtime/coordinator/Server.h"

#include "runtime/coordinator/Resolve.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace spmd::coordinator {

using asio::ip::tcp;

//===----------------------------------------------------------------------===//
// Listening
//===----------------------------------------------------------------------===//

static std::vector<asio::ip::address> resolve(asio::io_context &io, const Address &address) {
  if (std::vector<asio::ip::address> known = addressesOf(address.host); !known.empty())
    return known;
  asio::error_code error;
  tcp::resolver resolver(io);
  auto results = resolver.resolve(address.host, std::to_string(address.port), error);
  if (error || results.empty())
    throw Error("cannot serve the coordinator at " + address.str() + ": the host is not known (" + error.message() +
                ")");
  std::vector<asio::ip::address> found;
  for (const auto &result : results)
    found.push_back(result.endpoint().address());
  return found;
}

/// Returns a socket that is bound to the endpoint; empty, with errno, on error.
static UniqueFd bindSocket(const tcp::endpoint &endpoint) {
  UniqueFd fd(::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd)
    return fd;
  // A port can be used again right after its last job. Two coordinators still cannot share a port.
  int yes = 1, no = 0;
  if (endpoint.address().is_v6() && endpoint.address().is_unspecified())
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no); // Independent of the system's default.
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(fd.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) {
    int code = errno;
    fd.reset();
    errno = code;
  }
  return fd;
}

Listener listenAt(asio::io_context &io, const Address &address, bool hasToken) {
  ListenPlan plan = planListening(address.host, resolve(io, address), hasToken);
  auto fail = [&](int code) {
    std::string text = "cannot serve the coordinator at " + address.str() + ": ";
    if (code == EADDRINUSE)
      throw PortTaken(text);
    if (code == EADDRNOTAVAIL)
      throw Error(text + "this machine does not have that address: start process 0 there, or give an address of this "
                         "machine as coordinator_bind_address");
    throw Error(text + asio::error_code(code, asio::system_category()).message());
  };
  // A port that the kernel chooses conflicts with no other program.
  auto isOwn = [](const asio::ip::address &one) { return static_cast<bool>(bindSocket({one, 0})); };
  if (plan.listenAddresses != plan.own && std::none_of(plan.own.begin(), plan.own.end(), isOwn))
    fail(EADDRNOTAVAIL);
  int problem = 0;
  for (const asio::ip::address &choice : plan.listenAddresses) {
    tcp::endpoint endpoint(choice, address.port);
    UniqueFd fd = bindSocket(endpoint);
    if (fd && ::listen(fd.get(), SOMAXCONN) == 0)
      return {std::move(fd), endpoint, std::move(plan.shortcuts), std::move(plan.warning)};
    problem = problem == 0 ? errno : problem;
    if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) // The error shows that this machine has the address.
      fail(errno);
  }
  fail(problem);
  return {};
}

std::optional<Listener> adoptListener(int fd, uint16_t port) {
  int listening = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0)
    return std::nullopt;
  tcp::endpoint endpoint;
  size = static_cast<socklen_t>(endpoint.capacity());
  if (::getsockname(fd, endpoint.data(), &size) != 0 ||
      (endpoint.data()->sa_family != AF_INET && endpoint.data()->sa_family != AF_INET6))
    return std::nullopt;
  endpoint.resize(size);
  if (endpoint.port() != port)
    return std::nullopt;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ListenPlan plan = planListening(endpoint.address().to_string(), {endpoint.address()}, /*hasToken=*/true);
  return Listener{UniqueFd(fd), endpoint, std::move(plan.shortcuts), ""};
}

/// Raises the limit to a descriptor for each process, and some for foreign connections: the usual soft limit of 1024 is
/// too small for a large job.
static void raiseDescriptorLimit(int32_t numProcesses) {
  rlimit limit = {};
  rlim_t needed = static_cast<rlim_t>(numProcesses) * 2 + 512;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed)
    return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

//===----------------------------------------------------------------------===//
// Serving
//===----------------------------------------------------------------------===//

Server::Server(asio::io_context &io, Listener listener, ServerOptions options, std::shared_ptr<const TlsIdentity> tls)
    : io(io), tls(std::move(tls)), acceptor(io), timer(io), acceptTimer(io), machine(options, makeNonce, Clock::now()) {
  raiseDescriptorLimit(options.numProcesses);
  acceptor.assign(listener.endpoint.protocol(), listener.fd.get());
  listener.fd.release();
  acceptor.non_blocking(true);
}

Server::~Server() {
  for (auto &[id, connection] : connections)
    connection->abandon();
}

void Server::start() {
  acceptLater();
  armTimer();
}

void Server::acceptLater() {
  acceptor.async_wait(tcp::acceptor::wait_read, [this](const asio::error_code &error) {
    if (!error)
      acceptAll();
  });
}

void Server::acceptAll() {
  // A limited number at a time, so that a flood of connections does not delay the members' messages.
  for (int i = 0; i != 16; ++i) {
    tcp::endpoint peer;
    socklen_t size = static_cast<socklen_t>(peer.capacity());
    int fd = ::accept4(acceptor.native_handle(), peer.data(), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      machine.onNoRoom(systemErrorText(errno), Clock::now());
      pump();
      // Tries again when some foreign connection has timed out.
      acceptTimer.expires_after(std::chrono::milliseconds(100));
      acceptTimer.async_wait([this](const asio::error_code &error) {
        if (!error)
          acceptLater();
      });
      return;
    }
    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    if (fd < 0)
      continue; // The peer closed the connection before it was accepted.
    peer.resize(size);
    tcp::socket socket(io, acceptor.local_endpoint().protocol(), fd);
    ConnectionId id = ++lastConnection;
    FramedConnection::Handlers handlers;
    handlers.record = [this, id](std::string_view record) {
      machine.onRecord(id, record, Clock::now());
      pump();
    };
    handlers.malformed = [this, id](const std::string &why) {
      machine.onMalformed(id, why, Clock::now());
      pump();
    };
    handlers.refused = [this, id](const std::string &why) {
      machine.onRefused(id, why, Clock::now());
      pump();
    };
    handlers.closed = [this, id](const std::string &) {
      connections.erase(id);
      machine.onClosed(id, Clock::now());
      pump();
    };
    auto connection =
        std::make_shared<FramedConnection>(std::move(socket), tls ? tls->accept(fd) : nullptr,
                                           std::vector<size_t>{openingBytes, proofBytes}, std::move(handlers));
    connections.emplace(id, connection);
    asio::ip::address from = peer.address();
    if (from.is_v6() && from.to_v6().is_v4_mapped()) // A socket of `::` shows IPv4 addresses in this form.
      from = asio::ip::make_address_v4(asio::ip::v4_mapped, from.to_v6());
    machine.onOpened(id, from.to_string(), Clock::now());
    connection->start();
    pump();
  }
  acceptLater();
}

void Server::onChildEnded(const ChildEndMessage &end) {
  machine.onChildEnded(end, Clock::now());
  pump();
}

void Server::pump() {
  for (ServerAction &action : machine.takeActions()) {
    auto found = connections.find(action.connection);
    if (found == connections.end())
      continue;
    if (action.kind == ServerAction::Kind::Send)
      found->second->send(std::move(action.bytes));
    else
      found->second->closeWhenSent();
  }
  armTimer();
  if (quiet && isQuiet())
    quiet();
}

void Server::armTimer() {
  timer.expires_at(machine.nextDeadline());
  timer.async_wait([this](const asio::error_code &error) {
    if (error)
      return;
    if (position)
      machine.onHostPosition(position(), Clock::now());
    machine.tick(Clock::now());
    pump();
  });
}

} // namespace spmd::coordinator
