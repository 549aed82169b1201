//===- StateMachine.h - the coordinator's logic -----------------*- C++ -*-===//
//
// All decisions of the coordinator, without a socket, a thread or a clock: events come in with their time, actions come
// out. The server feeds it; so does the simulator of the tests.
//
// A connection goes  opening -> proof -> hello -> member -> closing;
// the job goes       roll call -> running -> done  (all have said goodbye)
//                                  or -> over      (one verdict, sent to all processes, never changed).
//
// The verdict is decided from candidates: processes that died (the connection closed without goodbye, or the launcher
// reports it) or that reported a failure. A process that died without a report comes before one that reports a failure,
// and an earlier one before a later one. The decision waits shortly for the explanation of a death: its signal, or its
// last message. A process that waited for another until the time limit comes last; the culprit is then the process it
// waited for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Barriers.h"
#include "runtime/coordinator/ChildEndMessage.h"
#include "runtime/coordinator/Handshake.h"
#include "runtime/coordinator/HeartbeatPace.h"
#include "runtime/coordinator/KeyValueStore.h"
#include "runtime/coordinator/Protocol.h"
#include "runtime/coordinator/RateMeter.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace spmd::coordinator {

using ConnectionId = uint64_t;

constexpr Milliseconds handshakeTimeout{5000};
constexpr Milliseconds progressInterval{5000};
constexpr Milliseconds mismatchSettle{300}; ///< After the first difference, for processes that still join.
constexpr Milliseconds detailsTimeout{500}; ///< For answers about what differing programs were compiled from.
constexpr Milliseconds deathSettle{200};    ///< For the launcher's report, or for the last message of a dead process.
constexpr Milliseconds failSettle{150};     ///< A death that caused the reported failure shows within this time.
constexpr Milliseconds refusalNoticeInterval{1000};
constexpr Milliseconds stuckWarning{2000};
constexpr Milliseconds stuckRepeat{30'000};
constexpr Milliseconds startWarning{30'000}; ///< If no process has begun a step: loading inputs may take long.

struct ServerOptions {
  int32_t numProcesses = 1;
  std::string jobId, token;
  std::string statusToken;  ///< The token that observers must know.
  std::string host;         ///< The host of process 0.
  int64_t pid = 0;          ///< The pid of process 0.
  uint64_t incarnation = 0; ///< The incarnation of process 0: another process with id 0 is refused.
  Milliseconds initializationTimeout{300'000}, heartbeatTimeout{10'000}, collectiveTimeout{300'000};
  bool hasLauncher = false; ///< onChildEnded will be called.
};

/// Send: the bytes as they are. Close: closes the connection when all is sent.
struct ServerAction {
  enum class Kind : uint8_t { Send, Close };
  Kind kind = Kind::Send;
  ConnectionId connection = 0;
  std::string bytes;
};

class StateMachine {
public:
  enum class Stage : uint8_t { RollCall, Running, Done, Over };

  StateMachine(ServerOptions options, std::function<Nonce()> makeNonce, TimePoint now);

  //===--- Events ---===//
  /// `address`: the other side's, without port.
  void onOpened(ConnectionId connection, const std::string &address, TimePoint now);
  /// A record of the handshake (openingBytes, then proofBytes long), afterwards the payload of a frame.
  void onRecord(ConnectionId connection, std::string_view record, TimePoint now);
  /// The transport could not decode a frame.
  void onMalformed(ConnectionId connection, const std::string &why, TimePoint now);
  /// One side of the TLS connection does not trust the other.
  void onRefused(ConnectionId connection, const std::string &why, TimePoint now);
  void onClosed(ConnectionId connection, TimePoint now);
  /// A connection could not be accepted, for this reason.
  void onNoRoom(const std::string &why, TimePoint now);
  void onChildEnded(const ChildEndMessage &end, TimePoint now);
  /// The position of process 0, which it reports without a message.
  void onHostPosition(const Position &position, TimePoint now);
  void tick(TimePoint now);

  //===--- Results ---===//
  std::vector<ServerAction> takeActions();
  /// Returns the latest time for the next call of tick.
  TimePoint nextDeadline() const;
  Stage getStage() const { return stage; }
  const std::optional<Verdict> &getVerdict() const { return verdict; }
  JobStatus status(TimePoint now) const;
  /// Returns the number of members that are connected and not hung.
  size_t countConnectedMembers() const;
  /// Returns the number of processes that may still come and ask why the job ended, if it ended before all had joined.
  size_t countLatecomers() const;

private:
  enum class Phase : uint8_t { Opening, Proof, Hello, Member, Closing };

  struct Connection {
    Phase phase = Phase::Opening;
    std::string address;
    TimePoint opened;
    Opening theirs, ours;
    int32_t process = -1; ///< -1: the connection is not (yet) a member's.
  };

  struct Member {
    ConnectionId connection = 0;
    std::string address;
    Hello hello; ///< Its columns are empty if they equal those of the reference.
    bool likeReference = false;
    bool connected = true;
    TimePoint lastHeard;
    Position position;
    TimePoint positionSince;
    ProcessStatistics statistics;
    RateMeter rate;
  };

  /// A process that may be the culprit.
  struct Candidate {
    TimePoint at;
    bool died = true; ///< false: it reported a failure.
    Fail report;
    /// The process that it waited for until the time limit, which is no failure of its own; -1: none.
    int32_t awaited = -1;
  };

  // Connections and the handshake.
  void send(ConnectionId connection, const Message &message);
  void close(ConnectionId connection);
  void reject(ConnectionId connection, const std::string &text);
  void limitUnassigned();
  void warnProcess0(const std::string &text);
  void onOpeningRecord(ConnectionId id, Connection &connection, std::string_view record, TimePoint now);
  const std::string &tokenFor(const Connection &connection) const;
  void onStatusRequest(ConnectionId id, const StatusRequest &request, TimePoint now);
  void onProofRecord(ConnectionId id, Connection &connection, std::string_view record);

  // Roll call.
  void onHello(ConnectionId id, Connection &connection, Hello hello, TimePoint now);
  std::optional<std::string> refusal(const Hello &hello) const;
  void compareWithReference(Member &member, TimePoint now);
  void progressOfRollCall(TimePoint now);
  void beginRunning();
  std::vector<int32_t> missingProcesses() const;
  bool haveAllJoined() const;
  void onProgramDetails(int32_t process, ProgramDetails details);
  bool askForDetails(const std::map<int32_t, Hello> &hellos, TimePoint now);
  void decideMismatch(TimePoint now);

  // Running.
  void onMemberMessage(int32_t process, Message message, TimePoint now);
  void move(Member &member, const Position &position, TimePoint now);
  void deliver(const std::vector<Answer> &answers);
  void broadcast(const Message &message);
  void checkHeartbeats(TimePoint now);
  void checkStuck(TimePoint now);
  void endExpiredWaits(TimePoint now);
  void endWaitsFor(int32_t leaving, TimePoint now);
  void onDelays(int32_t process, Delays delays, TimePoint now);
  /// A wait of a process for another one; `text` describes it.
  struct MutualWait {
    int32_t process = 0, awaited = 0;
    std::string text;
  };
  std::vector<MutualWait> waitsOf(int32_t process) const;
  std::vector<MutualWait> findCircle(int32_t process) const;
  void endDeadlock(int32_t process, TimePoint now);
  void finishIfAllLeft();
  std::string describe(int32_t process) const;

  // Verdicts.
  /// `report` is the reported failure; null: the process died. `awaited` is the process for which `process` waited
  /// until the time limit; -1: it reports another failure.
  void addCandidate(int32_t process, const Fail *report, TimePoint now, int32_t awaited = -1);
  const Candidate &lastComplaint(const Candidate &first) const;
  Verdict verdictOf(const Candidate &reported) const;
  const std::pair<const int32_t, Candidate> *findFirstCandidate() const;
  TimePoint decisionTime() const;
  void decide(TimePoint now);
  Verdict blame(int32_t process, Verdict::Cause cause) const;
  void conclude(Verdict verdict);

  /// Called with every event: if this process itself was stopped, does not count that time against others.
  void advance(TimePoint now);
  bool isEnded() const { return stage == Stage::Done || stage == Stage::Over; }

  ServerOptions options;
  std::function<Nonce()> makeNonce;
  Stage stage = Stage::RollCall;
  TimePoint start, lastNow, nextProgress, joinDeadline, mismatchDeadline = never;
  HeartbeatPace heartbeats;    ///< For the heartbeats to members, with process 0's position.
  std::string earlyWarning;    ///< The last warning for process 0 while it has not joined yet.
  TimePoint nextRefusalNotice; ///< Limits the notices of refused connections.
  TimePoint nextNoRoomNotice;
  TimePoint nextStuckWarning = never; ///< never: the job moves.
  TimePoint nextStuck = never;        ///< The time at which a job that does not move is an error.
  /// The time at which the member heard the longest ago exceeds the heartbeat timeout.
  TimePoint nextSilence = never;
  std::map<ConnectionId, Connection> connections;
  /// Connections that do not belong to a process (yet) and are not closing. Time limits and bounds concern only these
  /// few.
  std::set<ConnectionId> unassigned;
  std::map<int32_t, Member> members;
  int32_t reference = -1; ///< The first process: the columns of the others are compared with its columns.
  /// By the program's digest: the answers of one process for each differing digest.
  std::map<std::string, std::vector<JoinColumn>> programDetails;
  std::set<int32_t> detailsAskedOf; ///< Processes that have not answered yet.
  bool hasAskedForDetails = false;
  std::map<int32_t, Candidate> candidates;
  std::map<int32_t, ChildEndMessage> ends;
  KeyValueStore store;
  Barriers barriers;
  /// By the process whose launch waits: the last report of the process that it waits for.
  std::map<int32_t, std::pair<int32_t, Delays>> delayed;
  std::optional<Verdict> verdict;
  bool endedAtRollCall = false;
  std::set<int32_t> toldLate; ///< Processes that joined after the verdict and were told.
  std::vector<ServerAction> actions;
};

} // namespace spmd::coordinator
