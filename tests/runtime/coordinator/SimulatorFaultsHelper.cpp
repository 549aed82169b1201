//===- SimulatorFaultsHelper.cpp - the faults of a simulated job ----------===//

#include "tests/runtime/coordinator/SimulatorWorld.h"

#include <algorithm>
#include <optional>

namespace spmd::test::simulation {

void World::plan() {
  count = static_cast<int32_t>(pick(2, 5));
  hasLauncher = chance(50);
  processes.resize(count);
  for (int32_t id = 0; id != count; ++id)
    processes[id].id = id;
  for (Process &process : processes)
    setClock(process);
  enum Kind {
    None,
    Kill,
    Fail,
    LongStop,
    ShortStop,
    LongCut,
    ShortCut,
    Mismatch,
    Missing,
    Stuck,
    Twin,
    Echo,
    JoinStop,
    kinds
  };
  auto kind = static_cast<Kind>(pick(0, kinds - 1));
  int32_t victim = static_cast<int32_t>(pick(0, count - 1));
  int64_t when = pick(0, 3000), leave = pick(500, 4000);
  log("kind " + std::to_string(kind) + ", " + std::to_string(count) + " processes, victim " + std::to_string(victim) +
      (hasLauncher ? ", launcher" : ""));
  for (int32_t id = 0; id != count; ++id)
    if (kind != Missing || id != victim)
      in(chance(10) ? pick(0, 1500) : pick(0, 50), [this, id] { start(id); });

  for (int64_t observers = pick(0, 3); observers > 0; --observers)
    in(pick(0, 6000), [this] { observe(); });

  auto expectBadEnd = [&](Milliseconds limit) {
    bound = limit;
    mustEndBadly = true;
  };
  // No process leaves before the fault can be noticed.
  bool stays = kind == LongStop || kind == LongCut || kind == Stuck;
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
    // The others notice the death themselves and report it, perhaps before the launcher does.
    in(when, [this, victim] { kill(victim); });
    for (int32_t id = 0; id != count; ++id)
      if (id != victim)
        in(when + pick(20, 60), [this, victim, id] {
          Process &process = processes[id];
          if (!faulty.count(victim) || !process.member || process.member->getStage() != MemberStage::Running)
            return;
          process.member->fail({"process " + std::to_string(victim) + " does not answer", process.position});
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
      // The goodbyes of others may overtake its last message.
      process.member->fail({"broken", process.position});
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
  case JoinStop: // Longer than an attempt to connect may take.
    in(pick(0, 100), [this, victim] { stop(victim, handshakeTimeout.count() + pick(100, 1500)); });
    bound = joinTimeout + Milliseconds(3500);
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
    expectBadEnd(Milliseconds(2000)); // Counted from the beginning: the last process may start after 1500 ms.
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
    // A second process has the id of another.
    processes.push_back({});
    processes.back().id = victim;
    setClock(processes.back());
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
    processes[index].member->goodbye(processes[index].position);
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
    process.server = std::make_unique<StateMachine>(serverOptions, nonce, clock(0));
  }
  if (process.server)
    process.serverDeadline = worldTime(0, process.server->nextDeadline());
  process.position.location.clear();
  process.member = std::make_unique<MemberMachine>(options, nonce, clock(index));
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
  // Without a launcher, the end of a process that never joined is only noticed at the deadline.
  bool quick = !joining || hasLauncher;
  // The others may still be starting, up to 1.5 s, and connecting.
  bound = std::max(bound, quick ? Milliseconds(3000) : joinTimeout + Milliseconds(3500));
  mustEndBadly |= joining;
  for (auto &[id, link] : links) {
    if (link.process == index && link.clientOpen) {
      link.clientOpen = false;
      up(id, [this, id = id](StateMachine &server) { server.onClosed(id, clock(0)); });
    }
    if (index == 0 && link.serverOpen) {
      link.serverOpen = false;
      down(id, [this, other = link.process](MemberMachine &member) { member.onClosed("reset", clock(other)); });
    }
  }
  if (!hasLauncher)
    return;
  ChildEndMessage end;
  end.process = process.id;
  end.pid = 1000 + static_cast<int64_t>(index);
  end.signal = 9;
  for (size_t other = 0; other != static_cast<size_t>(count); ++other)
    for (int64_t words = chance(20) ? 2 : 1; words > 0; --words)
      in(pick(0, 30), [this, other, end] { tell(other, end); });
}

/// As in the destructor of process 0's client: not before all have read the verdict, but within a short time.
void World::exitWhenQuiet(TimePoint since) {
  whenRunning(0, [this, since] {
    Process &process = processes[0];
    const StateMachine &server = *process.server;
    bool isQuiet = server.getStage() >= StateMachine::Stage::Done && server.countConnectedMembers() == 0 &&
                   server.countLatecomers() == 0;
    if (!isQuiet && now - since < Milliseconds(500))
      return in(10, [this, since] { exitWhenQuiet(since); });
    log("process 0 exits");
    process.exited = true;
    for (auto &[id, link] : links)
      if (link.serverOpen) {
        link.serverOpen = false;
        down(id, [this, other = link.process](MemberMachine &member) { member.onClosed("closed", clock(other)); });
      }
    if (!hasLauncher)
      return;
    ChildEndMessage end;
    end.pid = 1000;
    end.status = 1;
    end.verdict = process.member->getVerdict();
    for (size_t other = 1; other != static_cast<size_t>(count); ++other)
      in(pick(0, 30), [this, other, end] { tell(other, end); });
  });
}

/// A message of the launcher waits in the socket until the process reads it.
void World::tell(size_t index, const ChildEndMessage &end) {
  Process &process = processes[index];
  if (!process.member && !process.exited && process.stoppedUntil != TimePoint::max())
    return in(50, [this, index, end] { tell(index, end); });
  whenRunning(index, [this, index, end] {
    if (processes[index].server) {
      processes[index].server->onChildEnded(end, clock(0));
      pumpServer();
    }
    processes[index].member->onChildEnded(end, clock(index));
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
  log("process " + std::to_string(index) + " is disconnected for " + std::to_string(milliseconds) + " ms");
  cutUntil[index] = now + Milliseconds(milliseconds);
  if (milliseconds >= heartbeatTimeout.count()) {
    blame(processes[index].id);
    boundBegin = now;
  }
}

} // namespace spmd::test::simulation
