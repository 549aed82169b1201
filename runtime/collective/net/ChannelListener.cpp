//===- ChannelListener.cpp - accepts connections of other hosts ----------------------===//

#include "runtime/collective/net/ChannelListener.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace spmd::net {

using coordinator::challengeBytes;
using coordinator::checkProof;
using coordinator::Opening;
using coordinator::openingBytes;
using coordinator::Proof;
using coordinator::proofBytes;
using coordinator::Side;

namespace {

constexpr std::chrono::seconds handshakeLimit(5);
constexpr size_t mostPendingPeers = 256;
/// How long a connecting process waits for the listener after its greeting. A network that fails for longer ends the
/// job in any case.
constexpr std::chrono::seconds answerLimit(30);

} // namespace

ChannelListener::ChannelListener(const std::string &address, Secret given, Wrap wrap, Reply reply, Fail fail)
    : secret(std::move(given)), wrap(std::move(wrap)), reply(std::move(reply)), fail(std::move(fail)) {
  SocketAddress where = SocketAddress::make(address, 0);
  listener = UniqueFd(::socket(where.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  stopEvent = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  int no = 0;
  if (where.family == AF_INET6 && listener)
    ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  socklen_t length = sizeof where.storage;
  if (!listener || !stopEvent ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr *>(where.storage), where.length) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr *>(where.storage), &length) != 0)
    throw Error("cannot listen at " + address + " for processes of other hosts: " + systemErrorText(errno));
  port = ntohs(where.family == AF_INET ? reinterpret_cast<sockaddr_in *>(where.storage)->sin_port
                                       : reinterpret_cast<sockaddr_in6 *>(where.storage)->sin6_port);
  thread = BackgroundThread("spmd-listener", [this] { serve(); });
}

ChannelListener::~ChannelListener() {
  ::eventfd_write(stopEvent.get(), 1);
  thread.join();
}

std::unique_ptr<Stream> ChannelListener::take(uint64_t communicator, int64_t from, int64_t to,
                                              std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex);
  auto name = std::tuple(communicator, from, to);
  arrived.wait_for(lock, limit, [&] { return channels.count(name) != 0; });
  auto found = channels.find(name);
  if (found == channels.end())
    return nullptr;
  std::unique_ptr<Stream> stream = std::move(found->second);
  channels.erase(found);
  return stream;
}

void ChannelListener::serve() {
  std::vector<pollfd> fds;
  for (;;) {
    bool isPaused = pause.isOn();
    fds = {{stopEvent.get(), POLLIN, 0}, {listener.get(), static_cast<short>(isPaused ? 0 : POLLIN), 0}};
    auto next =
        isPaused ? Clock::now() + std::chrono::milliseconds(AcceptPause::pollLimit()) : Clock::time_point::max();
    for (PendingPeer &pendingPeer : pendingPeers) {
      fds.push_back({pendingPeer.stream->getFd(), pendingPeer.stream->eventsFor(true, !pendingPeer.output.empty()), 0});
      next = std::min(next, pendingPeer.deadline);
    }
    int limit = -1;
    if (next != Clock::time_point::max())
      limit = static_cast<int>(std::clamp<int64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count() + 1, 0, 5000));
    if (::poll(fds.data(), fds.size(), limit) < 0 && errno != EINTR)
      return;
    if (fds[0].revents)
      return;
    size_t i = 2;
    for (auto pendingPeer = pendingPeers.begin(); pendingPeer != pendingPeers.end(); ++i) {
      bool stays = Clock::now() < pendingPeer->deadline;
      if (stays && fds[i].revents)
        stays = attend(*pendingPeer);
      pendingPeer = stays ? std::next(pendingPeer) : pendingPeers.erase(pendingPeer);
    }
    if (fds[1].revents)
      accept();
  }
}

void ChannelListener::accept() {
  // A limited number at a time, so that a flood of connections does not starve accepted ones.
  for (int i = 0; i < 16; ++i) {
    UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      int error = errno;
      if (!pause.begin(error))
        return;
      // No descriptor is free: drop the unauthenticated connection that has waited longest.
      auto pendingStranger = std::find_if(pendingPeers.begin(), pendingPeers.end(), [](const PendingPeer &pendingPeer) {
        return pendingPeer.stage != PendingPeer::Stage::Question;
      });
      if (pendingStranger == pendingPeers.end()) {
        if (pause.isTooLong() && fail)
          fail("processes of other hosts cannot connect: " + systemErrorText(error));
        return;
      }
      pendingPeers.erase(pendingStranger);
      continue;
    }
    pause.end();
    size_t strangers = 0;
    for (PendingPeer &pendingPeer : pendingPeers)
      strangers += pendingPeer.stage != PendingPeer::Stage::Question;
    if (strangers >= mostPendingPeers)
      pendingPeers.erase(std::find_if(pendingPeers.begin(), pendingPeers.end(), [](const PendingPeer &pendingPeer) {
        return pendingPeer.stage != PendingPeer::Stage::Question;
      }));
    PendingPeer &pendingPeer = pendingPeers.emplace_back();
    pendingPeer.stream = wrap(std::move(fd));
    pendingPeer.deadline = Clock::now() + handshakeLimit;
  }
}

void ChannelListener::expect(PendingPeer &pendingPeer, PendingPeer::Stage stage, size_t bytes) {
  pendingPeer.stage = stage;
  pendingPeer.wanted = bytes;
  pendingPeer.input.clear();
}

