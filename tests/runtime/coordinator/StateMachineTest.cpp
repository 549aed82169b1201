// The coordinator's logic, event by event, with a clock of the test's own.

#include "runtime/coordinator/StateMachine.h"

#include <gmock/gmock.h>

#include <set>

using namespace spmd;
using namespace spmd::coordinator;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using Stage = StateMachine::Stage;

namespace {

/// A coordinator and what it has sent to each connection.
struct Bench {
  explicit Bench(int32_t count, const std::function<void(ServerOptions &)> &change = {}) {
    options.numProcesses = count;
    options.token = "t";
    options.statusToken = "s";
    options.host = "h0";
    options.pid = 100;
    options.incarnation = 1000;
    options.initializationTimeout = 20s;
    options.collectiveTimeout = 30s;
    if (change)
      change(options);
    machine = std::make_unique<StateMachine>(options, [] { return Nonce{7}; }, now);
  }

  /// Passes the time in small steps, everybody's heartbeats included, but for those of `silent`.
  void pass(Milliseconds span, const std::set<int32_t> &silent = {}) {
    for (TimePoint end = now + span; now < end;) {
      now = std::min(end, now + 100ms);
      for (auto [process, connection] : memberConnections)
        if (!silent.count(process) && machine->getStage() < Stage::Done)
          receive(connection, Heartbeat{positions[process]});
      machine->tick(now);
      collect();
    }
  }

  void collect() {
    for (ServerAction &action : machine->takeActions()) {
      if (action.kind == ServerAction::Kind::Close) {
        closed.insert(action.connection);
        continue;
      }
      if (raw.count(action.connection))
        sent[action.connection].push_back(decode(std::string_view(action.bytes).substr(frameHeaderBytes)));
      else
        raw[action.connection] = action.bytes; // The challenge.
    }
  }

  ConnectionId open() {
    ++last;
    machine->onOpened(last, "10.0.0." + std::to_string(last), now);
    collect();
    return last;
  }

  /// Opens a connection and passes the handshake.
  ConnectionId openWithToken(const std::string &token = "t", Role role = Role::Process) {
    ConnectionId id = open();
    Opening ours, theirs;
    ours.role = role;
    ours.jobTag = makeJobTag("");
    ours.nonce[0] = static_cast<char>(id);
    machine->onRecord(id, ours.encode(), now);
    collect();
    EXPECT_TRUE(Opening::decode(std::string_view(raw[id]).substr(0, openingBytes), theirs));
    Proof proof = prove(Side::Process, token, ours, theirs);
    machine->onRecord(id, std::string_view(proof.data(), proof.size()), now);
    collect();
    return id;
  }

  /// The answers to an observer.
  std::vector<StatusReply> observe(const Message &question, const std::string &token = "s") {
    observer = openWithToken(token, Role::Observer);
    receive(observer, question);
    return all<StatusReply>(observer);
  }

  Hello helloOf(int32_t process) {
    Hello hello;
    hello.processId = process;
    hello.numProcesses = options.numProcesses;
    hello.incarnation = 1000 + static_cast<uint64_t>(process);
    hello.pid = 100 + process;
    hello.host = "h" + std::to_string(process);
    hello.localDeviceIds = {0};
    hello.remainingMs = 3'600'000;
    return hello;
  }

  ConnectionId join(const Hello &hello) {
    ConnectionId id = openWithToken();
    memberConnections[hello.processId] = id;
    receive(id, hello);
    return id;
  }

  void joinAll() {
    for (int32_t process = 0; process != options.numProcesses; ++process)
      join(helloOf(process));
    EXPECT_EQ(machine->getStage(), Stage::Running);
  }

  void receive(ConnectionId id, const Message &message) {
    machine->onRecord(id, std::string_view(encode(message)).substr(frameHeaderBytes), now);
    collect();
  }
  void receiveFrom(int32_t process, const Message &message) { receive(memberConnections.at(process), message); }
  void hangUp(int32_t process) {
    machine->onClosed(memberConnections.at(process), now);
    memberConnections.erase(process);
    collect();
  }
  void childEnded(int32_t process, int signal, int status = 0) {
    machine->onChildEnded({process, 100 + process, signal, status}, now);
    collect();
  }

