//===- FakeLinks.cpp - connections between the ranks of a job -------------===//

#include "tests/runtime/device/cuda/doubles/FakeLinks.h"

#include <array>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace spmd::cuda {
namespace {

/// The kinds of what is sent; behind a message its size and its bytes follow.
constexpr char kAnnouncement = 'c', kAcknowledgement = 'a', kMessage = 'm';

/// Calls a function with the abstract address of a rank: it belongs to no file, and ends with its process.
template <typename Function> int withAddress(const std::string &name, int rank, const Function &function) {
  std::string text = name + "-" + std::to_string(rank);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  text.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  return function(reinterpret_cast<sockaddr *>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size()));
}

int openSocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

} // namespace

FakeLinks::FakeLinks(std::string given, int size, int rank)
    : name(std::move(given)), rank(rank), listener(openSocket()), links(static_cast<size_t>(size)) {
  if (withAddress(name, rank, [&](auto *address, auto length) { return bind(listener, address, length); }) != 0 ||
      listen(listener, size) != 0)
    close(std::exchange(listener, -1));
}

FakeLinks::~FakeLinks() {
  if (listener >= 0)
    close(listener);
  for (int fd : strangers)
    close(fd);
  for (Link &link : links)
    if (link.fd >= 0)
      close(link.fd);
}

/// Connects to a rank, if that one has joined.
void FakeLinks::connect(int peer) {
  int fd = openSocket();
  auto call = [&](auto *address, auto length) { return ::connect(fd, address, length); };
  int32_t number = rank;
  if (withAddress(name, peer, call) != 0 || ::send(fd, &number, sizeof number, MSG_NOSIGNAL) != sizeof number) {
    close(fd);
    return;
  }
  at(peer).fd = fd;
}

void FakeLinks::accept() {
  for (int fd; (fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;)
    strangers.push_back(fd);
}

/// Learns the ranks of accepted connections.
void FakeLinks::greet() {
  for (size_t i = 0; i < strangers.size();) {
    int32_t number = -1;
    if (recv(strangers[i], &number, sizeof number, 0) != sizeof number) {
      ++i;
      continue;
    }
    if (number > rank && number < size() && at(number).fd < 0)
      at(number).fd = strangers[i];
    else
      close(strangers[i]);
    strangers.erase(strangers.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void FakeLinks::pump() {
  accept();
  greet();
  for (int peer = 0; peer < size(); ++peer) {
    if (peer < rank && at(peer).fd < 0)
      connect(peer);
    if (at(peer).fd < 0)
      continue;
    write(at(peer));
    read(at(peer));
  }
}

bool FakeLinks::isConnected() const {
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank && at(peer).fd < 0)
      return false;
  return true;
}

void FakeLinks::write(Link &link) {
  while (link.outAt < link.out.size()) {
    ssize_t sent = ::send(link.fd, link.out.data() + link.outAt, link.out.size() - link.outAt, MSG_NOSIGNAL);
    if (sent <= 0) // The buffer of the socket is full, or the peer is gone: then it waits for nothing.
      return;
    link.outAt += static_cast<size_t>(sent);
  }
  link.out.clear();
  link.outAt = 0;
}

void FakeLinks::read(Link &link) {
  std::array<char, 1 << 16> buffer;
  for (ssize_t got; (got = recv(link.fd, buffer.data(), buffer.size(), 0)) > 0;)
    link.in.append(buffer.data(), static_cast<size_t>(got));
  size_t begin = 0;
  for (size_t bytes = 0; begin < link.in.size(); begin += bytes) {
    bytes = 1;
    if (link.in[begin] == kAnnouncement) {
      link.isAnnounced = true;
    } else if (link.in[begin] == kAcknowledgement) {
      ++link.acknowledgements;
    } else {
      uint64_t length = 0;
      if (link.in.size() - begin < 1 + sizeof length)
        break;
      std::memcpy(&length, link.in.data() + begin + 1, sizeof length);
      bytes += sizeof length + length;
      if (link.in.size() - begin < bytes)
        break;
      link.messages.push_back(link.in.substr(begin + 1 + sizeof length, length));
    }
  }
  link.in.erase(0, begin);
}

void FakeLinks::announce(int peer) { at(peer).out += kAnnouncement; }

void FakeLinks::send(int peer, const void *data, size_t bytes) {
  uint64_t length = bytes;
  std::string &out = at(peer).out;
  out += kMessage;
  out.append(reinterpret_cast<const char *>(&length), sizeof length);
  out.append(static_cast<const char *>(data), bytes);
}

bool FakeLinks::receive(int peer, std::string &message) {
  std::deque<std::string> &messages = at(peer).messages;
  if (messages.empty())
    return false;
  message = std::move(messages.front());
  messages.pop_front();
  return true;
}

void FakeLinks::acknowledge(int peer) { at(peer).out += kAcknowledgement; }

bool FakeLinks::takeAcknowledgement(int peer) {
  if (at(peer).acknowledgements == 0)
    return false;
  --at(peer).acknowledgements;
  return true;
}

} // namespace spmd::cuda
