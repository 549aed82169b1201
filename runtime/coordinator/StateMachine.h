//===- StateMachine.h - the coordinator's logic -----------------*- C++ -*-===//
//
// Everything the coordinator decides, without a socket, a thread or a clock: events come in with the time at which
// they happened, actions come out. The transport feeds it; so does the simulator of the tests.
//
// A connection goes  opening -> proof -> hello -> member -> closing;
// the job goes       roll call -> running -> done  (all have said goodbye)
//                                  or -> over      (one verdict, told to everybody, never changed).
//
// Who is to blame is decided from candidates: processes that died (connection gone without goodbye, or the launcher's
// word) or that reported a failure. A process that died without a word comes before one that complains, the earlier
// before the later; the decision waits shortly for what explains a death: its signal, or its last message. One that has
// waited in vain for another comes last of all, and the other is to blame.
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
constexpr Milliseconds mismatchSettle{300}; ///< After the first difference, for those still on their way.
constexpr Milliseconds detailsTimeout{500}; ///< For what programs that differ were compiled of.
constexpr Milliseconds deathSettle{200};    ///< For the launcher's word, or for the last message of the dead.
constexpr Milliseconds failSettle{150};     ///< Is the failure only the echo of a death?
constexpr Milliseconds refusalNoticeInterval{1000};
constexpr Milliseconds stuckWarning{2000};
constexpr Milliseconds stuckRepeat{30'000};
constexpr Milliseconds startWarning{30'000}; ///< Where nobody has begun a step: inputs may take their time.

struct ServerOptions {
  int32_t numProcesses = 1;
  std::string jobId, token;
  std::string statusToken;  ///< What observers prove to know.
  std::string host;         ///< Process 0's,
  int64_t pid = 0;          ///< as is its pid
  uint64_t incarnation = 0; ///< and its incarnation: nobody else becomes process 0.
  Milliseconds initializationTimeout{300'000}, heartbeatTimeout{10'000}, collectiveTimeout{300'000};
  bool hasLauncher = false; ///< onChildEnded will be called.
};

/// Send: the bytes as they are. Close: once all has been sent.
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
  /// A record of the handshake (openingBytes, then proofBytes), afterwards the payload of a frame.
  void onRecord(ConnectionId connection, std::string_view record, TimePoint now);
  /// The transport could not make out a frame.
  void onMalformed(ConnectionId connection, const std::string &why, TimePoint now);
  /// The transport does not trust the other side.
  void onRefused(ConnectionId connection, const std::string &why, TimePoint now);
  void onClosed(ConnectionId connection, TimePoint now);
  /// A connection could not be accepted, for this reason.
  void onNoRoom(const std::string &why, TimePoint now);
  void onChildEnded(const ChildEndMessage &end, TimePoint now);
  /// Where process 0 is, which needs no message.
  void onHostPosition(const Position &position, TimePoint now);
  void tick(TimePoint now);

  //===--- Results ---===//
  std::vector<ServerAction> takeActions();
  /// When to call tick at the latest.
  TimePoint nextDeadline() const;
  Stage getStage() const { return stage; }
  const std::optional<Verdict> &getVerdict() const { return verdict; }
  JobStatus status(TimePoint now) const;
  /// Members that have not hung up yet and are not given up.
  size_t countConnectedMembers() const;
  /// The job ended before all had come, and so many processes may still come to ask why.
  size_t countLatecomers() const;

private:
  enum class Phase : uint8_t { Opening, Proof, Hello, Member, Closing };

  struct Connection {
    Phase phase = Phase::Opening;
    std::string address;
    TimePoint opened;
    Opening theirs, ours;
    int32_t process = -1; ///< Of a member.
  };

  struct Member {
    ConnectionId connection = 0;
    std::string address;
    Hello hello; ///< Its columns are empty where they are those of the reference.
    bool likeReference = false;
    bool connected = true;
    TimePoint lastHeard;
    Position position;
    TimePoint positionSince;
    Vitals vitals;
    RateMeter rate;
  };

  /// Somebody who may be to blame.
  struct Candidate {
    TimePoint at;
    bool died = true; ///< Otherwise it reported this.
    Fail report;
    int32_t awaited = -1; ///< It complains of waiting for this process, which is no failure of its own.
  };

  // Connections and the handshake.
  void send(ConnectionId connection, const Message &message);
  void close(ConnectionId connection);
  void reject(ConnectionId connection, const std::string &text);
  void limitStrangers();
  void warnHost(const std::string &text);
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
  bool areAllHere() const;
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
  void finishIfAllLeft();
  std::string describe(int32_t process) const;

  // Verdicts.
  /// `report`: what it said; null: it died. `awaited`: whom it waits for, where it only complains of that.
  void suspect(int32_t process, const Fail *report, TimePoint now, int32_t awaited = -1);
  const Candidate &lastComplaint(const Candidate &first) const;
  Verdict verdictOf(const Candidate &reported) const;
  const std::pair<const int32_t, Candidate> *primeSuspect() const;
  TimePoint decisionTime() const;
  void decide(TimePoint now);
  Verdict blame(int32_t process, Verdict::Cause cause) const;
  void conclude(Verdict verdict);

  /// Called with every event: notices that this process itself was stopped, and forgives others that time.
  void advance(TimePoint now);
  bool isEnded() const { return stage == Stage::Done || stage == Stage::Over; }

  ServerOptions options;
  std::function<Nonce()> makeNonce;
  Stage stage = Stage::RollCall;
  TimePoint start, lastNow, nextProgress, joinDeadline, mismatchDeadline = never;
  HeartbeatPace heartbeats;    ///< To the members, with process 0's position.
  std::string earlyWarning;    ///< For process 0, which has not joined yet: the last one.
  TimePoint nextRefusalNotice; ///< Of strangers, who cost nothing.
  TimePoint nextNoRoomNotice;
  TimePoint nextStuckWarning = never; ///< never: the job moves.
  TimePoint nextStuck = never;        ///< When that is an error, if it does not.
  TimePoint nextSilence = never;      ///< When who was heard the longest ago will be silent for too long.
  std::map<ConnectionId, Connection> connections;
  /// Those of no process (yet), and not closing: the few that time limits and bounds concern.
  std::set<ConnectionId> strangers;
  std::map<int32_t, Member> members;
  int32_t reference = -1; ///< The process whose columns the others are compared with: the first.
  /// By the program's digest; of those that differ, what was asked of one process each.
  std::map<std::string, std::vector<JoinColumn>> programDetails;
  std::set<int32_t> detailsAskedOf; ///< And not answered yet.
  bool hasAskedForDetails = false;
  std::map<int32_t, Candidate> candidates;
  std::map<int32_t, ChildEndMessage> ends;
  KeyValueStore store;
  Barriers barriers;
  std::optional<Verdict> verdict;
  bool endedAtRollCall = false;
  std::set<int32_t> toldLate; ///< Processes that came after the verdict.
  std::vector<ServerAction> actions;
};

} // namespace spmd::coordinator
