//===- MemberMachine.h - a process's side of the control plane --*- C++ -*-===//
//
// The logic of a member. Like the coordinator's (StateMachine.h), it does no I/O: connecting until the deadline, the
// handshake, joining, heartbeats, requests. A member draws one conclusion by itself: that the coordinator's process is
// gone.
//
//     connecting -> challenged -> joining -> roll call -> running -> leaving -> left
//                                                           any of these -> over (a verdict) or refused (an error)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/ChildEndMessage.h"
#include "runtime/coordinator/Handshake.h"
#include "runtime/coordinator/HeartbeatPace.h"
#include "runtime/coordinator/Protocol.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace spmd::coordinator {

struct MemberOptions {
  Hello hello;
  std::string address; ///< For messages.
  std::string token;
  /// Returns the token of this user's job on this machine; "" if there is none. Called at the challenge if `token` is
  /// empty. Throws spmd::Error if the job is another user's. May be empty.
  std::function<std::string()> requestToken = {};
  std::string whyNoToken; ///< For messages; may be empty.
  Milliseconds initializationTimeout{300'000}, heartbeatTimeout{10'000};
  bool hasLauncher = false;                                ///< onChildEnded will be called.
  std::function<std::vector<JoinColumn>()> programDetails; ///< May be empty.
};

struct MemberAction {
  enum class Kind : uint8_t {
    Connect, ///< The transport connects, then calls onConnected or onConnectFailed.
    Send,
    Close, ///< The transport closes the connection when all is sent. It does not call onClosed for that.
  };
  Kind kind = Kind::Send;
  std::string bytes;
};

class MemberMachine {
public:
  enum class Stage : uint8_t { Connecting, Challenged, Joining, RollCall, Running, Leaving, Left, Over, Refused };

  /// Starts to connect.
  MemberMachine(MemberOptions options, std::function<Nonce()> makeNonce, TimePoint now);

  //===--- Events ---===//
  void onConnected(TimePoint now);
  void onConnectFailed(const std::string &why, TimePoint now);
  /// The challenge of the handshake (challengeBytes long), afterwards the payload of a frame.
  void onRecord(std::string_view record, TimePoint now);
  void onMalformed(const std::string &why, TimePoint now);
  /// One side of the TLS connection does not trust the other.
  void onRefused(const std::string &why, TimePoint now);
  void onClosed(const std::string &why, TimePoint now);
  void onChildEnded(const ChildEndMessage &end, TimePoint now);
  /// The statistics that the next heartbeat sends beside the position.
  void setStatistics(const ProcessStatistics &counted) { statistics = counted; }
  /// `position`: the current position of this process.
  void tick(const Position &position, TimePoint now);

  //===--- Calls of the process ---===//
  /// Sends one of the four requests, whose answer comes with takeReplies; or a Missed.
  void request(const Message &message);
  /// Reports a failure. If the coordinator has not sent its welcome yet, the report is sent after that.
  void fail(const Fail &report);
  /// `position`: the current position of this process.
  void goodbye(const Position &position);
  /// To be called when the process begins its first step: sends a heartbeat at once.
  void onFirstStep(TimePoint now);

  //===--- Results ---===//
  std::vector<MemberAction> takeActions();
  std::vector<Reply> takeReplies();
  std::vector<Notice> takeNotices();
  const std::set<int32_t> &getDeparted() const { return departed; } ///< Processes that have said goodbye.
  TimePoint nextDeadline() const;
  Stage getStage() const { return stage; }
  bool isEnded() const { return stage >= Stage::Left; }
  const Topology &getTopology() const { return topology; } ///< Valid from Running on.
  const std::optional<Verdict> &getVerdict() const { return verdict; }
  const std::string &getRefusal() const { return refusal; }
  /// Returns whether the machine refused because no coordinator answered before the deadline.
  bool isUnanswered() const { return unanswered; }

private:
  bool isWelcome() const { return stage >= Stage::RollCall && stage <= Stage::Leaving; }
  void send(const Message &message);
  void connectLater(const std::string &why, TimePoint now);
  void onChallenge(std::string_view record, TimePoint now);
  void onMessage(Message message, TimePoint now);
  void refuse(const std::string &text);
  void conclude(Verdict decided);
  void concludeHostLost(TimePoint now);
  void advance(TimePoint now);

  MemberOptions options;
  std::function<Nonce()> makeNonce;
  Stage stage = Stage::Connecting;
  TimePoint start, lastNow, joinDeadline, nextProgress;
  TimePoint retryAt = never;           ///< Connecting: when to try again.
  TimePoint handshakeDeadline = never; ///< Challenged.
  Milliseconds backoff{10};
  std::string obstacle; ///< Why the last attempt failed or is not over.
  Opening ours;
  ProcessStatistics statistics;
  std::string hostName; ///< Process 0's, from Welcome.
  int64_t hostPid = 0;
  Position hostPosition;
  TimePoint lastHeard;
  HeartbeatPace heartbeats{never};
  /// The time to conclude that process 0 is lost, unless a message explains its end before.
  TimePoint hostLostAt = never;
  bool disconnected = false, unanswered = false;
  std::optional<ChildEndMessage> hostEnd;
  std::optional<Fail> early; ///< A report that is sent after the welcome.
  Topology topology;
  std::optional<Verdict> verdict;
  std::string refusal;
  std::vector<MemberAction> actions;
  std::vector<Reply> replies;
  std::vector<Notice> notices;
  std::set<int32_t> departed;
};

} // namespace spmd::coordinator
