//===- SimulatorHelper.cpp - clock and invariants of a simulated job ------===//

#include "tests/runtime/coordinator/Simulator.h"

#include "tests/runtime/coordinator/SimulatorWorld.h"

#include <algorithm>
#include <cmath>

namespace spmd::test::simulation {

void World::checkVerdict(const Verdict &verdict, size_t index) {
  std::string text = "process " + std::to_string(index) + " hears `" + verdict.str() + "`";
  log(text);
  verdicts.emplace(index, verdict);
  auto found = faulty.find(verdict.culprit);
  if (splitView && index == static_cast<size_t>(faulty.begin()->first) && verdict.culprit == 0)
    return; // A disconnected process sees process 0 vanish.
  // If two hellos differ, it is not known which one is wrong: the text must name both.
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
    // A process that starts late, in particular process 0, learns of the verdict late.
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
      // The culprit itself may know the verdict only from its own clock.
      if (!alike && !faulty.count(processes[index].id) && !faulty.count(processes[verdicts.begin()->first].id))
        violate("two verdicts: `" + first.str() + "` and `" + verdict.str() + "`");
    }
  if (anyLeft && singleFault && !verdicts.empty()) {
    // Either all leave in order or none does: a farewell and a verdict of one job exclude each other, unless the
    // coordinator died between them.
    if (!faulty.count(0))
      violate("some leave in order, and others hear a verdict");
  }
  // Ids are unique: one process is admitted for each id, and all see the same topology.
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

void World::setClock(Process &process) {
  process.clockOffset = Milliseconds(pick(0, int64_t(10) * 24 * 3600 * 1000));
  process.clockRate = 1 + static_cast<double>(pick(-10'000, 10'000)) * 1e-6;
}

TimePoint World::clock(size_t index) const {
  const Process &process = processes[index];
  double passed = static_cast<double>((now - begin).count()) * process.clockRate;
  return begin + process.clockOffset + std::chrono::nanoseconds(std::llround(passed));
}

/// Returns a time a microsecond later, so that the process's clock shows at least `shown`.
TimePoint World::worldTime(size_t index, TimePoint shown) const {
  if (shown == never)
    return never;
  const Process &process = processes[index];
  double passed = static_cast<double>((shown - begin - process.clockOffset).count()) / process.clockRate;
  return begin + std::chrono::nanoseconds(std::llround(passed)) + std::chrono::microseconds(1);
}

std::string World::run() {
  plan();
  TimePoint end = now + std::chrono::seconds(40);
  while (violation.empty()) {
    TimePoint next = events.empty() ? never : events.top().when;
    // Finds the process whose timer is next.
    size_t ticking = processes.size();
    bool serverTicks = false;
    for (size_t i = 0; i != processes.size(); ++i) {
      Process &process = processes[i];
      if (!process.alive || !process.member)
        continue;
      auto consider = [&](TimePoint deadline, bool isServer) {
        deadline = std::max(std::max(deadline, now), process.stoppedUntil);
        // A process that wakes up may look first at its clock or at the received messages.
        if (deadline < next || (deadline == next && chance(50))) {
          next = deadline;
          ticking = i;
          serverTicks = isServer;
        }
      };
      if (!process.member->isEnded())
        consider(process.memberDeadline, false);
      if (process.server && !process.exited && process.server->getStage() < StateMachine::Stage::Done)
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
      processes[0].server->tick(clock(0));
      pumpServer();
    } else {
      processes[ticking].member->tick(processes[ticking].position, clock(ticking));
      pumpMember(ticking);
    }
  }
  if (violation.empty())
    checkEnd();
  return violation.empty() ? "" : violation + history;
}

} // namespace spmd::test::simulation

std::string spmd::test::simulate(uint64_t seed) { return simulation::World(seed).run(); }
