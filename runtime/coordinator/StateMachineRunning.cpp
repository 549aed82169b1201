// The coordinator while the job runs: requests, heartbeats, and the verdict.

#include "runtime/coordinator/Describe.h"
#include "runtime/coordinator/StateMachine.h"

#include <algorithm>
#include <tuple>

namespace spmd::coordinator {

/// Added to the limit for collectives. If no data passes between two hosts, their devices report it at that limit, and
/// know more about the cause.
constexpr Milliseconds stuckSettle{500};

//===----------------------------------------------------------------------===//
// Messages of members
//===----------------------------------------------------------------------===//

void StateMachine::broadcast(const Message &message) {
  std::string bytes = encode(message);
  for (const auto &[process, member] : members)
    if (member.connected)
      actions.push_back({ServerAction::Kind::Send, member.connection, bytes});
}

void StateMachine::deliver(const std::vector<Answer> &answers) {
  for (const Answer &answer : answers)
    if (const Member &member = members.at(answer.to.process); member.connected)
      send(member.connection, Reply{answer.to.request, answer.ok, answer.text});
}

void StateMachine::move(Member &member, const Position &position, TimePoint now) {
  // A process that has said goodbye stays Leaving, whatever its heartbeats still report.
  if (member.position.state == Position::State::Leaving || member.position == position)
    return;
  if (member.hello.processId == 0 && member.position.launch == 0 && position.launch > 0)
    heartbeats.hurry(now); // So that the others know the position of process 0 as well as it knows theirs.
  member.position = position;
  member.positionSince = now;
}

void StateMachine::onHostPosition(const Position &position, TimePoint now) {
  if (auto host = members.find(0); host != members.end() && !isEnded())
    move(host->second, position, now);
}

void StateMachine::onMemberMessage(int32_t process, Message message, TimePoint now) {
  Member &member = members.at(process);
  member.lastHeard = now;
  if (isEnded())
    return;
  if (auto *heartbeat = std::get_if<Heartbeat>(&message))
    return move(member, heartbeat->position, now);
  if (auto *counted = std::get_if<ProcessStatisticsMessage>(&message)) {
    member.statistics = counted->statistics;
    member.rate.add(static_cast<double>(member.statistics.stepsDone >= 0
                                            ? static_cast<uint64_t>(member.statistics.stepsDone)
                                            : member.statistics.launches),
                    now);
    return;
  }
  if (auto *fail = std::get_if<Fail>(&message)) {
    if (fail->culprit && (*fail->culprit < -1 || *fail->culprit >= options.numProcesses))
      return onMalformed(member.connection, "a failure of a process that does not exist", now);
    move(member, fail->position, now);
    return addCandidate(process, fail, now);
  }
  if (auto *missed = std::get_if<Missed>(&message)) {
    if (!members.count(missed->process) || missed->process == process)
      return onMalformed(member.connection, "a wait for a process that it cannot wait for", now);
    Fail complaint;
    complaint.text = missed->text;
    return addCandidate(process, &complaint, now, missed->process);
  }
  if (auto *over = std::get_if<VerdictMessage>(&message)) {
    // This process was stopped for so long that the others have concluded without it.
    if (over->verdict.culprit == 0 && over->verdict.cause == Verdict::Cause::Hung)
      return conclude(std::move(over->verdict));
    return onMalformed(member.connection, "a verdict that only the coordinator may give", now);
  }
  if (auto *details = std::get_if<ProgramDetails>(&message)) {
    onProgramDetails(process, std::move(*details));
    return decide(now);
  }
  if (stage != Stage::Running)
    return onMalformed(member.connection, "a request before the roll call was over", now);

  std::vector<Answer> answers;
  if (auto *set = std::get_if<SetRequest>(&message)) {
    store.set({process, set->request}, set->key, set->value, answers);
  } else if (auto *wait = std::get_if<WaitRequest>(&message)) {
    if (!members.count(wait->setter))
      return onMalformed(member.connection, "a wait for a process that does not exist", now);
    store.wait(process, *wait, answers, now);
    deliver(answers);
    if (members.at(wait->setter).position.state == Position::State::Leaving)
      endWaitsFor(wait->setter, now);
    return endDeadlock(process, now);
  } else if (auto *delays = std::get_if<Delays>(&message)) {
    if (!members.count(delays->process) || delays->process == process)
      return onMalformed(member.connection, "a delay of a process that it cannot delay", now);
    return onDelays(process, std::move(*delays), now);
  } else if (auto *remove = std::get_if<RemoveRequest>(&message)) {
    store.removePrefix({process, remove->request}, remove->prefix, answers);
  } else if (auto *barrier = std::get_if<BarrierRequest>(&message)) {
    barriers.arrive({process, barrier->request}, barrier->name, barrier->isOnlyThread, after(now, barrier->timeoutMs),
                    answers, now);
    deliver(answers);
    return endDeadlock(process, now);
  } else if (std::holds_alternative<Goodbye>(message)) {
    if (member.position.state == Position::State::Leaving)
      return;
    member.position.state = Position::State::Leaving;
    member.position.location.clear();
    barriers.leave(process, answers);
    broadcast(Departed{process});
    endWaitsFor(process, now);
  } else {
    return onMalformed(member.connection, "a frame that only the coordinator sends", now);
  }
  deliver(answers);
  finishIfAllLeft();
}

void StateMachine::finishIfAllLeft() {
  for (const auto &[process, member] : members)
    if (member.position.state != Position::State::Leaving || !member.connected)
      return;
  stage = Stage::Done;
  broadcast(Farewell{});
  for (const auto &[process, member] : members)
    close(member.connection);
}

//===----------------------------------------------------------------------===//
// Hanging and stuck processes
//===----------------------------------------------------------------------===//

void StateMachine::checkHeartbeats(TimePoint now) {
  const Member *silent = nullptr;
  for (const auto &[process, member] : members)
    if (member.connected && (!silent || member.lastHeard < silent->lastHeard))
      silent = &member;
  nextSilence = silent ? silent->lastHeard + options.heartbeatTimeout : never;
  if (now < nextSilence)
    return;
  Verdict hung = blame(silent->hello.processId, Verdict::Cause::Hung);
  hung.detail = millisecondsBetween(silent->lastHeard, now);
  conclude(std::move(hung));
}

/// The job is stuck if no process moves and not all are at the same position, unless no process has anything to do:
/// then positions are those at which the last launches ended, which may differ. Processes that are all at one position
/// may be computing; a process that has said goodbye has nothing left to do. If all stay before their first step, a
/// warning says so after a while, but none is behind the others, so there is no culprit.
void StateMachine::checkStuck(TimePoint now) {
  std::map<std::string, std::vector<int32_t>> places;
  const Member *behind = nullptr;
  TimePoint moved = start;
  bool waiting = false, isBusy = false, hasRun = false;
  for (const auto &[process, member] : members) {
    const Position &position = member.position;
    if (position.state == Position::State::Leaving)
      continue;
    moved = std::max(moved, member.positionSince);
    bool waits = position.state == Position::State::Waiting;
    waiting |= waits;
    isBusy |= waits || position.state == Position::State::Running;
    hasRun |= position.state == Position::State::Idle;
    places[(waits ? "waiting, " : "") + position.str()].push_back(process);
    auto key = [](const Position &p) { return std::tuple(p.state == Position::State::Waiting, p.launch, p.step); };
    if (!behind || key(position) < key(behind->position))
      behind = &member;
  }
  bool areTogether = places.size() < 2;
  bool isIdle = hasRun && !isBusy;
  bool mayCompute = areTogether && (!behind || behind->position.state != Position::State::Joining);
  // Barriers and the store have time limits of their own. A limit shorter than that of the warning would be
  // meaningless: positions are only known from heartbeats.
  bool isLimited = !areTogether && !isIdle && !waiting && options.collectiveTimeout.count() > 0;
  nextStuck = isLimited ? after(moved + stuckSettle, std::max(options.collectiveTimeout, stuckWarning).count()) : never;
  if (isIdle || mayCompute || now - moved < (areTogether ? startWarning : stuckWarning)) {
    nextStuckWarning = never;
    return;
  }
  auto list = [&](const std::string &without) {
    std::string text;
    for (const auto &[place, processes] : places)
      if (place != without)
        text += (text.empty() ? "" : "; ") + describeProcesses(processes) + ": " + place;
    return text;
  };
  if (now >= nextStuck) {
    Verdict stuck = blame(behind->hello.processId, Verdict::Cause::Stuck);
    stuck.detail = millisecondsBetween(moved, now);
    stuck.text = ", while others are elsewhere (" + list(behind->position.str()) + ")";
    return conclude(std::move(stuck));
  }
  if (nextStuckWarning != never && now < nextStuckWarning)
    return;
  nextStuckWarning = now + stuckRepeat;
  broadcast(NoticeMessage{
      {Notice::Level::Warning,
       "the job has not moved for " + std::to_string(millisecondsBetween(moved, now) / 1000) + " s: " + list("")}});
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

void StateMachine::onChildEnded(const ChildEndMessage &end, TimePoint now) {
  advance(now);
  if (isEnded() || end.process < 0 || end.process >= options.numProcesses)
    return;
  ends.emplace(end.process, end);
  addCandidate(end.process, nullptr, now);
}

void StateMachine::addCandidate(int32_t process, const Fail *report, TimePoint now, int32_t awaited) {
  auto [found, isNew] = candidates.emplace(process, Candidate{now, !report, report ? *report : Fail(), awaited});
  // The first event of a process counts, except that its own last message, which may arrive after the launcher's
  // report, replaces that report.
  if (!isNew && found->second.died && report) {
    found->second.died = false;
    found->second.report = *report;
  }
  decide(now);
}

const std::pair<const int32_t, StateMachine::Candidate> *StateMachine::findFirstCandidate() const {
  const std::pair<const int32_t, Candidate> *prime = nullptr;
  for (const auto &entry : candidates) {
    auto key = [](const Candidate &candidate) {
      return std::tuple(!candidate.died, candidate.awaited >= 0, candidate.at);
    };
    if (!prime || key(entry.second) < key(prime->second))
      prime = &entry;
  }
  return prime;
}

/// The awaited process may wait for another one: returns the complaint about a process that does not complain itself.
const StateMachine::Candidate &StateMachine::lastComplaint(const Candidate &first) const {
  const Candidate *last = &first;
  std::set<int32_t> passed;
  for (auto next = candidates.find(first.awaited); next != candidates.end() && next->second.awaited >= 0;
       next = candidates.find(last->awaited)) {
    if (!passed.insert(next->first).second)
      break;
    last = &next->second;
  }
  return *last;
}

TimePoint StateMachine::decisionTime() const {
  const auto *prime = findFirstCandidate();
  if (!prime)
    return mismatchDeadline;
  const auto &[process, candidate] = *prime;
  if (!candidate.died)
    return candidate.at + failSettle;
  auto member = members.find(process);
  bool silenced = member == members.end() || !member->second.connected; // None of its messages is still on its way.
  bool explained = !options.hasLauncher || ends.count(process);
  // The process ended before its hello was read, which may still arrive.
  if (member == members.end())
    return candidate.at + failSettle;
  return silenced && explained ? candidate.at : candidate.at + deathSettle;
}

void StateMachine::decide(TimePoint now) {
  if (isEnded())
    return;
  decideMismatch(now);
  if (isEnded())
    return;
  const auto *prime = findFirstCandidate();
  if (!prime || now < decisionTime())
    return;
  const auto &[process, candidate] = *prime;
  if (candidate.awaited >= 0) {
    const Candidate &complaint = lastComplaint(candidate);
    Verdict stuck = blame(complaint.awaited, Verdict::Cause::Stuck);
    stuck.text = complaint.report.text;
    return conclude(std::move(stuck));
  }
  if (!candidate.died)
    return conclude(verdictOf(candidate));
  auto end = ends.find(process);
  if (end == ends.end())
    return conclude(blame(process, Verdict::Cause::Lost));
  bool killed = end->second.signal != 0;
  Verdict died = blame(process, killed ? Verdict::Cause::Killed : Verdict::Cause::Exited);
  died.detail = killed ? end->second.signal : end->second.status;
  if (died.pid == 0)
    died.pid = end->second.pid;
  if (died.host.empty())
    died.host = options.host; // The launcher's children are on this host.
  conclude(std::move(died));
}

/// If several processes report the same (one file that all read, for example), the verdict names the one with the
/// smallest id, so that it does not depend on timing.
Verdict StateMachine::verdictOf(const Candidate &reported) const {
  const auto &[process, first] = *std::find_if(candidates.begin(), candidates.end(), [&](const auto &entry) {
    return !entry.second.died && entry.second.awaited < 0 && entry.second.report.text == reported.report.text &&
           entry.second.report.signal == reported.report.signal;
  });
  Verdict failed = blame(first.report.culprit.value_or(process),
                         first.report.signal != 0 ? Verdict::Cause::Interrupted : Verdict::Cause::Failed);
  failed.detail = first.report.signal;
  failed.text = first.report.text;
  if (failed.culprit == process) // The position at the report: its other devices may have moved on since.
    failed.position = first.report.position;
  return failed;
}

Verdict StateMachine::blame(int32_t process, Verdict::Cause cause) const {
  Verdict result;
  result.culprit = process;
  result.cause = cause;
  if (auto found = members.find(process); found != members.end()) {
    result.host = found->second.hello.host;
    result.pid = found->second.hello.pid;
    result.position = found->second.position;
  }
  return result;
}

void StateMachine::conclude(Verdict decided) {
  if (isEnded())
    return;
  endedAtRollCall = stage == Stage::RollCall;
  stage = Stage::Over;
  verdict = std::move(decided);
  broadcast(VerdictMessage{*verdict});
  for (const auto &[process, member] : members)
    if (member.connected)
      close(member.connection);
}

} // namespace spmd::coordinator
