//===- PeerLink.cpp - memory segments of a host's processes ---------------===//

#include "runtime/collective/shm/PeerLink.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace spmd::shm {
namespace {

constexpr uint32_t linkMagic = 0x4b4c5053; // "SPLK"

/// All messages have one size, over SOCK_SEQPACKET; other messages are refused.
struct Request {
  uint32_t magic = linkMagic;
  uint32_t kind = 0; ///< A SegmentKind, or checkKind.
  uint64_t a = 0, b = 0;
};
constexpr uint32_t checkKind = 100;

struct Reply {
  uint32_t magic = linkMagic;
  uint32_t isFound = 0;
};

/// The segment for the proof: word 0 is the server's nonce, clients write the following words.
constexpr int64_t proofBytes = 64 << 10;
constexpr int64_t proofWords = proofBytes / 8;

uint64_t randomWord() {
  uint64_t word = 0;
  while (word == 0)
    if (getrandom(&word, sizeof word, 0) != sizeof word)
      throw Error("shared memory: the kernel returns no random numbers");
  return word;
}

std::string hex(uint64_t word) {
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(word));
  return text;
}

socklen_t abstractAddress(const std::string &name, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  // The leading zero byte makes the name abstract.
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool isSameUser(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

std::atomic<uint64_t> &proofWord(Segment &segment, int64_t index) {
  return reinterpret_cast<std::atomic<uint64_t> *>(segment.data())[index];
}

} // namespace

std::string socketKey(int32_t process) { return "collective/shm/" + std::to_string(process); }

//===----------------------------------------------------------------------===//
// Server
//===----------------------------------------------------------------------===//

SegmentServer::SegmentServer(int32_t process, Store &store, Find find, Fail fail)
    : find(std::move(find)), fail(std::move(fail)), proof(Segment::create("spmd-proof", proofBytes)) {
  uint64_t nonce = randomWord();
  proofWord(*proof, 0).store(nonce);
  std::string name = "spmd-" + hex(randomWord()) + hex(randomWord());
  listener = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  socklen_t length = abstractAddress(name, address);
  stopEvent = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener || !stopEvent || bind(listener.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(listener.get(), 1024) != 0)
    throw Error(std::string("shared memory: a local socket could not be opened: ") + systemErrorText(errno));
  // Throws if the job is over; no thread runs yet that would have to end.
  store.set(socketKey(process), name + " " + hex(nonce));
  thread = BackgroundThread("spmd-segments", [this] { serve(); });
}

SegmentServer::~SegmentServer() {
  eventfd_write(stopEvent.get(), 1);
  thread.join();
}

void SegmentServer::serve() {
  std::vector<pollfd> fds{{stopEvent.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}};
  for (;;) {
    bool isPaused = pause.isOn();
    fds[1].events = isPaused ? 0 : POLLIN;
    if (poll(fds.data(), fds.size(), isPaused ? AcceptPause::pollLimit() : -1) < 0 && errno != EINTR)
      break;
    if (fds[0].revents)
      break;
    if (fds[1].revents)
      if (int connection = accept(); connection >= 0)
        fds.push_back({connection, POLLIN, 0});
    for (size_t i = 2; i < fds.size();) {
      if (fds[i].revents && !answer(fds[i].fd)) {
        close(fds[i].fd);
        fds.erase(fds.begin() + i);
        continue;
      }
      ++i;
    }
  }
  for (size_t i = 2; i < fds.size(); ++i)
    close(fds[i].fd);
}

/// Returns a connection of this user, or -1.
int SegmentServer::accept() {
  int connection = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    if (int error = errno; pause.begin(error) && pause.isTooLong() && fail)
      fail("shared memory: other processes of this host cannot connect: " + systemErrorText(error));
    return -1;
  }
  pause.end();
  if (isSameUser(connection))
    return connection;
  close(connection);
  return -1;
}

