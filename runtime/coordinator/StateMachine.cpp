// The coordinator's connections and their handshake. StateMachineRollCall.cpp has the roll call;
// StateMachineRunning.cpp has what happens while the job runs, and how it ends.

#include "runtime/coordinator/StateMachine.h"

#include "runtime/coordinator/Describe.h"
#include "runtime/coordinator/RollCall.h"
#include "runtime/support/tls/Tls.h"

#include <utility>

namespace spmd::coordinator {

StateMachine::StateMachine(ServerOptions given, std::function<Nonce()> makeNonce, TimePoint now)
    : options(std::move(given)), makeNonce(std::move(makeNonce)), start(now), lastNow(now),
      nextProgress(now + progressInterval), joinDeadline(now + options.initializationTimeout),
      heartbeats(now + heartbeatInterval),
      barriers(options.numProcesses, [this](int32_t process) { return describe(process); }) {}

//===----------------------------------------------------------------------===//
// Connections and the handshake
//===----------------------------------------------------------------------===//

void StateMachine::send(ConnectionId connection, const Message &message) {
  actions.push_back({ServerAction::Kind::Send, connection, encode(message)});
}

void StateMachine::close(ConnectionId id) {
  auto found = connections.find(id);
  if (found == connections.end() || found->second.phase == Phase::Closing)
    return;
  found->second.phase = Phase::Closing;
  unassigned.erase(id);
  actions.push_back({ServerAction::Kind::Close, id, ""});
}

void StateMachine::reject(ConnectionId connection, const std::string &text) {
  send(connection, Reject{text});
  close(connection);
}

/// Bounds the number of connections that do not belong to members, because opening one costs a peer nothing: the
/// oldest, which had the most time, is closed. A process of the job whose connection is closed by this tries again.
void StateMachine::limitUnassigned() {
  size_t limit = static_cast<size_t>(options.numProcesses) + 128;
  size_t count = 0;
  ConnectionId oldest = 0;
  for (ConnectionId id : unassigned) {
    const Connection &connection = connections.at(id);
    if (connection.phase != Phase::Opening && connection.phase != Phase::Proof)
      continue;
    if (count++ == 0)
      oldest = id;
  }
  if (count > limit)
    close(oldest);
}

void StateMachine::onOpened(ConnectionId id, const std::string &address, TimePoint now) {
  advance(now);
  Connection connection;
  connection.address = address;
  connection.opened = now;
  connections.emplace(id, connection);
  unassigned.insert(id);
  limitUnassigned();
}

void StateMachine::onRecord(ConnectionId id, std::string_view record, TimePoint now) {
  advance(now);
  auto found = connections.find(id);
  if (found == connections.end())
    return;
  Connection &connection = found->second;
  switch (connection.phase) {
  case Phase::Opening:
    return onOpeningRecord(id, connection, record, now);
  case Phase::Proof:
    return onProofRecord(id, connection, record);
  case Phase::Closing:
    return;
  case Phase::Hello:
  case Phase::Member:
    break;
  }
  try {
    Message message = decode(record);
    if (connection.phase == Phase::Member)
      return onMemberMessage(connection.process, std::move(message), now);
    bool isObserver = connection.theirs.role == Role::Observer;
    if (auto *request = std::get_if<StatusRequest>(&message); request && isObserver)
      return onStatusRequest(id, *request, now);
    if (Hello *hello = std::get_if<Hello>(&message); hello && !isObserver)
      return onHello(id, connection, std::move(*hello), now);
    onMalformed(id, "a frame that is not a hello", now);
  } catch (const ProtocolError &error) {
    onMalformed(id, error.what(), now);
  }
}

void StateMachine::onMalformed(ConnectionId id, const std::string &why, TimePoint now) {
  advance(now);
  auto found = connections.find(id);
  if (found == connections.end() || found->second.phase == Phase::Closing)
    return;
  if (found->second.phase != Phase::Member)
    return close(id);
  // The connection stays open, to send the verdict.
  if (isEnded())
    return;
  int32_t process = found->second.process;
  Fail report{"it sent the coordinator an invalid message (" + why + ")", members.at(process).position};
  addCandidate(process, &report, now);
}

/// Sends a warning to process 0, or keeps it until process 0 has joined.
void StateMachine::warnProcess0(const std::string &text) {
  auto host = members.find(0);
  if (host == members.end())
    earlyWarning = text;
  else if (host->second.connected)
    send(host->second.connection, NoticeMessage{{Notice::Level::Warning, text}});
}

void StateMachine::onRefused(ConnectionId id, const std::string &why, TimePoint now) {
  advance(now);
  auto found = connections.find(id);
  if (found == connections.end() || found->second.phase == Phase::Member || found->second.phase == Phase::Closing)
    return;
  if (now >= nextRefusalNotice && !isEnded()) {
    nextRefusalNotice = now + refusalNoticeInterval;
    warnProcess0("a connection from " + found->second.address + " was refused: " + why);
  }
  close(id);
}

void StateMachine::onNoRoom(const std::string &why, TimePoint now) {
  advance(now);
  if (now < nextNoRoomNotice || isEnded())
    return;
  nextNoRoomNotice = now + stuckRepeat;
  warnProcess0("no more connections can be accepted (" + why + "): processes that have not joined cannot");
}

void StateMachine::onOpeningRecord(ConnectionId id, Connection &connection, std::string_view record, TimePoint now) {
  if (!record.empty() && beginsAsTls(static_cast<unsigned char>(record.front()))) {
    actions.push_back({ServerAction::Kind::Send, id, tlsMismatch()});
    return onRefused(
        id,
        "it uses TLS, but this job was started without TLS: give --tls-cert, --tls-key and --tls-ca to all "
        "processes of a job, or to none",
        now);
  }
  if (!Opening::decode(record, connection.theirs))
    return close(id);
  connection.ours.jobTag = makeJobTag(options.jobId);
  connection.ours.nonce = makeNonce();
  Proof proof = prove(Side::Coordinator, tokenFor(connection), connection.theirs, connection.ours);
  actions.push_back({ServerAction::Kind::Send, id, connection.ours.encode() + std::string(proof.data(), proof.size())});
  // The other side sees the version and reports the difference.
  if (connection.theirs.version != protocolVersion)
    return close(id);
  connection.phase = Phase::Proof;
}

const std::string &StateMachine::tokenFor(const Connection &connection) const {
  return connection.theirs.role == Role::Observer ? options.statusToken : options.token;
}

void StateMachine::onProofRecord(ConnectionId id, Connection &connection, std::string_view record) {
  if (!checkProof(prove(Side::Process, tokenFor(connection), connection.theirs, connection.ours), record))
    return reject(id, "wrong token");
  connection.phase = Phase::Hello;
}

void StateMachine::onStatusRequest(ConnectionId id, const StatusRequest &request, TimePoint now) {
  if (request.ofOneJob && request.jobId != options.jobId)
    return reject(id, "another job is served there: " +
                          (options.jobId.empty() ? "one without an id" : "`" + options.jobId + "`"));
  send(id, StatusReply{status(now)});
  close(id);
}

JobStatus StateMachine::status(TimePoint now) const {
  JobStatus result;
  result.stage = static_cast<JobStatus::Stage>(stage);
  result.numProcesses = options.numProcesses;
  result.uptimeMs = millisecondsBetween(start, now);
  if (verdict)
    result.verdict = verdict->str();
  for (const auto &[process, member] : members) {
    ProcessStatus one;
    one.process = process;
    one.host = member.hello.host;
    one.pid = member.hello.pid;
    one.devices = static_cast<int32_t>(member.hello.localDeviceIds.size());
    one.position = member.position;
    one.statistics = member.statistics;
    one.rate = member.rate.rate(now);
    one.heartbeatAgeMs = millisecondsBetween(member.lastHeard, std::max(now, member.lastHeard));
    result.processes.push_back(std::move(one));
  }
  return result;
}

void StateMachine::onClosed(ConnectionId id, TimePoint now) {
  advance(now);
  auto found = connections.find(id);
  if (found == connections.end())
    return;
  int32_t process = found->second.process;
  connections.erase(found);
  unassigned.erase(id);
  if (process < 0)
    return;
  Member &member = members.at(process);
  member.connected = false;
  if (!isEnded())
    addCandidate(process, nullptr, now);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void StateMachine::advance(TimePoint now) {
  if (now - lastNow > stallThreshold) {
    auto forgiven = now - lastNow - heartbeatInterval;
    for (auto &[process, member] : members) {
      member.lastHeard += forgiven;
      member.positionSince += forgiven;
    }
    for (ConnectionId id : unassigned)
      connections.at(id).opened += forgiven;
  }
  lastNow = std::max(lastNow, now);
}

void StateMachine::tick(TimePoint now) {
  advance(now);
  std::vector<ConnectionId> silent;
  for (ConnectionId id : unassigned)
    if (now - connections.at(id).opened >= handshakeTimeout)
      silent.push_back(id);
  for (ConnectionId id : silent)
    close(id);
  if (now >= heartbeats.getDue()) {
    heartbeats.sent(now);
    auto host = members.find(0);
    if (!isEnded())
      broadcast(Heartbeat{host == members.end() ? Position() : host->second.position});
  }
  if (!isEnded())
    decide(now);
  if (!isEnded())
    checkHeartbeats(now);
  if (stage == Stage::RollCall && mismatchDeadline == never)
    progressOfRollCall(now);
  if (stage == Stage::Running) {
    std::vector<Answer> answers;
    barriers.expire(now, answers);
    deliver(answers);
    endExpiredWaits(now);
    if (!isEnded())
      checkStuck(now);
  }
}

TimePoint StateMachine::nextDeadline() const {
  TimePoint next = heartbeats.getDue();
  for (ConnectionId id : unassigned)
    next = std::min(next, connections.at(id).opened + handshakeTimeout);
  if (isEnded())
    return next;
  next = std::min(next, nextSilence);
  if (stage == Stage::RollCall)
    next = std::min({next, nextProgress, joinDeadline, mismatchDeadline});
  else
    next = std::min({next, store.nextDeadline(), barriers.nextDeadline(), nextStuck});
  return std::min(next, decisionTime());
}

size_t StateMachine::countConnectedMembers() const {
  size_t count = 0;
  for (const auto &[process, member] : members)
    count += member.connected;
  // A hung process does not close its connection.
  if (verdict && verdict->cause == Verdict::Cause::Hung)
    if (auto hung = members.find(verdict->culprit); hung != members.end())
      count -= hung->second.connected;
  return count;
}

size_t StateMachine::countLatecomers() const {
  if (stage != Stage::Over || !endedAtRollCall || verdict->cause == Verdict::Cause::Missing)
    return 0;
  size_t count = 0;
  for (int32_t process : missingProcesses())
    count += !toldLate.count(process) && !candidates.count(process);
  return count;
}

std::vector<ServerAction> StateMachine::takeActions() { return std::exchange(actions, {}); }

} // namespace spmd::coordinator