bool ChannelListener::attend(PendingPeer &pendingPeer) {
  try {
    if (pendingPeer.stage == PendingPeer::Stage::Opening) {
      if (!pendingPeer.stream->open())
        return true;
      expect(pendingPeer, PendingPeer::Stage::Hello, openingBytes);
    }
    for (;;) {
      while (!pendingPeer.output.empty()) {
        iovec piece{pendingPeer.output.data(), pendingPeer.output.size()};
        size_t n = pendingPeer.stream->write(&piece, 1);
        if (n == 0)
          break;
        pendingPeer.output.erase(0, n);
      }
      char buffer[64];
      size_t n =
          pendingPeer.stream->read(buffer, std::min(sizeof buffer, pendingPeer.wanted - pendingPeer.input.size()));
      if (n == 0)
        return true;
      pendingPeer.input.append(buffer, n);
      if (pendingPeer.input.size() == pendingPeer.wanted && !onInput(pendingPeer))
        return false;
    }
  } catch (const StreamEnded &) {
    return false;
  }
}

bool ChannelListener::onInput(PendingPeer &pendingPeer) {
  switch (pendingPeer.stage) {
  case PendingPeer::Stage::Opening:
    return false;
  case PendingPeer::Stage::Hello: {
    pendingPeer.ours.jobTag = coordinator::makeJobTag(secret.nonce);
    pendingPeer.ours.nonce = coordinator::makeNonce();
    if (!Opening::decode(pendingPeer.input, pendingPeer.theirs) ||
        pendingPeer.theirs.version != pendingPeer.ours.version || pendingPeer.theirs.jobTag != pendingPeer.ours.jobTag)
      return false;
    Proof proof = prove(Side::Coordinator, secret.key(), pendingPeer.theirs, pendingPeer.ours);
    pendingPeer.output = pendingPeer.ours.encode() + std::string(proof.data(), proof.size());
    expect(pendingPeer, PendingPeer::Stage::Proof, proofBytes);
    return true;
  }
  case PendingPeer::Stage::Proof:
    if (!checkProof(prove(Side::Process, secret.key(), pendingPeer.theirs, pendingPeer.ours), pendingPeer.input))
      return false;
    expect(pendingPeer, PendingPeer::Stage::Greeting, sizeof(Greeting));
    return true;
  case PendingPeer::Stage::Greeting: {
    Greeting greeting;
    if (!decodeRecord(pendingPeer.input.data(), greeting))
      return false;
    if (greeting.kind == Greeting::Questions) {
      pendingPeer.deadline = Clock::time_point::max();
      expect(pendingPeer, PendingPeer::Stage::Question, sizeof(Question));
      return true;
    }
    iovec answer{const_cast<char *>(&channelTaken), 1};
    if (greeting.kind != Greeting::Channel || pendingPeer.stream->write(&answer, 1) != 1)
      return false;
    std::lock_guard lock(mutex);
    channels[{greeting.communicator, greeting.from, greeting.to}] = std::move(pendingPeer.stream);
    arrived.notify_all();
    return false;
  }
  case PendingPeer::Stage::Question: {
    Question question;
    // A peer that sends questions without reading the answers is dropped.
    if (!decodeRecord(pendingPeer.input.data(), question) || pendingPeer.output.size() > 4 * sizeof(Answer))
      return false;
    pendingPeer.output += bytesOf(reply(question));
    expect(pendingPeer, PendingPeer::Stage::Question, sizeof(Question));
    return true;
  }
  }
  return false;
}

std::unique_ptr<Stream> enter(const SocketAddress &address, const Secret &secret, const ChannelListener::Wrap &wrap,
                              const Greeting &greeting, Clock::time_point deadline, const StopWaiting &check) {
  std::unique_ptr<Stream> stream = wrap(connectSocket(address, deadline, check));
  while (!stream->open()) {
    if (check)
      check();
    if (Clock::now() >= deadline)
      throw StreamEnded{"no answer"};
    stream->wait(true, false, std::chrono::milliseconds(20));
  }
  Opening ours, theirs;
  ours.jobTag = coordinator::makeJobTag(secret.nonce);
  ours.nonce = coordinator::makeNonce();
  writeAll(*stream, ours.encode(), deadline, check);
  std::string challenge(challengeBytes, 0);
  readAll(*stream, challenge.data(), challenge.size(), deadline, check);
  std::string_view proof(challenge);
  proof.remove_prefix(openingBytes);
  if (!Opening::decode(std::string_view(challenge).substr(0, openingBytes), theirs) ||
      !checkProof(prove(Side::Coordinator, secret.key(), ours, theirs), proof))
    throw StreamEnded{"the process at that address does not know the job's token"};
  Proof mine = prove(Side::Process, secret.key(), ours, theirs);
  writeAll(*stream, std::string(mine.data(), mine.size()) + bytesOf(greeting), deadline, check);
  if (greeting.kind != Greeting::Channel)
    return stream;
  // The listener takes the channel. If the network failed for longer than its time limit, it closes the connection.
  char answer = 0;
  readAll(*stream, &answer, 1, std::max(deadline, Clock::now() + answerLimit), check);
  if (answer != channelTaken)
    throw StreamEnded{"its answer has another format"};
  return stream;
}

} // namespace spmd::net