  template <typename T> std::vector<T> all(ConnectionId id) {
    std::vector<T> result;
    for (const Message &message : sent[id])
      if (const T *found = std::get_if<T>(&message))
        result.push_back(*found);
    return result;
  }
  std::string verdict() { return machine->getVerdict() ? machine->getVerdict()->str() : "none"; }
  std::string rejected(ConnectionId id) {
    std::vector<Reject> found = all<Reject>(id);
    return found.empty() ? "" : found.back().text;
  }

  ServerOptions options;
  TimePoint now = TimePoint() + 1000s;
  std::unique_ptr<StateMachine> machine;
  ConnectionId last = 0, observer = 0;
  std::map<int32_t, ConnectionId> memberConnections;
  std::map<int32_t, Position> positions;
  std::map<ConnectionId, std::string> raw;
  std::map<ConnectionId, std::vector<Message>> sent;
  std::set<ConnectionId> closed;
};

TEST(StateMachine, GarbageIsClosedWithoutAnAnswer) {
  Bench bench(2);
  ConnectionId id = bench.open();
  bench.machine->onRecord(id, std::string(openingBytes, 'x'), bench.now);
  bench.collect();
  EXPECT_TRUE(bench.closed.count(id));
  EXPECT_FALSE(bench.raw.count(id));
}

TEST(StateMachine, AWrongTokenIsRejectedAndNothingElseIsRead) {
  Bench bench(2);
  ConnectionId id = bench.openWithToken("u");
  EXPECT_EQ(bench.rejected(id), "wrong token");
  EXPECT_TRUE(bench.closed.count(id));
  bench.receive(id, bench.helloOf(1));
  EXPECT_TRUE(bench.all<Welcome>(id).empty());
}

TEST(StateMachine, AProofIsForOneConnectionOnly) {
  Bench bench(2);
  int nonces = 0;
  bench.machine =
      std::make_unique<StateMachine>(bench.options, [&] { return Nonce{static_cast<char>(++nonces)}; }, bench.now);
  ConnectionId first = bench.open(), second = bench.open();
  Opening ours, theirs;
  for (ConnectionId id : {first, second})
    bench.machine->onRecord(id, ours.encode(), bench.now);
  bench.collect();
  ASSERT_TRUE(Opening::decode(std::string_view(bench.raw[first]).substr(0, openingBytes), theirs));
  Proof proof = prove(Side::Process, "t", ours, theirs);
  bench.machine->onRecord(second, std::string_view(proof.data(), proof.size()), bench.now);
  bench.collect();
  EXPECT_EQ(bench.rejected(second), "wrong token");
  bench.machine->onRecord(first, std::string_view(proof.data(), proof.size()), bench.now);
  bench.collect();
  EXPECT_FALSE(bench.closed.count(first));
}

TEST(StateMachine, AnotherVersionGetsTheChallengeToReadOursFrom) {
  Bench bench(2);
  ConnectionId id = bench.open();
  Opening ours;
  ours.version = 99;
  bench.machine->onRecord(id, ours.encode(), bench.now);
  bench.collect();
  EXPECT_EQ(bench.raw[id].size(), challengeBytes);
  EXPECT_TRUE(bench.closed.count(id));
}

TEST(StateMachine, SilentConnectionsAreClosedAndTheirNumberIsBounded) {
  Bench bench(2);
  ConnectionId silent = bench.open();
  bench.pass(4900ms);
  EXPECT_FALSE(bench.closed.count(silent));
  bench.pass(200ms);
  EXPECT_TRUE(bench.closed.count(silent));

  for (int i = 0; i != 1000; ++i)
    bench.open();
  EXPECT_GE(bench.closed.size(), 1000u - 131);
  EXPECT_FALSE(bench.closed.count(bench.last)); // The newest stays.
  bench.joinAll();
}

TEST(StateMachine, RollCallEndsWithTheTopology) {
  Bench bench(3);
  bench.join(bench.helloOf(2));
  Hello hello = bench.helloOf(0);
  hello.localDeviceIds = {0, 1};
  bench.join(hello);
  EXPECT_EQ(bench.machine->getStage(), Stage::RollCall);
  bench.join(bench.helloOf(1));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  for (auto [process, connection] : bench.memberConnections) {
    std::vector<TopologyMessage> topologies = bench.all<TopologyMessage>(connection);
    ASSERT_EQ(topologies.size(), 1u);
    EXPECT_EQ(topologies[0].topology.deviceCount(), 4);
    EXPECT_EQ(topologies[0].topology.processes[2].firstDevice, 3);
    EXPECT_EQ(topologies[0].topology.processes[2].address, "10.0.0.1");
  }
}

TEST(StateMachine, ProgressEveryFiveSecondsThenTheMissing) {
  Bench bench(5);
  bench.join(bench.helloOf(0));
  bench.join(bench.helloOf(3));
  bench.pass(10'500ms);
  std::vector<NoticeMessage> notices = bench.all<NoticeMessage>(bench.memberConnections[3]);
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].notice.text, "waiting for processes 1, 2 and 4 of 5 to join (5 s of 20 s)");
  EXPECT_EQ(notices[1].notice.text, "waiting for processes 1, 2 and 4 of 5 to join (10 s of 20 s)");
  bench.pass(9'400ms);
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), HasSubstr("processes 1, 2 and 4 of 5 did not join within 20 s"));
}

