//===- Stream.cpp - bytes over one connection -----------------------------===//

#include "runtime/collective/net/Stream.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace spmd::net {
namespace {

/// How often a waiting thread checks whether it should stop.
constexpr std::chrono::milliseconds pollInterval(20);

[[noreturn]] void throwErrno() { throw StreamEnded{systemErrorText(errno)}; }

bool isTransient() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

} // namespace

Stream::Stream(UniqueFd given) : fd(std::move(given)) {
  int yes = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

size_t Stream::read(char *data, size_t bytes) {
  ssize_t n = ::recv(fd.get(), data, bytes, MSG_DONTWAIT);
  if (n == 0 && bytes > 0)
    throw StreamEnded{"the other side closed the connection"};
  if (n < 0 && !isTransient())
    throwErrno();
  return n < 0 ? 0 : static_cast<size_t>(n);
}

size_t Stream::write(const iovec *pieces, int count) {
  msghdr message = {};
  message.msg_iov = const_cast<iovec *>(pieces);
  message.msg_iovlen = static_cast<size_t>(count);
  ssize_t n = ::sendmsg(fd.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && !isTransient())
    throwErrno();
  return n < 0 ? 0 : static_cast<size_t>(n);
}

short Stream::eventsFor(bool reading, bool writing) const {
  return static_cast<short>((reading ? POLLIN : 0) | (writing ? POLLOUT : 0));
}

void Stream::wait(bool forReading, bool forWriting, std::chrono::milliseconds limit) const {
  pollfd entry{fd.get(), eventsFor(forReading, forWriting), 0};
  ::poll(&entry, 1, static_cast<int>(limit.count()));
}

static void waitBefore(Stream &stream, bool forReading, Clock::time_point deadline, const StopWaiting &check) {
  if (check)
    check();
  if (Clock::now() >= deadline)
    throw StreamEnded{"no answer"};
  stream.wait(forReading, !forReading, pollInterval);
}

void readAll(Stream &stream, char *data, size_t bytes, Clock::time_point deadline, const StopWaiting &check) {
  for (size_t done = 0; done < bytes;) {
    size_t n = stream.read(data + done, bytes - done);
    done += n;
    if (n == 0)
      waitBefore(stream, true, deadline, check);
  }
}

void writeAll(Stream &stream, const std::string &bytes, Clock::time_point deadline, const StopWaiting &check) {
  for (size_t done = 0; done < bytes.size();) {
    iovec piece{const_cast<char *>(bytes.data()) + done, bytes.size() - done};
    size_t n = stream.write(&piece, 1);
    done += n;
    if (n == 0)
      waitBefore(stream, false, deadline, check);
  }
}

SocketAddress SocketAddress::make(const std::string &text, uint16_t port) {
  SocketAddress result;
  // A link-local address names its interface: fe80::1%eth0.
  size_t percent = text.find('%');
  std::string address = text.substr(0, percent);
  auto *v4 = reinterpret_cast<sockaddr_in *>(result.storage);
  auto *v6 = reinterpret_cast<sockaddr_in6 *>(result.storage);
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    result.length = sizeof *v4;
  } else if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    if (percent != std::string::npos)
      v6->sin6_scope_id = if_nametoindex(text.substr(percent + 1).c_str());
    result.length = sizeof *v6;
  } else {
    throw Error("'" + text + "' is not a numeric network address");
  }
  result.family = reinterpret_cast<sockaddr *>(result.storage)->sa_family;
  return result;
}

bool isLoopback(const std::string &address) {
  return address.rfind("127.", 0) == 0 || address == "::1" || address.rfind("::ffff:127.", 0) == 0;
}

UniqueFd connectSocket(const SocketAddress &address, Clock::time_point deadline, const StopWaiting &check) {
  UniqueFd fd(::socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd)
    throwErrno();
  if (::connect(fd.get(), reinterpret_cast<const sockaddr *>(address.storage), address.length) == 0)
    return fd;
  if (errno != EINPROGRESS)
    throwErrno();
  for (;;) {
    pollfd entry{fd.get(), POLLOUT, 0};
    if (::poll(&entry, 1, static_cast<int>(pollInterval.count())) > 0)
      break;
    if (check)
      check();
    if (Clock::now() >= deadline)
      throw StreamEnded{"no answer"};
  }
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0)
    throw StreamEnded{systemErrorText(error)};
  return fd;
}

} // namespace spmd::net
