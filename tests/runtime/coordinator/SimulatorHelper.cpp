#include "tests/runtime/coordinator/Simulator.h"

#include "runtime/coordinator/MemberMachine.h"
#include "runtime/coordinator/StateMachine.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>

namespace spmd::test {

using namespace coordinator;
using MemberStage = MemberMachine::Stage;

namespace {

constexpr Milliseconds heartbeatTimeout{3000}, joinTimeout{8000}, collectiveTimeout{4000};
constexpr int64_t maxDelayMs = 60, maxLatenessMs = 20;

/// One process of the job, with the coordinator if it is the one that serves.
struct Process {
  int32_t id = 0;
  std::unique_ptr<MemberMachine> member;
  std::unique_ptr<StateMachine> server;
  bool alive = false;
  TimePoint started;
  TimePoint stoppedUntil; ///< SIGSTOP until then.
  Position position;
  TimePoint memberDeadline, serverDeadline; ///< As of the last pump.
  ConnectionId connection = 0;              ///< The one it uses now.
};

/// A TCP connection: two ordered streams.
struct Link {
  size_t process = 0;
  TimePoint upLast, downLast; ///< When the last message of each direction arrives.
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

  // What happens to processes.
  void plan();
  void tryToLeave(size_t process);
  void start(size_t process);
  void kill(size_t process);
  void tell(size_t process, const ChildEndMessage &end);
  void stop(size_t process, int64_t milliseconds);
  void cut(size_t process, int64_t milliseconds);
  void blame(int32_t id) { faulty.emplace(id, now); }