TEST(StateMachine, TheHolderOfAnIdIsNamedToANewcomer) {
  Bench bench(3);
  bench.join(bench.helloOf(1));
  Hello twin = bench.helloOf(1);
  twin.incarnation = 5;
  ConnectionId id = bench.openWithToken();
  bench.receive(id, twin);
  EXPECT_THAT(bench.rejected(id), HasSubstr("process 1 (h1, pid 101) is already in the job"));
  // Nobody becomes process 0 but the one that serves, also before it has said hello itself.
  Hello pretender = bench.helloOf(0);
  pretender.incarnation = 5;
  id = bench.openWithToken();
  bench.receive(id, pretender);
  EXPECT_THAT(bench.rejected(id), HasSubstr("process 0 (h0, pid 100) is already in the job"));
  Hello stranger = bench.helloOf(2);
  stranger.jobId = "other";
  id = bench.openWithToken();
  bench.receive(id, stranger);
  EXPECT_THAT(bench.rejected(id), AllOf(HasSubstr("the job without an id of process 0 (h0, pid 100)"),
                                        HasSubstr("belongs to the job `other`")));
  bench.join(bench.helloOf(0));
  bench.join(bench.helloOf(2));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  Hello late = bench.helloOf(3);
  late.numProcesses = 4;
  id = bench.openWithToken();
  bench.receive(id, late);
  EXPECT_THAT(bench.rejected(id), HasSubstr("has already started with 3 processes"));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
}

TEST(StateMachine, ADifferenceWaitsShortlyForTheOthers) {
  Bench bench(4);
  for (int32_t process : {0, 1, 2}) {
    Hello hello = bench.helloOf(process);
    hello.columns = {{"--set N", process == 1 ? "5" : "4"}};
    bench.join(hello);
  }
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(400ms);
  EXPECT_THAT(bench.verdict(),
              AllOf(HasSubstr("--set N differs: `4` on processes 0 and 2; `5` on process 1 (h1, pid 101)")));
  EXPECT_EQ(bench.machine->getVerdict()->culprit, 1);
  // Who comes after that is told too.
  ConnectionId id = bench.openWithToken();
  bench.receive(id, bench.helloOf(3));
  ASSERT_EQ(bench.all<VerdictMessage>(id).size(), 1u);
}

