//===- NetCommunicator.cpp - communicators of several hosts ---------------===//

#include "runtime/collective/net/NetCommunicator.h"
#include "runtime/collective/net/NetCall.h"
#include "runtime/device/Allocation.h"

#include <algorithm>
#include <poll.h>

namespace spmd::net {
namespace {

constexpr std::chrono::milliseconds pollInterval(20);
/// A device asks its peers only after this time; a collective of healthy devices rarely takes that long.
constexpr std::chrono::milliseconds patience(50);
constexpr std::chrono::milliseconds askInterval(100);
constexpr std::chrono::milliseconds answerLimit(1000);
/// A peer that has not answered a question within this time counts as silent.
constexpr std::chrono::milliseconds silenceLimit(500);
/// Time limits of one attempt to connect, and of all attempts.
constexpr std::chrono::seconds attemptLimit(3), connectLimit(30);

} // namespace

//===----------------------------------------------------------------------===//
// Communicator
//===----------------------------------------------------------------------===//

NetCommunicator::NetCommunicator(shm::Backend &backend, Network &network, std::shared_ptr<shm::ShmCommunicator> part)
    : backend(backend), network(network), local(std::move(part)), key(shm::hashDevices(local->getDevices())) {
  for (int64_t position = 0; position < static_cast<int64_t>(getDevices().size()); ++position)
    if (backend.isLocal(getDevices()[position]))
      endpoints[position] = std::make_unique<NetEndpoint>(*this, position);
}

CommunicatorEndpoint &NetCommunicator::getEndpoint(int64_t position) {
  auto endpoint = endpoints.find(position);
  if (endpoint == endpoints.end())
    throw Error("mesh position " + std::to_string(position) + " is not on this process");
  return *endpoint->second;
}

Answer NetCommunicator::answer(const Question &question) {
  Answer answer;
  if (question.position < 0 || question.position >= static_cast<int64_t>(getDevices().size()) ||
      !isOnThisHost(question.position))
    return answer;
  answer.isThere = 1;
  shm::Header &header = local->getPage().header();
  if (header.aborted.load(std::memory_order_acquire) == 2) {
    answer.isAborted = 1;
    putText(answer.cause, textOf(header.cause));
  }
  shm::PeerState state = local->getPage().stateOf(question.position, question.sequence);
  if (state.announced <= question.sequence && endpoints.count(question.position)) {
    std::lock_guard lock(askedMutex);
    asked[question.process] = {question.position, question.sequence, textOf(question.text)};
  }
  answer.isKnown = state.isKnown;
  answer.announced = state.announced;
  answer.launchesEnded = state.launchesEnded;
  answer.fingerprint = state.fingerprint;
  answer.launch = state.launch;
  putText(answer.text, state.text);
  return answer;
}

void NetCommunicator::addAwaitedCalls(std::vector<AwaitedCall> &calls) {
  std::lock_guard lock(askedMutex);
  for (const auto &[process, question] : asked)
    if (local->getPage().slot(question.position).announced.load(std::memory_order_acquire) <= question.sequence)
      shm::addCall(calls, {process, question.call});
}

//===----------------------------------------------------------------------===//
// Endpoint
//===----------------------------------------------------------------------===//

NetEndpoint::NetEndpoint(NetCommunicator &communicator, int64_t position)
    : communicator(communicator), local(static_cast<shm::ShmEndpoint &>(communicator.getLocal().getEndpoint(position))),
      position(position), memory(communicator.getLocal()), queue(local.getDevice().getThreadCount()) {}

std::unique_ptr<CollectiveCall> NetEndpoint::prepare(const MeshShape &mesh, const CollectiveDesc &desc,
                                                     const CallSite &site) {
  if (mesh.deviceCount() != static_cast<int64_t>(communicator.getDevices().size()))
    return local.prepare(mesh, desc, site); // Its error says what is wrong.
  Movement movement = computeMovement(mesh, desc, position);
  bool isWithinHost = std::all_of(movement.group.begin(), movement.group.end(),
                                  [&](int64_t member) { return communicator.isOnThisHost(member); });
  return isWithinHost ? local.prepare(mesh, desc, site) : prepareNetCall(*this, mesh, desc, std::move(movement), site);
}

Channel &NetEndpoint::channelTo(const NetCall &call, int64_t peer) {
  auto known = channels.find(peer);
  if (known != channels.end())
    return *known->second;
  auto since = Clock::now();
  auto check = [&] { local.checkJob(); };
  // The lower position connects; the listener of the other side accepts whatever the device there is doing.
  const Greeting greeting{.communicator = communicator.getKey(), .from = position, .to = peer};
  Network &network = communicator.getNetwork();
  std::unique_ptr<Stream> stream;
  while (!stream) {
    if (position < peer) {
      try {
        stream = network.connect(communicator.processOf(peer), greeting, Clock::now() + attemptLimit, check);
      } catch (const StreamEnded &ended) {
        if (ended.isFinal || Clock::now() - since > connectLimit)
          throw network.unreachable(communicator.processOf(peer), ended);
        std::this_thread::sleep_for(pollInterval);
      }
    } else {
      stream = network.getChannelListener().take(communicator.getKey(), peer, position, pollInterval);
    }
    if (!stream)
      checkWait(call, since, {peer});
  }
  return *channels.emplace(peer, std::make_unique<Channel>(peer, std::move(stream))).first->second;
}

void NetEndpoint::reserve(int64_t receivedBytes, int64_t sentBytes) {
  if (receivedBytes > 0 && (!received || received->bytes() < receivedBytes)) {
    received.reset();
    received = allocateFor(local.getDevice(), receivedBytes,
                           [] { return "the data that a collective receives from other hosts"; });
  }
  if (static_cast<int64_t>(sent.size()) < sentBytes)
    sent = std::vector<char>(static_cast<size_t>(sentBytes));
}

void NetEndpoint::pump(const NetCall &call, bool mayWait) {
  if (isFailed)
    throw Error("the communicator cannot be used any more after an error");
  Clock::time_point since{};
  auto check = [&](Channel &channel, Incoming &message) { checkHeader(call, channel, message); };
  try {
    for (;;) {
      bool moved = false, isPending = false;
      for (Channel *channel : call.getChannels()) {
        try {
          moved |= channel->progress(check);
        } catch (const StreamEnded &ended) {
          throwLost(channel->getPosition(), ended.why);
        }
        isPending |= channel->wantsToReceive() || channel->wantsToSend();
      }
      if (moved || !mayWait || !isPending)
        return;
      if (since == Clock::time_point{})
        since = Clock::now();
      waitForAny(call, since);
    }
  } catch (...) {
    // The streams may have stopped in the middle of a message.
    isFailed = true;
    for (auto &[peer, channel] : channels)
      channel->forget();
    throw;
  }
}

void NetEndpoint::waitForAny(const NetCall &call, Clock::time_point since) {
  // Spinning saves a wake-up; between two polls the core is given away.
  bool mayYetSpin = Clock::now() - since < spinTime;
  std::vector<pollfd> fds;
  std::vector<int64_t> pending;
  for (Channel *channel : call.getChannels()) {
    short events = channel->getStream().eventsFor(channel->wantsToReceive(), channel->wantsToSend());
    if (events)
      fds.push_back({channel->getStream().getFd(), events, 0});
    if (channel->wantsToReceive() || channel->wantsToSend())
      pending.push_back(channel->getPosition());
  }
  int limit = mayYetSpin ? 0 : static_cast<int>(pollInterval.count());
  if (::poll(fds.data(), fds.size(), limit) != 0)
    return;
  if (mayYetSpin) {
    sched_yield();
    return;
  }
  checkWait(call, since, pending);
}

void NetEndpoint::checkWait(const NetCall &call, Clock::time_point since, const std::vector<int64_t> &pending) {
  local.checkJob();
  auto now = Clock::now();
  const CollectiveTimeouts &limits = communicator.getBackend().getOptions().timeouts;
  if (limits.collective.count() > 0 && now - call.getBegin() >= limits.collective) {
    throwIfSilent(call, pending);
    // Peers that answer are held up by others. The two devices between which no data moves should report first.
    if (now - call.getBegin() >= limits.collective + limits.grace)
      local.throwTimeout(call, pending);
  }
  if (now - since < patience || now < nextQuestion || pending.empty())
    return;
  askPeer(call, pending[turn++ % pending.size()]);
  nextQuestion = Clock::now() + askInterval;
}

/// Throws if peers do not even answer questions: then the connection between them and this device is the problem.
void NetEndpoint::throwIfSilent(const NetCall &call, const std::vector<int64_t> &pending) {
  std::vector<int64_t> unheard;
  for (int64_t peer : pending)
    if (silent.count(communicator.processOf(peer)))
      unheard.push_back(peer);
  if (unheard.empty())
    return;
  std::string who = communicator.getNetwork().nameOf(communicator.processOf(unheard[0]));
  local.throwTimeout(call, unheard,
                     "no data passes between the two hosts, not even a question to " + who +
                         ", though both reach the coordinator: is the network between them broken?");
}

void NetEndpoint::askPeer(const NetCall &call, int64_t peer) {
  int32_t process = communicator.processOf(peer);
  auto asked = Clock::now(), deadline = asked + answerLimit;
  auto bound = communicator.getBackend().getOptions().timeouts.collective;
  if (auto end = call.getBegin() + bound; bound.count() > 0 && asked < end)
    deadline = std::min(deadline, end); // After that the timeout is reported.
  auto check = [&] { local.checkJob(); };
  bool isGone = local.hasProcessLeft(peer); // Asked first: its calls have ended when it answers.
  Answer answer;
  try {
    std::unique_ptr<Stream> &stream = questions[process];
    if (!stream)
      stream = communicator.getNetwork().connect(process, {.kind = Greeting::Questions}, deadline, check);
    Question question;
    question.process = communicator.getBackend().getOptions().process;
    question.communicator = communicator.getKey();
    question.position = peer;
    question.sequence = call.getSequence();
    putText(question.text, call.describe());
    writeAll(*stream, bytesOf(question), deadline, check);
    std::string bytes(sizeof answer, 0);
    readAll(*stream, bytes.data(), bytes.size(), deadline, check);
    if (!decodeRecord(bytes.data(), answer))
      throw StreamEnded{"its answer has another format"};
  } catch (const StreamEnded &) {
    // The peer is gone or unreachable: either the coordinator finds out, or the data arrives after all.
    questions.erase(process);
    if (Clock::now() - asked >= silenceLimit)
      silent.insert(process);
    return;
  }
  silent.erase(process);
  if (!answer.isThere) {
    shm::PeerState gone;
    gone.launchesEnded = shm::hasLeft;
    if (isGone)
      local.checkPeer(peer, gone, call, call.getSequence());
    return;
  }
  if (answer.isAborted) {
    communicator.abort(textOf(answer.cause));
    local.checkJob();
  }
  shm::PeerState state{answer.announced,   answer.launchesEnded, answer.isKnown != 0,
                       answer.fingerprint, answer.launch,        textOf(answer.text)};
  // A peer that is ahead by more calls than its ring holds has made this call.
  if (state.announced <= call.getSequence() || state.isKnown)
    local.checkPeer(peer, state, call, call.getSequence());
}

void NetEndpoint::checkHeader(const NetCall &call, Channel &channel, Incoming &message) {
  const MessageHeader &header = message.header;
  shm::PeerState state;
  state.announced = call.getSequence() + 1;
  state.fingerprint = header.fingerprint;
  state.launch = header.launch;
  state.text = textOf(header.text);
  state.isKnown = header.magic == wireMagic && header.sequence == call.getSequence();
  if (!state.isKnown && state.fingerprint == call.getFingerprint() && state.launch == local.getLaunch())
    throwOutOfStep(call, channel.getPosition(), header);
  local.checkPeer(channel.getPosition(), state, call, call.getSequence());
  if (header.phase != message.phase || header.bytes != message.bytes) {
    std::string cause = local.nameOf(channel.getPosition()) + " sends " + std::to_string(header.bytes) +
                        " bytes in part " + std::to_string(header.phase) + " of " + call.describe() + ", but " +
                        local.nameOf(position) + " expects " + std::to_string(message.bytes) + " in part " +
                        std::to_string(message.phase) + ": do both hosts run the same build?";
    communicator.abort(cause);
    throw Error(cause);
  }
}

/// The calls are the same, but one device made more calls before. Looks for the first call that differs.
void NetEndpoint::throwOutOfStep(const NetCall &call, int64_t peer, const MessageHeader &header) {
  if (header.sequence > call.getSequence()) {
    askPeer(call, peer);
  } else {
    shm::PeerState own = communicator.getLocal().getPage().stateOf(position, header.sequence);
    if (own.isKnown && own.fingerprint != header.fingerprint)
      local.throwDivergence(peer, "calls " + textOf(header.text), own.text);
  }
  local.throwDivergence(peer, "calls " + textOf(header.text) + " as its collective " + std::to_string(header.sequence),
                        call.describe() + " as its collective " + std::to_string(call.getSequence()));
}

void NetEndpoint::throwLost(int64_t peer, const std::string &why) {
  // A closed connection is only a hint: the coordinator or that process reports the cause.
  auto end = Clock::now() + std::chrono::seconds(1);
  while (Clock::now() < end) {
    local.checkJob();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string cause = "the connection from " + local.nameOf(position) + " to " + local.nameOf(peer) + " on host " +
                      communicator.hostOf(peer) + " is lost: " + why;
  communicator.abort(cause);
  throw Error(cause);
}

} // namespace spmd::net