  // The network.
  void whenRunning(size_t process, std::function<void()> what);
  void connect(size_t process);
  void up(ConnectionId connection, std::function<void(StateMachine &)> what);
  void down(ConnectionId connection, std::function<void(MemberMachine &)> what);
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
  /// Who has really done something, and since when.
  std::map<int32_t, TimePoint> faulty;
  bool singleFault = true, mustEndBadly = false, splitView = false;
  TimePoint boundBegin; ///< From here the end must come within `bound`.
  Milliseconds bound{0};
  std::map<size_t, TimePoint> endedAt;
  std::map<size_t, Verdict> verdicts;
  std::set<size_t> strays;
  std::string violation, history;
};

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

void World::plan() {
  count = static_cast<int32_t>(pick(2, 5));
  hasLauncher = chance(50);
  processes.resize(count);
  for (int32_t id = 0; id != count; ++id)
    processes[id].id = id;
  enum Kind { None, Kill, Fail, LongStop, ShortStop, LongCut, ShortCut, Mismatch, Missing, Stuck, Twin, Echo, kinds };
  auto kind = static_cast<Kind>(pick(0, kinds - 1));
  int32_t victim = static_cast<int32_t>(pick(0, count - 1));
  int64_t when = pick(0, 3000), leave = pick(500, 4000);
  log("kind " + std::to_string(kind) + ", " + std::to_string(count) + " processes, victim " + std::to_string(victim) +
      (hasLauncher ? ", launcher" : ""));
  for (int32_t id = 0; id != count; ++id)
    if (kind != Missing || id != victim)
      in(chance(10) ? pick(0, 1500) : pick(0, 50), [this, id] { start(id); });

  auto expectBadEnd = [&](Milliseconds limit) {
    bound = limit;
    mustEndBadly = true;
  };
  bool stays = kind == LongStop || kind == LongCut || kind == Stuck; // Nobody leaves before it can be noticed.
  if (kind == Mismatch || kind == Missing)
    stays = true;
  if (!stays)
    for (int32_t id = 0; id != count; ++id)
      in(leave + pick(0, 200), [this, id] { tryToLeave(id); });

  switch (kind) {
  case None:
  case kinds:
    break;
  case Kill:
    in(when, [this, victim] { kill(victim); });
    if (chance(20)) {
      singleFault = false;
      int32_t second = static_cast<int32_t>(pick(0, count - 1));
      in(std::max<int64_t>(0, when + pick(-100, 300)), [this, second] { kill(second); });
    }
    break;
  case Echo:
    // The others notice the death by themselves and complain, which may come in first.
    in(when, [this, victim] { kill(victim); });
    for (int32_t id = 0; id != count; ++id)
      if (id != victim)
        in(when + pick(20, 60), [this, victim, id] {
          Process &process = processes[id];
          if (!faulty.count(victim) || !process.member || process.member->getStage() != MemberStage::Running)
            return;
          process.member->fail("process " + std::to_string(victim) + " does not answer", process.position);
          pumpMember(id);
        });
    break;
  case Fail:
    in(when, [this, victim] {
      Process &process = processes[victim];
      if (!process.alive || process.member->getStage() < MemberStage::RollCall || process.member->isEnded())
        return;
      log("process " + std::to_string(victim) + " fails");
      blame(victim);
      boundBegin = now;
      bound = Milliseconds(1000);
      // Its last message may be overtaken by everybody's goodbye.
      process.member->fail("broken", process.position);
      pumpMember(victim);
    });
    break;
  case LongStop:
    in(2500 + when, [this, victim] { stop(victim, heartbeatTimeout.count() + 2500); });
    expectBadEnd(heartbeatTimeout + Milliseconds(1200));
    break;
  case ShortStop:
    in(when, [this, victim] { stop(victim, pick(10, 1800)); });
    break;
  case LongCut: {
    int32_t other = std::max(victim, 1);
    in(2500 + when, [this, other] { cut(other, heartbeatTimeout.count() + 2500); });
    expectBadEnd(heartbeatTimeout + Milliseconds(1200));
    splitView = true;
    break;
  }
  case ShortCut: {
    int32_t other = std::max(victim, 1);
    in(when, [this, other] { cut(other, pick(10, 1800)); });
    break;
  }
  case Mismatch:
    expectBadEnd(Milliseconds(2000)); // From the beginning: the last may start after 1500.
    faulty.emplace(victim, begin);
    if (count == 2)
      faulty.emplace(1 - victim, begin);
    processes[victim].position.location = "mismatch";
    mismatched = victim;
    break;
  case Missing:
    expectBadEnd(joinTimeout + Milliseconds(1000));
    faulty.emplace(victim, begin);
    faulty.emplace(-1, begin);
    break;
  case Stuck:
    expectBadEnd(collectiveTimeout + Milliseconds(1200));
    in(2500, [this, victim] {
      boundBegin = now;
      blame(victim);
      for (Process &process : processes) {
        process.position = {7, process.id == victim ? 2 : 5, Position::State::Running, "f:1:1"};
      }
    });
    break;
  case Twin:
    // A second process with the id of another.
    processes.push_back({});
    processes.back().id = victim;
    strays.insert(processes.size() - 1);
    in(pick(0, 4000), [this] { start(processes.size() - 1); });
    in(leave + pick(0, 200), [this] { tryToLeave(processes.size() - 1); });
    break;
  }
  if (kind == Mismatch || kind == Missing)
    boundBegin = begin;
}

/// Says goodbye as soon as the process has joined.
void World::tryToLeave(size_t index) {
  Process &process = processes[index];
  if (millisecondsBetween(begin, now) > 20'000 || (process.member && process.member->isEnded()))
    return;
  if (!process.member || process.member->getStage() != MemberStage::Running)
    return in(100, [this, index] { tryToLeave(index); });
  whenRunning(index, [this, index] {
    processes[index].member->goodbye();
    pumpMember(index);
  });
}

void World::start(size_t index) {
  Process &process = processes[index];
  if (faulty.count(process.id) && !process.alive && process.stoppedUntil == TimePoint::max())
    return; // Killed before it started.
  process.alive = true;
  process.started = now;
  auto nonce = [this] {
    Nonce nonce;
    for (char &byte : nonce)
      byte = static_cast<char>(random());
    return nonce;
  };
  MemberOptions options;
  options.hello.processId = process.id;
  options.hello.numProcesses = count;
  options.hello.incarnation = index + 1;
  options.hello.pid = 1000 + static_cast<int64_t>(index);
  options.hello.host = "h";
  options.hello.localDeviceIds = {0};
  options.hello.columns = {{"--set N", process.position.location == "mismatch" ? "2" : "1"}};
  options.address = "sim";
  options.token = "t";
  options.initializationTimeout = joinTimeout;
  options.heartbeatTimeout = heartbeatTimeout;
  options.hasLauncher = hasLauncher && !strays.count(index);
  if (process.id == 0 && !strays.count(index)) {
    ServerOptions serverOptions;
    serverOptions.numProcesses = count;
    serverOptions.token = "t";
    serverOptions.host = "h";
    serverOptions.pid = options.hello.pid;
    serverOptions.incarnation = options.hello.incarnation;
    serverOptions.initializationTimeout = joinTimeout;
    serverOptions.heartbeatTimeout = heartbeatTimeout;
    serverOptions.collectiveTimeout = collectiveTimeout;
    serverOptions.hasLauncher = hasLauncher;
    process.server = std::make_unique<StateMachine>(serverOptions, nonce, now);
  }
  if (process.server)
    process.serverDeadline = process.server->nextDeadline();
  process.position.location.clear();
  process.member = std::make_unique<MemberMachine>(options, nonce, now);
  pumpMember(index);
}

void World::kill(size_t index) {
  Process &process = processes[index];
  if (process.member && (!process.alive || process.member->isEnded()))
    return;
  log("process " + std::to_string(index) + " is killed");
  blame(process.id);
  if (!process.member)
    process.stoppedUntil = TimePoint::max(); // It will not start.
  else
    process.stoppedUntil = now;
  bool joining = !process.member || process.member->getStage() < MemberStage::RollCall;
  process.alive = false;
  if (boundBegin == TimePoint())
    boundBegin = now;
  // Without a launcher nobody knows of one that never joined but by the deadline.
  bool quick = !joining || hasLauncher;
  // The others may still be starting, up to 1.5 s, and connecting.
  bound = std::max(bound, quick ? Milliseconds(3000) : joinTimeout + Milliseconds(3500));
  mustEndBadly |= joining;
  for (auto &[id, link] : links) {
    if (link.process == index && link.clientOpen) {
      link.clientOpen = false;
      up(id, [this, id = id](StateMachine &server) { server.onClosed(id, now); });
    }
    if (index == 0 && link.serverOpen) {
      link.serverOpen = false;
      down(id, [this](MemberMachine &member) { member.onClosed("reset", now); });
    }
  }
  if (!hasLauncher)
    return;
  ChildEndMessage end;
  end.process = process.id;
  end.pid = 1000 + static_cast<int64_t>(index);
  end.signal = 9;
  for (size_t other = 0; other != static_cast<size_t>(count); ++other)
    in(pick(0, 30), [this, other, end] { tell(other, end); });
}

/// A launcher's word waits in the socket until the process reads it.
void World::tell(size_t index, const ChildEndMessage &end) {
  Process &process = processes[index];
  if (!process.member && process.stoppedUntil != TimePoint::max())
    return in(50, [this, index, end] { tell(index, end); });
  whenRunning(index, [this, index, end] {
    if (processes[index].server) {
      processes[index].server->onChildEnded(end, now);
      pumpServer();
    }
    processes[index].member->onChildEnded(end, now);
    pumpMember(index);
  });
}

void World::stop(size_t index, int64_t milliseconds) {
  Process &process = processes[index];
  if (!process.alive || process.member->isEnded())
    return;
  log("process " + std::to_string(index) + " stops for " + std::to_string(milliseconds) + " ms");
  process.stoppedUntil = now + Milliseconds(milliseconds);
  if (milliseconds >= heartbeatTimeout.count()) {
    blame(process.id);
    boundBegin = now;
  }
}

void World::cut(size_t index, int64_t milliseconds) {
  if (!processes[index].alive || processes[index].member->isEnded())
    return;
  log("process " + std::to_string(index) + " is cut off for " + std::to_string(milliseconds) + " ms");
  cutUntil[index] = now + Milliseconds(milliseconds);
  if (milliseconds >= heartbeatTimeout.count()) {
    blame(processes[index].id);
    boundBegin = now;
  }
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

/// Now, or when the process can run again, or never.
void World::whenRunning(size_t index, std::function<void()> what) {
  Process &process = processes[index];
  if (!process.alive)
    return;
  if (process.stoppedUntil > now)
    return at(process.stoppedUntil, [this, index, what = std::move(what)] { whenRunning(index, what); });
  what();
}

TimePoint World::arrival(TimePoint last, size_t process) {
  TimePoint when = std::max(last, now);
  if (auto found = cutUntil.find(process); found != cutUntil.end())
    when = std::max(when, found->second);
  return when + Milliseconds(delay());
}

void World::up(ConnectionId id, std::function<void(StateMachine &)> what) {
  Link &link = links.at(id);
  link.upLast = arrival(link.upLast, link.process);
  at(link.upLast, [this, what = std::move(what)] {
    whenRunning(0, [this, what] {
      what(*processes[0].server);
      pumpServer();
    });
  });
}

void World::down(ConnectionId id, std::function<void(MemberMachine &)> what) {
  Link &link = links.at(id);
  link.downLast = arrival(link.downLast, link.process);
  at(link.downLast, [this, id, index = link.process, what = std::move(what)] {
    whenRunning(index, [this, id, index, what] {
      if (processes[index].connection != id || !links.at(id).clientOpen)
        return;
      what(*processes[index].member);
      pumpMember(index);
    });
  });
}

void World::connect(size_t index) {
  in(delay(), [this, index] {
    whenRunning(index, [this, index] {
      Process &process = processes[index];
      if (!processes[0].alive) {
        process.member->onConnectFailed("refused", now);
        return pumpMember(index);
      }
      ConnectionId id = ++lastLink;
      links[id].process = index;
      links[id].upLast = links[id].downLast = now;
      process.connection = id;
      up(id, [this, id](StateMachine &server) { server.onOpened(id, "sim", now); });
      process.member->onConnected(now);
      pumpMember(index);
    });
  });
}

/// One Send is one record: the handshake's have fixed sizes, all others a header.
std::string recordOf(const std::string &bytes) {
  bool handshake = bytes.size() == openingBytes || bytes.size() == challengeBytes;
  bool isFrame = bytes.size() > frameHeaderBytes && static_cast<unsigned char>(bytes[0]) +
                                                            256u * static_cast<unsigned char>(bytes[1]) +
                                                            65536u * static_cast<unsigned char>(bytes[2]) ==
                                                        bytes.size() - frameHeaderBytes;
  return handshake && !isFrame ? bytes : bytes.substr(frameHeaderBytes);
}

void World::pumpMember(size_t index) {
  Process &process = processes[index];
  for (MemberAction &action : process.member->takeActions()) {
    Link *link = process.connection ? &links.at(process.connection) : nullptr;
    switch (action.kind) {
    case MemberAction::Kind::Connect:
      connect(index);
      break;
    case MemberAction::Kind::Send:
      if (link && link->clientOpen)
        up(process.connection, [this, id = process.connection, record = recordOf(action.bytes)](StateMachine &server) {
          server.onRecord(id, record, now);
        });
      break;
    case MemberAction::Kind::Close:
      if (link && link->clientOpen) {
        link->clientOpen = false;
        up(process.connection, [this, id = process.connection](StateMachine &server) { server.onClosed(id, now); });
      }
      break;
    }
  }
  process.memberDeadline = process.member->nextDeadline();
  if (process.member->isEnded() && endedAt.emplace(index, now).second && process.member->getVerdict())
    checkVerdict(*process.member->getVerdict(), index);
}

void World::pumpServer() {
  StateMachine &server = *processes[0].server;
  processes[0].serverDeadline = server.nextDeadline();
  for (ServerAction &action : server.takeActions()) {
    Link &link = links.at(action.connection);
    if (!link.serverOpen)
      continue;
    if (action.kind == ServerAction::Kind::Send) {
      down(action.connection,
           [this, record = recordOf(action.bytes)](MemberMachine &member) { member.onRecord(record, now); });
      continue;
    }
    link.serverOpen = false;
    down(action.connection, [this](MemberMachine &member) { member.onClosed("closed", now); });
    // The other side answers by closing too, or is given up.
    in(1000, [this, id = action.connection] {
      whenRunning(0, [this, id] {
        processes[0].server->onClosed(id, now);
        pumpServer();
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// Invariants
//===----------------------------------------------------------------------===//

void World::checkVerdict(const Verdict &verdict, size_t index) {
  std::string text = "process " + std::to_string(index) + " hears `" + verdict.str() + "`";
  log(text);
  verdicts.emplace(index, verdict);
  auto found = faulty.find(verdict.culprit);
  if (splitView && index == static_cast<size_t>(faulty.begin()->first) && verdict.culprit == 0)
    return; // Who is cut off sees process 0 vanish.
  // Of two hellos that differ nobody can say who is wrong: the text must name both.
  if (verdict.cause == Verdict::Cause::Mismatch && !faulty.empty() &&
      verdict.text.find("`2` on process " + std::to_string(mismatched)) != std::string::npos)
    return;
  if (verdict.cause == Verdict::Cause::Missing && verdict.culprit < 0 && faulty.size() > 1)
    return; // Several are missing, so none is the culprit.
  if (faulty.empty())
    violate(text + " though nothing happened");
  else if (found == faulty.end())
    violate(text + " but that process did nothing");
  else if (found->second > now)
    violate(text + " too early");
}

void World::checkEnd() {
  bool anyLeft = false;
  for (size_t index = 0; index != processes.size(); ++index) {
    Process &process = processes[index];
    std::string who = "process " + std::to_string(index);
    if (!process.alive || !process.member)
      continue;
    if (!process.member->isEnded()) {
      violate(who + " never ends");
      continue;
    }
    MemberStage end = process.member->getStage();
    anyLeft |= end == MemberStage::Left;
    if (strays.count(index) || (end == MemberStage::Refused && !strays.empty()))
      continue;
    bool itself = faulty.count(process.id) != 0;
    // Who starts late, process 0 above all, hears late.
    TimePoint limit = std::max({boundBegin, process.started, processes[0].started}) + bound;
    if (faulty.empty() && end != MemberStage::Left)
      violate(who + " does not end well though nothing happened: " + process.member->getRefusal());
    if (mustEndBadly && end == MemberStage::Left)
      violate(who + " ends well");
    if (end == MemberStage::Over && !itself && endedAt.at(index) > limit)
      violate(who + " hears the verdict " + std::to_string(millisecondsBetween(boundBegin, endedAt.at(index))) +
              " ms after the fault, but the bound is " + std::to_string(bound.count()));
  }
  if (singleFault && !splitView && verdicts.size() > 1)
    for (const auto &[index, verdict] : verdicts) {
      const Verdict &first = verdicts.begin()->second;
      bool alike = verdict.culprit == first.culprit && verdict.cause == first.cause && verdict.pid == first.pid &&
                   verdict.host == first.host;
      // The culprit itself may have been told by nobody but its own clock.
      if (!alike && !faulty.count(processes[index].id) && !faulty.count(processes[verdicts.begin()->first].id))
        violate("two verdicts: `" + first.str() + "` and `" + verdict.str() + "`");
    }
  if (anyLeft && singleFault && !verdicts.empty()) {
    // All or nobody: a farewell and a verdict of one job exclude each other, unless the coordinator died between them.
    if (!faulty.count(0))
      violate("some leave in order, and others hear a verdict");
  }
  // Ids are unique: per id one process was admitted, and all see the same.
  std::map<int32_t, int> admitted;
  const Topology *topology = nullptr;
  for (const Process &process : processes) {
    if (!process.member || process.member->getTopology().processes.empty())
      continue;
    ++admitted[process.id];
    const Topology &mine = process.member->getTopology();
    if (!topology)
      topology = &mine;
    for (size_t i = 0; i != mine.processes.size(); ++i)
      if (mine.processes[i].pid != topology->processes[i].pid ||
          mine.processes[i].firstDevice != static_cast<int64_t>(i))
        violate("two topologies differ");
  }
  for (auto [id, number] : admitted)
    if (number > 1)
      violate("id " + std::to_string(id) + " was given twice");
}

std::string World::run() {
  plan();
  TimePoint end = now + std::chrono::seconds(40);
  while (violation.empty()) {
    TimePoint next = events.empty() ? never : events.top().when;
    // Whose clock is next?
    size_t ticking = processes.size();
    bool serverTicks = false;
    for (size_t i = 0; i != processes.size(); ++i) {
      Process &process = processes[i];
      if (!process.alive || !process.member)
        continue;
      auto consider = [&](TimePoint deadline, bool isServer) {
        deadline = std::max(std::max(deadline, now), process.stoppedUntil);
        // Who wakes up may look at its clock first or at what has come in.
        if (deadline < next || (deadline == next && chance(50))) {
          next = deadline;
          ticking = i;
          serverTicks = isServer;
        }
      };
      if (!process.member->isEnded())
        consider(process.memberDeadline, false);
      if (process.server && process.server->getStage() < StateMachine::Stage::Done)
        consider(process.serverDeadline, true);
    }
    if (next == never || next > end)
      break;
    if (ticking == processes.size()) {
      Event event = events.top();
      events.pop();
      now = std::max(now, event.when);
      event.what();
      continue;
    }
    now = next + std::chrono::microseconds(pick(0, 1000) * (chance(5) ? maxLatenessMs : 1));
    if (serverTicks) {
      processes[0].server->tick(now);
      pumpServer();
    } else {
      processes[ticking].member->tick(processes[ticking].position, now);
      pumpMember(ticking);
    }
  }
  if (violation.empty())
    checkEnd();
  return violation.empty() ? "" : violation + history;
}

} // namespace

std::string simulate(uint64_t seed) { return World(seed).run(); }

} // namespace spmd::test
