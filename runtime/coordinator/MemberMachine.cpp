#include "runtime/coordinator/MemberMachine.h"

#include "runtime/coordinator/Describe.h"
#include "runtime/coordinator/StateMachine.h"
#include "runtime/coordinator/Wire.h"
#include "runtime/support/Error.h"
#include "runtime/support/TerminalText.h"

#include <utility>

namespace spmd::coordinator {

constexpr Milliseconds maxBackoff{250};

MemberMachine::MemberMachine(MemberOptions given, std::function<Nonce()> makeNonce, TimePoint now)
    : options(std::move(given)), makeNonce(std::move(makeNonce)), start(now), lastNow(now),
      joinDeadline(now + options.initializationTimeout), nextProgress(now + progressInterval), lastHeard(now) {
  actions.push_back({MemberAction::Kind::Connect, ""});
}

void MemberMachine::send(const Message &message) { actions.push_back({MemberAction::Kind::Send, encode(message)}); }

//===----------------------------------------------------------------------===//
// Connecting and the handshake
//===----------------------------------------------------------------------===//

void MemberMachine::onConnected(TimePoint now) {
  advance(now);
  if (stage != Stage::Connecting)
    return;
  stage = Stage::Challenged;
  handshakeDeadline = now + handshakeTimeout;
  ours.jobTag = makeJobTag(options.hello.jobId);
  ours.nonce = makeNonce();
  actions.push_back({MemberAction::Kind::Send, ours.encode()});
}

void MemberMachine::onConnectFailed(const std::string &why, TimePoint now) {
  advance(now);
  if (stage == Stage::Connecting)
    connectLater(why, now);
}

void MemberMachine::connectLater(const std::string &why, TimePoint now) {
  stage = Stage::Connecting;
  obstacle = why;
  handshakeDeadline = never;
  retryAt = now + backoff;
  backoff = std::min(backoff * 2, maxBackoff);
}

void MemberMachine::onRecord(std::string_view record, TimePoint now) {
  advance(now);
  lastHeard = now;
  if (stage == Stage::Connecting || isEnded())
    return;
  if (stage == Stage::Challenged)
    return onChallenge(record, now);
  try {
    onMessage(decode(record), now);
  } catch (const ProtocolError &error) {
    onMalformed(error.what(), now);
  }
}

void MemberMachine::onMalformed(const std::string &why, TimePoint now) {
  advance(now);
  if (isEnded())
    return;
  std::string text = "the coordinator at " + options.address + " sent an invalid message (" + why + ")";
  if (!isWelcome())
    return refuse(text);
  Verdict failed;
  failed.culprit = 0;
  failed.host = hostName;
  failed.pid = hostPid;
  failed.cause = Verdict::Cause::Failed;
  failed.text = text;
  conclude(std::move(failed));
}

void MemberMachine::onChallenge(std::string_view record, TimePoint now) {
  Proof proof;
  try {
    if (options.token.empty() && options.requestToken)
      options.token = options.requestToken();
  } catch (const Error &error) {
    return refuse(error.what());
  }
  std::string remedy;
  if (options.token.empty())
    remedy = "this process has none" + (options.whyNoToken.empty() ? "" : ", because " + options.whyNoToken) + ": ";
  remedy += "give all processes of a job the same one (--token-file, SPMD_TOKEN_FILE or SPMD_TOKEN), or "
            "choose another port if that is another user's job";
  if (auto refused = answerChallenge(record, options.token, ours, options.address, remedy, proof))
    return refuse(*refused);
  actions.push_back({MemberAction::Kind::Send, std::string(proof.data(), proof.size())});
  options.hello.remainingMs = std::max<int64_t>(millisecondsBetween(now, joinDeadline), 0);
  send(options.hello);
  stage = Stage::Joining;
  // The coordinator has answered, and counts this process as lost once it has read the hello and the connection ends: a
  // second attempt would end the job.
  handshakeDeadline = never;
  obstacle = "it answers, but does not let this process join";
}

void MemberMachine::onRefused(const std::string &why, TimePoint now) {
  advance(now);
  if (isEnded())
    return;
  if (isWelcome())
    return onClosed(why, now);
  refuse("no TLS connection to the coordinator at " + options.address + ": " + why);
}

void MemberMachine::onClosed(const std::string &why, TimePoint now) {
  advance(now);
  if (stage == Stage::Challenged || stage == Stage::Joining)
    return connectLater("it closed the connection (" + why + ")", now);
  if (!isWelcome())
    return;
  disconnected = true;
  bool explained = hostEnd || !options.hasLauncher;
  hostLostAt = std::min(hostLostAt, explained ? now : now + deathSettle);
  if (now >= hostLostAt)
    concludeHostLost(now);
}

//===----------------------------------------------------------------------===//
// Messages of the coordinator
//===----------------------------------------------------------------------===//

void MemberMachine::onMessage(Message message, TimePoint now) {
  if (auto *over = std::get_if<VerdictMessage>(&message))
    return conclude(std::move(over->verdict));
  if (auto *reject = std::get_if<Reject>(&message))
    return refuse(reject->text);
  if (auto *notice = std::get_if<NoticeMessage>(&message)) {
    notices.push_back(std::move(notice->notice));
  } else if (auto *welcome = std::get_if<Welcome>(&message); welcome && stage == Stage::Joining) {
    stage = Stage::RollCall;
    hostName = welcome->host;
    hostPid = welcome->pid;
    heartbeats = HeartbeatPace(now);
    if (early)
      send(*std::exchange(early, std::nullopt));
  } else if (auto *heartbeat = std::get_if<Heartbeat>(&message)) {
    hostPosition = heartbeat->position;
  } else if (auto *come = std::get_if<TopologyMessage>(&message); come && stage == Stage::RollCall) {
    if (come->topology.processes.size() != static_cast<size_t>(options.hello.numProcesses))
      return onMalformed("a topology of " + std::to_string(come->topology.processes.size()) + " processes", now);
    topology = std::move(come->topology);
    stage = Stage::Running;
  } else if (std::holds_alternative<ProgramDetailsRequest>(message) && stage == Stage::RollCall) {
    send(ProgramDetails{options.programDetails ? options.programDetails() : std::vector<JoinColumn>()});
  } else if (auto *reply = std::get_if<Reply>(&message)) {
    replies.push_back(std::move(*reply));
  } else if (auto *left = std::get_if<Departed>(&message)) {
    departed.insert(left->process);
  } else if (std::holds_alternative<Farewell>(message) && stage == Stage::Leaving) {
    stage = Stage::Left;
    actions.push_back({MemberAction::Kind::Close, ""});
  } else {
    onMalformed("an unexpected frame", now);
  }
}

//===----------------------------------------------------------------------===//
// Calls of the process
//===----------------------------------------------------------------------===//

void MemberMachine::request(const Message &message) {
  if (isWelcome() && !disconnected)
    send(message);
}

void MemberMachine::fail(const Fail &report) {
  if (!isWelcome())
    early = report;
  else if (!disconnected)
    send(report);
}

void MemberMachine::goodbye(const Position &position) {
  if (stage != Stage::Running)
    return;
  stage = Stage::Leaving;
  if (disconnected)
    return;
  send(Heartbeat{position}); // The last position, in case the process fails while it leaves.
  send(Goodbye{});
}

void MemberMachine::onFirstStep(TimePoint now) {
  if (isWelcome())
    heartbeats.hurry(now);
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

void MemberMachine::refuse(const std::string &text) {
  if (isEnded())
    return;
  stage = Stage::Refused;
  // The text may have control characters, for example from the names in the other side's certificate.
  refusal = escapeControls(text);
  actions.push_back({MemberAction::Kind::Close, ""});
}

void MemberMachine::conclude(Verdict decided) {
  if (isEnded())
    return;
  stage = Stage::Over;
  verdict = std::move(decided);
  actions.push_back({MemberAction::Kind::Close, ""});
}

/// Concludes with the verdict that the coordinator would give about its own process if it could still send.
void MemberMachine::concludeHostLost(TimePoint now) {
  // The job was over before process 0 left, but this process joined too late to hear it from process 0.
  if (hostEnd && hostEnd->verdict)
    return conclude(*hostEnd->verdict);
  Verdict lost;
  lost.culprit = 0;
  // Before the welcome, only children of our launcher hear of the end.
  lost.host = hostName.empty() ? options.hello.host : hostName;
  lost.pid = hostPid;
  lost.position = hostPosition;
  if (hostEnd) {
    bool killed = hostEnd->signal != 0;
    lost.cause = killed ? Verdict::Cause::Killed : Verdict::Cause::Exited;
    lost.detail = killed ? hostEnd->signal : hostEnd->status;
    if (lost.pid == 0)
      lost.pid = hostEnd->pid;
  }
  conclude(std::move(lost));
}

/// Only the end of process 0 matters here: the coordinator reports the ends of all other processes.
void MemberMachine::onChildEnded(const ChildEndMessage &end, TimePoint now) {
  advance(now);
  if (isEnded() || end.process != 0 || options.hello.processId == 0)
    return;
  hostEnd = end;
  // Its last messages may still arrive.
  hostLostAt = disconnected ? now : std::min(hostLostAt, now + deathSettle);
  if (now >= hostLostAt)
    concludeHostLost(now);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void MemberMachine::advance(TimePoint now) {
  if (now - lastNow > stallThreshold)
    lastHeard += now - lastNow - heartbeatInterval;
  lastNow = std::max(lastNow, now);
}

void MemberMachine::tick(const Position &position, TimePoint now) {
  advance(now);
  if (isEnded())
    return;
  if (now >= hostLostAt)
    return concludeHostLost(now);
  if (isWelcome()) {
    if (now - lastHeard >= options.heartbeatTimeout) {
      Verdict hung;
      hung.culprit = 0;
      hung.host = hostName;
      hung.pid = hostPid;
      hung.position = hostPosition;
      hung.cause = Verdict::Cause::Hung;
      // Each member concludes by itself; the limit instead of the measured time makes all report the same.
      hung.detail = options.heartbeatTimeout.count();
      send(VerdictMessage{hung}); // For process 0, if it wakes up: it would blame the members that have left meanwhile.
      return conclude(std::move(hung));
    }
    if (now >= heartbeats.getDue() && !disconnected) {
      heartbeats.sent(now);
      send(Heartbeat{position});
      send(ProcessStatisticsMessage{statistics});
    }
    return;
  }
  if (now >= joinDeadline) {
    unanswered = true;
    return refuse("no coordinator was found at " + options.address + " within " +
                  formatSeconds(options.initializationTimeout.count()) + (obstacle.empty() ? "" : ": " + obstacle) +
                  ": is process 0 running, and is this its address?");
  }
  if (now >= handshakeDeadline) {
    actions.push_back({MemberAction::Kind::Close, ""});
    connectLater("it accepts connections but does not answer", now);
  }
  if (now >= retryAt) {
    retryAt = never;
    actions.push_back({MemberAction::Kind::Connect, ""});
  }
  if (now >= nextProgress) {
    nextProgress = now + progressInterval;
    notices.push_back({Notice::Level::Info, "waiting for the coordinator at " + options.address +
                                                (obstacle.empty() ? "" : ": " + obstacle) + " (" +
                                                std::to_string(millisecondsBetween(start, now) / 1000) + " s of " +
                                                formatSeconds(options.initializationTimeout.count()) + ")"});
  }
}

TimePoint MemberMachine::nextDeadline() const {
  if (isEnded())
    return never;
  if (isWelcome())
    return std::min({disconnected ? never : heartbeats.getDue(), hostLostAt, lastNow + heartbeatInterval,
                     lastHeard + options.heartbeatTimeout});
  return std::min({hostLostAt, joinDeadline, handshakeDeadline, retryAt, nextProgress, lastNow + heartbeatInterval});
}

std::vector<MemberAction> MemberMachine::takeActions() { return std::exchange(actions, {}); }
std::vector<Reply> MemberMachine::takeReplies() { return std::exchange(replies, {}); }
std::vector<Notice> MemberMachine::takeNotices() { return std::exchange(notices, {}); }

} // namespace spmd::coordinator
