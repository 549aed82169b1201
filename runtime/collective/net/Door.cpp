//===- Door.cpp - accepts connections of other hosts ----------------------===//

#include "runtime/collective/net/Door.h"
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

constexpr std::chrono::seconds strangersTime(5);
constexpr size_t strangersPlaces = 256;
/// How long a connecting process waits for the listener after its greeting. A network that fails for longer ends the
/// job in any case.
constexpr std::chrono::seconds answerLimit(30);

} // namespace

Door::Door(const std::string &address, Secret given, Wrap wrap, Reply reply, Fail fail)
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

Door::~Door() {
  ::eventfd_write(stopEvent.get(), 1);
  thread.join();
}

std::unique_ptr<Stream> Door::take(uint64_t communicator, int64_t from, int64_t to, std::chrono::milliseconds limit) {
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

void Door::serve() {
  std::vector<pollfd> fds;
  for (;;) {
    bool isPaused = pause.isOn();
    fds = {{stopEvent.get(), POLLIN, 0}, {listener.get(), static_cast<short>(isPaused ? 0 : POLLIN), 0}};
    auto next =
        isPaused ? Clock::now() + std::chrono::milliseconds(AcceptPause::pollLimit()) : Clock::time_point::max();
    for (Guest &guest : guests) {
      fds.push_back({guest.stream->getFd(), guest.stream->eventsFor(true, !guest.output.empty()), 0});
      next = std::min(next, guest.deadline);
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
    for (auto guest = guests.begin(); guest != guests.end(); ++i) {
      bool stays = Clock::now() < guest->deadline;
      if (stays && fds[i].revents)
        stays = attend(*guest);
      guest = stays ? std::next(guest) : guests.erase(guest);
    }
    if (fds[1].revents)
      accept();
  }
}

void Door::accept() {
  // A limited number at a time, so that a flood of connections does not starve accepted ones.
  for (int i = 0; i < 16; ++i) {
    UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      int error = errno;
      if (!pause.begin(error))
        return;
      // No descriptor is free: drop the unauthenticated connection that has waited longest.
      auto stranger = std::find_if(guests.begin(), guests.end(),
                                   [](const Guest &guest) { return guest.stage != Guest::Stage::Question; });
      if (stranger == guests.end()) {
        if (pause.isTooLong() && fail)
          fail("processes of other hosts cannot connect: " + systemErrorText(error));
        return;
      }
      guests.erase(stranger);
      continue;
    }
    pause.end();
    size_t strangers = 0;
    for (Guest &guest : guests)
      strangers += guest.stage != Guest::Stage::Question;
    if (strangers >= strangersPlaces)
      guests.erase(std::find_if(guests.begin(), guests.end(),
                                [](const Guest &guest) { return guest.stage != Guest::Stage::Question; }));
    Guest &guest = guests.emplace_back();
    guest.stream = wrap(std::move(fd));
    guest.deadline = Clock::now() + strangersTime;
  }
}

void Door::expect(Guest &guest, Guest::Stage stage, size_t bytes) {
  guest.stage = stage;
  guest.wanted = bytes;
  guest.input.clear();
}

bool Door::attend(Guest &guest) {
  try {
    if (guest.stage == Guest::Stage::Opening) {
      if (!guest.stream->open())
        return true;
      expect(guest, Guest::Stage::Hello, openingBytes);
    }
    for (;;) {
      while (!guest.output.empty()) {
        iovec piece{guest.output.data(), guest.output.size()};
        size_t n = guest.stream->write(&piece, 1);
        if (n == 0)
          break;
        guest.output.erase(0, n);
      }
      char buffer[64];
      size_t n = guest.stream->read(buffer, std::min(sizeof buffer, guest.wanted - guest.input.size()));
      if (n == 0)
        return true;
      guest.input.append(buffer, n);
      if (guest.input.size() == guest.wanted && !onInput(guest))
        return false;
    }
  } catch (const StreamEnded &) {
    return false;
  }
}

bool Door::onInput(Guest &guest) {
  switch (guest.stage) {
  case Guest::Stage::Opening:
    return false;
  case Guest::Stage::Hello: {
    guest.ours.jobTag = coordinator::makeJobTag(secret.nonce);
    guest.ours.nonce = coordinator::makeNonce();
    if (!Opening::decode(guest.input, guest.theirs) || guest.theirs.version != guest.ours.version ||
        guest.theirs.jobTag != guest.ours.jobTag)
      return false;
    Proof proof = prove(Side::Coordinator, secret.key(), guest.theirs, guest.ours);
    guest.output = guest.ours.encode() + std::string(proof.data(), proof.size());
    expect(guest, Guest::Stage::Proof, proofBytes);
    return true;
  }
  case Guest::Stage::Proof:
    if (!checkProof(prove(Side::Process, secret.key(), guest.theirs, guest.ours), guest.input))
      return false;
    expect(guest, Guest::Stage::Greeting, sizeof(Greeting));
    return true;
  case Guest::Stage::Greeting: {
    Greeting greeting;
    if (!decodeRecord(guest.input.data(), greeting))
      return false;
    if (greeting.kind == Greeting::Questions) {
      guest.deadline = Clock::time_point::max();
      expect(guest, Guest::Stage::Question, sizeof(Question));
      return true;
    }
    iovec answer{const_cast<char *>(&channelTaken), 1};
    if (greeting.kind != Greeting::Channel || guest.stream->write(&answer, 1) != 1)
      return false;
    std::lock_guard lock(mutex);
    channels[{greeting.communicator, greeting.from, greeting.to}] = std::move(guest.stream);
    arrived.notify_all();
    return false;
  }
  case Guest::Stage::Question: {
    Question question;
    // A peer that sends questions without reading the answers is dropped.
    if (!decodeRecord(guest.input.data(), question) || guest.output.size() > 4 * sizeof(Answer))
      return false;
    guest.output += bytesOf(reply(question));
    expect(guest, Guest::Stage::Question, sizeof(Question));
    return true;
  }
  }
  return false;
}

std::unique_ptr<Stream> enter(const SocketAddress &address, const Secret &secret, const Door::Wrap &wrap,
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
