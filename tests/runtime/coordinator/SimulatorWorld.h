//===- SimulatorWorld.h - a simulated job -----------------------*- C++ -*-===//
//
// The state of one schedule of Simulator.h. SimulatorFaultsHelper.cpp has the faults of processes,
// SimulatorNetworkHelper.cpp the network, SimulatorHelper.cpp the invariants and the clock.
//
// `now` is the world's time, which no process knows: each has a clock with its own origin, which runs up to 1 % faster
// or slower. TCP keeps the order within a connection and repeats nothing. The state machines do not rely on that for
// messages that only report a state, so heartbeats and the launcher's reports arrive late and twice.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/MemberMachine.h"
#include "runtime/coordinator/StateMachine.h"

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>

namespace spmd::test::simulation {

using namespace coordinator;
using MemberStage = MemberMachine::Stage;

inline constexpr Milliseconds heartbeatTimeout{3000}, joinTimeout{8000}, collectiveTimeout{4000};
inline constexpr int64_t maxDelayMs = 60, maxLatenessMs = 20, maxStrayMs = 400;

/// One process of the job, with the coordinator if it serves it.
struct Process {
  int32_t id = 0;
  std::unique_ptr<MemberMachine> member;
  std::unique_ptr<StateMachine> server;
  bool alive = false;
  bool exited = false; ///< Process 0 exited, after the job was over and it had nothing left to do.
  TimePoint started;
  TimePoint stoppedUntil; ///< SIGSTOP until then.
  Position position;
  std::chrono::nanoseconds clockOffset{0};
  double clockRate = 1;
  TimePoint memberDeadline, serverDeadline; ///< As of the last pump, in the world's time.
  ConnectionId connection = 0;              ///< The connection that it uses now.
};

/// A TCP connection: two ordered streams.
struct Link {
  size_t process = 0;
  TimePoint upLast, downLast; ///< The arrival time of the last message in each direction.
  bool clientOpen = true, serverOpen = true;
};

class World {
public:
  explicit World(uint64_t seed) : random(seed), now(Clock::time_point() + std::chrono::hours(1)), begin(now) {}

  std::string run();

private:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  int64_t delay() { return chance(5) ? pick(0, maxDelayMs) : pick(0, 4); }

  void at(TimePoint when, std::function<void()> what) { events.push({when, ++lastEvent, std::move(what)}); }
  void in(int64_t milliseconds, std::function<void()> what) { at(now + Milliseconds(milliseconds), std::move(what)); }
  void violate(const std::string &what) {
    if (violation.empty())
      violation = what + " (at " + std::to_string(millisecondsBetween(begin, now)) + " ms)";
  }
  void log(const std::string &text) {
    history += "\n  " + std::to_string(millisecondsBetween(begin, now)) + " ms: " + text;
  }

  /// Convert between the world's time and that of the process's clock.
  TimePoint clock(size_t process) const;
  TimePoint worldTime(size_t process, TimePoint shown) const;
  void setClock(Process &process);

  // Faults of processes.
  void plan();
  void tryToLeave(size_t process);
  void start(size_t process);
  void kill(size_t process);
  void tell(size_t process, const ChildEndMessage &end);
  void exitWhenQuiet(TimePoint since);
  void stop(size_t process, int64_t milliseconds);
  void cut(size_t process, int64_t milliseconds);
  void blame(int32_t id) { faulty.emplace(id, now); }

  // An observer asks for the status.
  void observe();
  void hearObserver(ConnectionId connection, const std::string &bytes);

  // The network.
  void whenRunning(size_t process, std::function<void()> what);
  void connect(size_t process);
  void up(ConnectionId connection, std::function<void(StateMachine &)> what);
  void down(ConnectionId connection, std::function<void(MemberMachine &)> what);
  void deliverUp(ConnectionId connection, TimePoint when, std::function<void(StateMachine &)> what);
  void deliverDown(ConnectionId connection, TimePoint when, std::function<void(MemberMachine &)> what);
  /// Returns further arrival times of a record, out of order; none for most records.
  std::vector<TimePoint> strayArrivals(const std::string &record, size_t process);
  void breakConnection(ConnectionId connection);
  TimePoint arrival(TimePoint last, size_t process);
  void pumpMember(size_t process);
  void pumpServer();

  void checkVerdict(const Verdict &verdict, size_t process);
  void checkEnd();

  struct Event {
    TimePoint when;
    uint64_t number;
    std::function<void()> what;
    bool operator<(const Event &other) const { return std::tie(other.when, other.number) < std::tie(when, number); }
  };

  std::mt19937_64 random;
  TimePoint now, begin;
  std::priority_queue<Event> events;
  uint64_t lastEvent = 0;
  int32_t count = 0;
  bool hasLauncher = false;
  int32_t mismatched = -1;
  std::vector<Process> processes;
  std::map<ConnectionId, Link> links;
  ConnectionId lastLink = 0;
  std::map<size_t, TimePoint> cutUntil;
  std::map<ConnectionId, Opening> observers; ///< The opening of each observer that has not proven the token yet.
  std::set<ConnectionId> observed;           ///< Observers that wait for their answer.
  /// The processes that have had a fault, and when.
  std::map<int32_t, TimePoint> faulty;
  bool singleFault = true, mustEndBadly = false, splitView = false;
  TimePoint boundBegin; ///< The end must come within `bound` after this time.
  Milliseconds bound{0};
  std::map<size_t, TimePoint> endedAt;
  std::map<size_t, Verdict> verdicts;
  std::set<size_t> strays;
  std::string violation, history;
};

} // namespace spmd::test::simulation