TEST(StateMachine, TheOddOneOutIsToBlameEvenIfItIsProcess0) {
  Bench bench(3);
  for (int32_t process : {0, 1, 2}) {
    Hello hello = bench.helloOf(process);
    hello.build = process == 0 ? "old" : "new";
    bench.join(hello);
  }
  EXPECT_THAT(bench.verdict(),
              HasSubstr("the build differs: `old` on process 0 (h0, pid 100); `new` on processes 1 and 2"));
  EXPECT_EQ(bench.machine->getVerdict()->culprit, 0);
}

TEST(StateMachine, AClosedConnectionWithoutLauncherIsDecidedAtOnce) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, Heartbeat{{4, 2, Position::State::Running, "f:5:7"}});
  bench.hangUp(1);
  EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) was lost without goodbye; last seen at launch 4, step 2 (f:5:7)");
  for (int32_t process : {0, 2}) {
    std::vector<VerdictMessage> verdicts = bench.all<VerdictMessage>(bench.memberConnections[process]);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].verdict.str(), bench.verdict());
    EXPECT_TRUE(bench.closed.count(bench.memberConnections[process]));
  }
}

TEST(StateMachine, WithALauncherTheSignalIsWaitedForButNotLong) {
  auto launched = [](ServerOptions &options) { options.hasLauncher = true; };
  {
    Bench bench(3, launched);
    bench.joinAll();
    bench.hangUp(1);
    EXPECT_EQ(bench.verdict(), "none");
    bench.childEnded(1, 11);
    EXPECT_THAT(bench.verdict(), HasSubstr("process 1 (h1, pid 101) was killed by signal 11 (SIGSEGV)"));
  }
  {
    Bench bench(3, launched);
    bench.joinAll();
    bench.hangUp(1);
    bench.pass(300ms);
    EXPECT_THAT(bench.verdict(), HasSubstr("was lost without goodbye"));
  }
  {
    // The launcher is faster than the connection, on which a last message is still to come.
    Bench bench(3, launched);
    bench.joinAll();
    bench.childEnded(1, 0, 1);
    EXPECT_EQ(bench.verdict(), "none");
    bench.receiveFrom(1, Fail{"no such file", {}});
    bench.hangUp(1);
    bench.pass(200ms);
    EXPECT_EQ(bench.verdict(), "process 1 (h1, pid 101) failed: no such file");
  }
  {
    // It never joined.
    Bench bench(3, launched);
    bench.join(bench.helloOf(0));
    bench.childEnded(2, 0, 3);
    bench.pass(200ms);
    EXPECT_EQ(bench.verdict(),
              "process 2 (h0, pid 102) exited with status 3 without goodbye; last seen before its first step");
  }
}

TEST(StateMachine, ADeathComesBeforeTheComplaintsAboutIt) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(2, Fail{"connection reset by process 1", {}});
  EXPECT_EQ(bench.verdict(), "none");
  bench.now += 10ms;
  bench.hangUp(1);
  EXPECT_THAT(bench.verdict(), HasSubstr("process 1 (h1, pid 101) was lost"));
}

TEST(StateMachine, ThereIsOneVerdict) {
  Bench bench(4);
  bench.joinAll();
  bench.hangUp(3);
  std::string first = bench.verdict();
  bench.hangUp(1);
  bench.receiveFrom(2, Fail{"me too", {}});
  bench.pass(20s, {0, 2});
  EXPECT_EQ(bench.verdict(), first);
  EXPECT_EQ(bench.all<VerdictMessage>(bench.memberConnections[2]).size(), 1u);
}

