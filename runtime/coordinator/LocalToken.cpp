#include "runtime/coordinator/LocalToken.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace spmd::coordinator {

/// A token has 64 hexadecimal digits (256 bits); a longer answer is not from our coordinator.
constexpr size_t maxTokenBytes = 4096;
/// Enough for a running process, which answers with one write. If the process is stopped, the handshake tries again.
constexpr int answerMilliseconds = 1000;
/// Time until the next attempt if no descriptor is free.
constexpr std::chrono::milliseconds acceptPause{100};

static socklen_t abstractAddress(const asio::ip::tcp::endpoint &coordinator, sockaddr_un &address) {
  std::string name =
      "spmd-token/" + coordinator.address().to_string() + "/" + std::to_string(coordinator.port()); // At most 80 bytes.
  address = {};
  address.sun_family = AF_UNIX;
  // The leading zero byte makes the name abstract.
  size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

/// Returns the user of the other side, as the kernel knows it.
static uid_t userOf(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  bool isTold = ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
  return isTold ? peer.uid : static_cast<uid_t>(-1); // This value is no user's id.
}

/// The kernel reports this id for all users that the user namespace does not have.
constexpr uid_t nobody = 65534;

static bool isOwnUser(uid_t user) { return user == ::geteuid() && user != nobody; }

TokenServer::TokenServer(asio::io_context &io, const asio::ip::tcp::endpoint &coordinator, std::string token)
    : listener(io), pause(io), token(std::move(token)) {
  sockaddr_un address;
  socklen_t length = abstractAddress(coordinator, address);
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  bool isNobody = ::geteuid() == nobody;
  if (isNobody || !fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0)
    throw Error("there is no token, and this process cannot give one to the other processes of this user (" +
                    (isNobody ? "user 65534 may be any user" : systemErrorText(errno)) +
                    "): make one with `spmdc token > FILE`, then `chmod 600 FILE`, and give --token-file FILE to all "
                    "processes",
                Error::Kind::Usage);
  listener.assign(fd.release());
}

void TokenServer::start() {
  listener.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code &error) {
    if (!error)
      giveAll();
  });
}

void TokenServer::giveAll() {
  // A limited number at a time, so that a flood of connections does not delay the members' messages.
  for (int i = 0; i != 16; ++i) {
    UniqueFd fd(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      pause.expires_after(acceptPause);
      pause.async_wait([this](const asio::error_code &error) {
        if (!error)
          start();
      });
      return;
    }
    if (!fd && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    // A small record fits into the socket's buffer at once.
    if (fd && isOwnUser(userOf(fd.get())))
      (void)!::send(fd.get(), token.data(), token.size(), MSG_NOSIGNAL);
  }
  start();
}

std::string requestToken(const asio::ip::tcp::endpoint &coordinator) {
  if (!coordinator.address().is_loopback())
    return "";
  sockaddr_un address;
  socklen_t length = abstractAddress(coordinator, address);
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), length) != 0)
    return "";
  if (uid_t user = userOf(fd.get()); !isOwnUser(user))
    throw Error("the coordinator at " + coordinator.address().to_string() + ":" + std::to_string(coordinator.port()) +
                " belongs to user " + std::to_string(user) + ", this process to user " + std::to_string(::geteuid()) +
                ", and without a token only processes of one user join one another: give --token-file FILE to all "
                "processes of a job, or choose another port if that is another user's job");
  pollfd wait = {fd.get(), POLLIN, 0};
  if (::poll(&wait, 1, answerMilliseconds) <= 0)
    return "";
  std::string token(maxTokenBytes, '\0');
  ssize_t size = ::recv(fd.get(), token.data(), token.size(), MSG_DONTWAIT);
  token.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return token;
}

} // namespace spmd::coordinator