bool SegmentServer::answer(int connection) {
  Request request;
  ssize_t length = recv(connection, &request, sizeof request, MSG_TRUNC);
  if (length < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  if (length != sizeof request || request.magic != linkMagic)
    return false;
  std::shared_ptr<Segment> segment;
  Reply reply;
  if (request.kind == checkKind) {
    reply.isFound = request.a > 0 && request.a < static_cast<uint64_t>(proofWords) &&
                    proofWord(*proof, static_cast<int64_t>(request.a)).load() == request.b;
  } else {
    auto kind = static_cast<SegmentKind>(request.kind);
    segment = kind == SegmentKind::Proof ? proof : find({kind, request.a, request.b});
    reply.isFound = segment != nullptr;
  }
  iovec data{&reply, sizeof reply};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (segment) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    int fd = segment->fd();
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return sendmsg(connection, &message, MSG_NOSIGNAL) == sizeof reply;
}

//===----------------------------------------------------------------------===//
// Client
//===----------------------------------------------------------------------===//

namespace {

enum class Received { Ok, Closed, TimedOut };

/// Waits for a reply in slices, so that a verdict is noticed.
Received receive(int fd, Reply &reply, int &descriptor, Health *health,
                 std::chrono::steady_clock::time_point deadline) {
  descriptor = -1;
  for (;;) {
    if (health && health->isOver())
      return Received::Closed;
    pollfd entry{fd, POLLIN, 0};
    int ready = poll(&entry, 1, 20);
    if (ready > 0)
      break;
    if (std::chrono::steady_clock::now() > deadline)
      return Received::TimedOut;
  }
  iovec data{&reply, sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t length = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (cmsghdr *header = CMSG_FIRSTHDR(&message);
      header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  if (length != sizeof reply || reply.magic != linkMagic)
    return Received::Closed;
  if (message.msg_flags & MSG_CTRUNC) // The descriptor was sent, but this process had no free one for it.
    throw Error("shared memory: memory of another process cannot be received: " + systemErrorText(EMFILE));
  return Received::Ok;
}

} // namespace

SegmentClient::~SegmentClient() {
  for (auto &[peer, connection] : connections)
    if (connection->fd >= 0)
      close(connection->fd);
}

SegmentClient::Connection &SegmentClient::connectionTo(int32_t peer) {
  std::lock_guard lock(mutex);
  auto &entry = connections[peer];
  if (!entry)
    entry = std::make_unique<Connection>();
  return *entry;
}

void SegmentClient::fail(int32_t peer, const std::string &what) {
  // The coordinator judges a peer that is gone, so that all processes report the same cause.
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (health && !health->isOver() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (health && health->isOver())
    health->throwVerdict();
  throw Error("shared memory: process " + std::to_string(peer) + " " + what);
}

void SegmentClient::connect(Connection &connection, int32_t peer, std::chrono::steady_clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  std::string entry = store.wait(socketKey(peer), {peer, std::max(left, std::chrono::milliseconds(1)),
                                                   "a connection to its shared memory", /*inBackground=*/true});
  size_t space = entry.find(' ');
  if (space == std::string::npos)
    fail(peer, "published no address of its shared memory");
  std::string name = entry.substr(0, space), nonce = entry.substr(space + 1);
  UniqueFd link(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  int fd = link.get();
  if (!link)
    throw Error("shared memory: process " + std::to_string(peer) + " cannot be reached: " + systemErrorText(errno));
  sockaddr_un address;
  socklen_t length = abstractAddress(name, address);
  if (::connect(fd, reinterpret_cast<sockaddr *>(&address), length) != 0)
    fail(peer, "cannot be reached through a local socket (" + systemErrorText(errno) +
                   "); processes of one host must share a network namespace, or be distinct hosts of the job");
  if (!isSameUser(fd))
    fail(peer, "belongs to another user; all processes of a host must run as one user");
  // The proof: this process reads the server's nonce in its memory, and the server reads ours.
  auto exchange = [&](const Request &request, int &descriptor) {
    Reply reply;
    return send(fd, &request, sizeof request, MSG_NOSIGNAL) == sizeof request &&
           receive(fd, reply, descriptor, health, deadline) == Received::Ok && reply.isFound;
  };
  int descriptor = -1;
  bool isProven = exchange({linkMagic, static_cast<uint32_t>(SegmentKind::Proof), 0, 0}, descriptor) && descriptor >= 0;
  if (isProven) {
    auto segment = Segment::open(descriptor, true);
    isProven = segment->bytes() == proofBytes && hex(proofWord(*segment, 0).load()) == nonce;
    if (isProven) {
      uint64_t ours = randomWord();
      int64_t index = 1 + process % (proofWords - 1);
      proofWord(*segment, index).store(ours);
      isProven = exchange({linkMagic, checkKind, static_cast<uint64_t>(index), ours}, descriptor);
    }
  } else if (descriptor >= 0) {
    close(descriptor);
  }
  if (!isProven)
    fail(peer, "does not see the same memory as process " + std::to_string(process) +
                   "; are they really on one host and of one job?");
  connection.fd = link.release();
}

std::shared_ptr<Segment> SegmentClient::fetch(int32_t peer, const SegmentName &name, bool writable,
                                              std::chrono::milliseconds timeout) {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  Connection &connection = connectionTo(peer);
  std::lock_guard lock(connection.mutex);
  if (connection.fd < 0)
    connect(connection, peer, deadline);
  Request request{linkMagic, static_cast<uint32_t>(name.kind), name.a, name.b};
  Reply reply;
  int descriptor = -1;
  bool isSent = send(connection.fd, &request, sizeof request, MSG_NOSIGNAL) == sizeof request;
  Received received = isSent ? receive(connection.fd, reply, descriptor, health, deadline) : Received::Closed;
  if (received != Received::Ok || !reply.isFound || descriptor < 0) {
    if (descriptor >= 0)
      close(descriptor);
    if (received != Received::Ok) {
      close(connection.fd);
      connection.fd = -1;
    }
    fail(peer, received == Received::TimedOut ? "does not answer a request for shared memory"
               : received == Received::Closed ? "closed its connection"
                                              : "has no such memory segment");
  }
  return Segment::open(descriptor, writable);
}

} // namespace spmd::shm