TEST(StateMachine, SilenceIsForgivenUntilTheHeartbeatTimeout) {
  Bench bench(3);
  bench.joinAll();
  bench.pass(9'900ms, {2});
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(1s);
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(10'500ms, {2});
  EXPECT_THAT(bench.verdict(), HasSubstr("process 2 (h2, pid 102) hangs: no heartbeat for 10 s"));
}

TEST(StateMachine, WhenItWasStoppedItselfNobodyIsBlamed) {
  Bench bench(3);
  bench.joinAll();
  bench.pass(1s);
  bench.now += 60s;
  bench.machine->tick(bench.now);
  EXPECT_EQ(bench.verdict(), "none");
  bench.pass(5s);
  EXPECT_EQ(bench.verdict(), "none");
  // Unless the others have given it up meanwhile, and say so.
  Verdict hung{0, "h0", 100, Verdict::Cause::Hung, 10'000, "", {}};
  bench.receiveFrom(2, VerdictMessage{hung});
  EXPECT_EQ(bench.verdict(), hung.str());
}

TEST(StateMachine, MembersCannotInventVerdicts) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(2, VerdictMessage{{1, "h1", 101, Verdict::Cause::Hung, 1, "", {}}});
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), AllOf(HasSubstr("process 2 (h2, pid 102) failed"), HasSubstr("no message")));
}

TEST(StateMachine, StandingStillIsWarnedOfOnlyWhereProcessesAreApart) {
  Bench bench(3, [](ServerOptions &options) { options.collectiveTimeout = 0ms; });
  bench.joinAll();
  Position here{3, 4, Position::State::Running, "f:4:1"}, there{3, 9, Position::State::Running, "f:9:1"};
  for (int32_t process : {0, 1, 2})
    bench.positions[process] = here;
  bench.pass(10s); // All at one place: they may be computing.
  EXPECT_TRUE(bench.all<NoticeMessage>(bench.memberConnections[0]).empty());
  bench.positions[0] = bench.positions[1] = there;
  bench.pass(1900ms);
  EXPECT_TRUE(bench.all<NoticeMessage>(bench.memberConnections[0]).empty());
  bench.pass(400ms);
  std::vector<NoticeMessage> notices = bench.all<NoticeMessage>(bench.memberConnections[0]);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].notice.text, "the job has not moved for 2 s: process 2: launch 3, step 4 (f:4:1); "
                                    "processes 0 and 1: launch 3, step 9 (f:9:1)");
  bench.pass(20s); // Once per standstill, for a while; never an error, as collective_timeout is 0.
  EXPECT_EQ(bench.all<NoticeMessage>(bench.memberConnections[0]).size(), 1u);
  bench.pass(3600s);
  EXPECT_EQ(bench.verdict(), "none");
}

TEST(StateMachine, WhoIsBehindIsToBlameForStandingStill) {
  Bench bench(3);
  bench.joinAll();
  bench.positions[0] = bench.positions[2] = {5, 1, Position::State::Running, "f:1:1"};
  bench.positions[1] = {4, 7, Position::State::Running, "f:7:7"};
  bench.pass(31s);
  EXPECT_THAT(bench.verdict(),
              AllOf(HasSubstr("process 1 (h1, pid 101) is stuck: for 30 s it has been at launch 4, step 7 "
                              "(f:7:7)"),
                    HasSubstr("processes 0 and 2: launch 5, step 1 (f:1:1)")));
}

TEST(StateMachine, WaitingHasItsOwnTimeLimits) {
  Bench bench(2);
  bench.joinAll();
  bench.positions[0] = {5, 1, Position::State::Running, "f:1:1"};
  bench.positions[1] = {5, 1, Position::State::Waiting, "at barrier `b`"};
  bench.pass(100s);
  EXPECT_EQ(bench.verdict(), "none");
  EXPECT_THAT(bench.all<NoticeMessage>(bench.memberConnections[0]).at(0).notice.text,
              HasSubstr("process 1: waiting, launch 5, step 1 (at barrier `b`)"));
}

TEST(StateMachine, StoreQuotasHold) {
  KeyValueStore store({3, 100, 2});
  std::vector<Answer> answers;
  TimePoint now = TimePoint() + 1s;
  for (int i = 0; i != 4; ++i)
    store.set({0, 1}, "k" + std::to_string(i), "v", answers);
  EXPECT_TRUE(answers[2].ok);
  EXPECT_FALSE(answers[3].ok);
  EXPECT_THAT(answers[3].text, HasSubstr("store is full (3 keys"));
  store.removePrefix({0, 1}, "k", answers);
  answers.clear();
  store.set({0, 1}, "k", std::string(100, 'v'), answers);
  EXPECT_FALSE(answers[0].ok); // The key counts too.
  store.set({0, 1}, "k", std::string(99, 'v'), answers);
  EXPECT_TRUE(answers[1].ok);
  answers.clear();
  for (uint64_t i = 0; i != 3; ++i)
    store.wait({1, i}, "w", now + 5s, answers, now);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].text, HasSubstr("too many threads"));
  EXPECT_EQ(store.nextDeadline(), now + 5s);
  answers.clear();
  store.expire(now + 5s, answers);
  EXPECT_EQ(answers.size(), 2u);
  EXPECT_EQ(store.nextDeadline(), never);
  store.wait({1, 9}, "w", now + 5s, answers, now); // The expired ones no longer count.
  EXPECT_EQ(answers.size(), 2u);
}

TEST(StateMachine, GoodbyeIsForAllOrNobody) {
  Bench bench(3);
  bench.joinAll();
  bench.receiveFrom(1, Goodbye{});
  bench.receiveFrom(0, Goodbye{});
  bench.pass(60s);
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  EXPECT_TRUE(bench.all<Farewell>(bench.memberConnections[1]).empty());
  bench.receiveFrom(2, Goodbye{});
  EXPECT_EQ(bench.machine->getStage(), Stage::Done);
  for (auto [process, connection] : bench.memberConnections)
    EXPECT_EQ(bench.all<Farewell>(connection).size(), 1u);
  bench.hangUp(2);
  bench.childEnded(1, 9);
  EXPECT_EQ(bench.verdict(), "none");

  Bench torn(3);
  torn.joinAll();
  torn.receiveFrom(1, Goodbye{});
  torn.hangUp(1); // It may not go before the others.
  EXPECT_THAT(torn.verdict(), HasSubstr("process 1 (h1, pid 101) was lost"));
}

TEST(StateMachine, AMemberThatSendsNonsenseIsToBlame) {
  Bench bench(3);
  bench.joinAll();
  bench.machine->onRecord(bench.memberConnections[1], "\xff\xff", bench.now);
  bench.pass(200ms);
  EXPECT_THAT(bench.verdict(), HasSubstr("process 1 (h1, pid 101) failed: it sent the coordinator what is no message"));
  EXPECT_EQ(bench.all<VerdictMessage>(bench.memberConnections[1]).size(), 1u);
}

// What a process says of its failure counts, not where its other devices have come meanwhile.
TEST(StateMachine, AFailureKeepsItsPlace) {
  Bench bench(2);
  bench.joinAll();
  Position where{7, 3, Position::State::Running, "mlp.spmd:5:7"};
  bench.receiveFrom(1, Fail{"broken", where});
  bench.positions[1] = {7, 9, Position::State::Running, "mlp.spmd:8:1"};
  bench.receiveFrom(1, Fail{"broken again", bench.positions[1]});
  bench.pass(1s);
  ASSERT_TRUE(bench.machine->getVerdict());
  EXPECT_EQ(bench.machine->getVerdict()->text, "broken");
  EXPECT_EQ(bench.machine->getVerdict()->position, where);
}

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

TEST(Status, TellsWhatHeartbeatsHaveTold) {
  Bench bench(3);
  bench.joinAll();
  bench.positions[1] = {7, 3, Position::State::Running, "mlp.spmd:5:7"};
  for (int second = 0; second != 6; ++second) {
    bench.receiveFrom(1, VitalsMessage{{static_cast<uint64_t>(second), 11, 12, 20 * second, 1000, 4096}});
    bench.receiveFrom(2, VitalsMessage{{static_cast<uint64_t>(7 * second), 0, 0, -1, 0, 0}});
    bench.pass(1s);
  }
  bench.pass(1s, {0});
  std::vector<StatusReply> replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  const JobStatus &status = replies[0].status;
  EXPECT_EQ(status.stage, JobStatus::Stage::Running);
  EXPECT_EQ(status.numProcesses, 3);
  EXPECT_EQ(status.uptimeMs, 7000);
  ASSERT_EQ(status.processes.size(), 3u);
  const ProcessStatus &one = status.processes[1];
  EXPECT_EQ(one.process, 1);
  EXPECT_EQ(one.host, "h1");
  EXPECT_EQ(one.pid, 101);
  EXPECT_EQ(one.devices, 1);
  EXPECT_EQ(one.position, bench.positions[1]);
  EXPECT_EQ(one.vitals, (Vitals{5, 11, 12, 100, 1000, 4096}));
  EXPECT_NEAR(one.rate, 100 / 7.0, 0.01);                // 100 steps in the 7 s since the first word.
  EXPECT_NEAR(status.processes[2].rate, 35 / 7.0, 0.01); // Launches where there is no loop.
  EXPECT_EQ(status.processes[0].rate, 0);
  EXPECT_EQ(status.processes[0].heartbeatAgeMs, 1000);
  EXPECT_LE(one.heartbeatAgeMs, 100);
  EXPECT_TRUE(bench.closed.count(bench.observer));
}

TEST(Status, IsThereBeforeAllHaveComeAndAfterTheEnd) {
  Bench bench(2);
  std::vector<StatusReply> replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].status.processes.empty());
  bench.join(bench.helloOf(1));
  replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status.stage, JobStatus::Stage::RollCall);
  ASSERT_EQ(replies[0].status.processes.size(), 1u);
  EXPECT_EQ(replies[0].status.processes[0].process, 1);
  bench.join(bench.helloOf(0));
  bench.receiveFrom(1, Fail{"broken", {}});
  bench.pass(1s);
  replies = bench.observe(StatusRequest{});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status.stage, JobStatus::Stage::Over);
  EXPECT_EQ(replies[0].status.verdict, bench.verdict());
  EXPECT_THAT(replies[0].status.verdict, HasSubstr("broken"));
}

TEST(Status, NeedsItsOwnTokenAndTheRightJob) {
  Bench bench(2, [](ServerOptions &options) { options.jobId = "a"; });
  EXPECT_TRUE(bench.observe(StatusRequest{}, "wrong").empty());
  EXPECT_EQ(bench.rejected(bench.observer), "wrong token");
  EXPECT_TRUE(bench.observe(StatusRequest{}, "t").empty()); // A process's token is another thing.
  EXPECT_TRUE(bench.observe(StatusRequest{true, "b"}).empty());
  EXPECT_EQ(bench.rejected(bench.observer), "another job is served there: `a`");
  EXPECT_EQ(bench.observe(StatusRequest{true, "a"}).size(), 1u);
}

// Whatever an observer says, it is no process, and the job goes on.
TEST(Status, ObserversCannotJoinOrDisturb) {
  Bench bench(2);
  bench.join(bench.helloOf(0));
  for (const Message &message : std::vector<Message>{bench.helloOf(1), Goodbye{}, Fail{"broken", {}}, Heartbeat{},
                                                     VerdictMessage{}, SetRequest{1, "k", "v"}, VitalsMessage{}}) {
    EXPECT_TRUE(bench.observe(message).empty());
    EXPECT_TRUE(bench.closed.count(bench.observer));
  }
  EXPECT_EQ(bench.machine->getStage(), Stage::RollCall);
  bench.join(bench.helloOf(1));
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
  for (int i = 0; i != 200; ++i)
    bench.observe(StatusRequest{});
  ConnectionId silent = bench.openWithToken("s", Role::Observer);
  bench.pass(6s);
  EXPECT_TRUE(bench.closed.count(silent));
  EXPECT_EQ(bench.verdict(), "none");
  // A process may not ask as an observer does: its connection is for other things.
  ConnectionId asker = bench.openWithToken();
  bench.receive(asker, StatusRequest{});
  EXPECT_TRUE(bench.closed.count(asker));
  EXPECT_TRUE(bench.all<StatusReply>(asker).empty());
  EXPECT_EQ(bench.machine->getStage(), Stage::Running);
}

} // namespace
