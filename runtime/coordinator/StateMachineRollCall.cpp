// The coordinator while processes join: which ones may join, and whether all were started with the same program and
// options.

#include "runtime/coordinator/Describe.h"
#include "runtime/coordinator/RollCall.h"
#include "runtime/coordinator/StateMachine.h"
#include "runtime/support/CountText.h"

#include <utility>

namespace spmd::coordinator {

std::string StateMachine::describe(int32_t process) const {
  auto found = members.find(process);
  return found == members.end() ? describeProcess(process, "", 0)
                                : describeProcess(process, found->second.hello.host, found->second.hello.pid);
}

/// Returns why a process may not join; nullopt: it may. The job goes on in any case.
std::optional<std::string> StateMachine::refusal(const Hello &hello) const {
  std::string server = describeProcess(0, options.host, options.pid);
  auto quoted = [](const std::string &jobId) { return jobId.empty() ? "without an id" : "`" + jobId + "`"; };
  if (hello.jobId != options.jobId)
    return "another job is served at this address: the job " + quoted(options.jobId) + " of " + server +
           ", while this process belongs to the job " + quoted(hello.jobId) + ": choose another port";
  auto taken = [](const std::string &holder) {
    return holder + " is already in the job: each process needs its own process_id, and each job its own port";
  };
  if (hello.processId == 0 && hello.incarnation != options.incarnation)
    return taken(server);
  if (members.count(hello.processId))
    return taken(describe(hello.processId));
  if (stage != Stage::RollCall)
    return "the job of " + server + " has already started with " +
           countText(options.numProcesses, "process", "processes") + ": process " + std::to_string(hello.processId) +
           " is not among them";
  return std::nullopt;
}

void StateMachine::onHello(ConnectionId id, Connection &connection, Hello hello, TimePoint now) {
  if (hello.processId < 0 || hello.processId >= maxProcesses || hello.processId >= hello.numProcesses ||
      hello.localDeviceIds.empty())
    return onMalformed(id, "a hello out of range", now);
  if (hello.jobId == options.jobId && stage == Stage::Over) {
    send(id, VerdictMessage{*verdict});
    toldLate.insert(hello.processId);
    return close(id);
  }
  if (std::optional<std::string> why = refusal(hello)) {
    warnProcess0("process " + std::to_string(hello.processId) + " at " + connection.address + " (pid " +
                 std::to_string(hello.pid) + ") was refused: " + *why);
    return reject(id, *why);
  }
  int32_t process = hello.processId;
  connection.phase = Phase::Member;
  connection.process = process;
  unassigned.erase(id);
  // One limit for all: the shortest initialization timeout ends the roll call.
  joinDeadline = std::min(joinDeadline, after(now, hello.remainingMs));
  Member &member = members[process];
  member.connection = id;
  member.address = connection.address;
  member.hello = std::move(hello);
  member.lastHeard = member.positionSince = now;
  send(id, Welcome{options.host, options.pid});
  if (process == 0 && !earlyWarning.empty())
    warnProcess0(std::exchange(earlyWarning, ""));
  if (!member.hello.failure.empty()) {
    Fail report{member.hello.failure, member.position};
    return addCandidate(process, &report, now);
  }
  compareWithReference(member, now);
  if (mismatchDeadline == never && haveAllJoined() && candidates.empty())
    beginRunning();
  else if (mismatchDeadline != never)
    decide(now);
}

/// Keeps the columns only if they differ, so that memory does not grow with the number of processes.
void StateMachine::compareWithReference(Member &member, TimePoint now) {
  int32_t process = member.hello.processId;
  if (reference < 0)
    reference = process;
  const Hello &first = members.at(reference).hello;
  bool countFits = member.hello.numProcesses == options.numProcesses && process < options.numProcesses;
  if (process != reference) {
    bool same = !compareHellos({{reference, first}, {process, member.hello}});
    if (same) {
      member.hello.columns.clear();
      member.likeReference = true;
    }
    countFits &= same;
  }
  if (!countFits)
    mismatchDeadline = std::min(mismatchDeadline, now + mismatchSettle);
}

std::vector<int32_t> StateMachine::missingProcesses() const {
  std::vector<int32_t> missing;
  for (int32_t process = 0; process != options.numProcesses; ++process)
    if (!members.count(process))
      missing.push_back(process);
  return missing;
}

bool StateMachine::haveAllJoined() const {
  return members.size() >= static_cast<size_t>(options.numProcesses) && missingProcesses().empty();
}

void StateMachine::progressOfRollCall(TimePoint now) {
  std::vector<int32_t> missing = missingProcesses();
  std::string count = " of " + std::to_string(options.numProcesses);
  if (now >= joinDeadline) {
    Verdict late;
    late.cause = Verdict::Cause::Missing;
    late.culprit = missing.size() == 1 ? missing.front() : -1;
    late.text = describeProcesses(missing) + count + " did not join within " +
                formatSeconds(options.initializationTimeout.count()) +
                " (initialization_timeout): were they started, and with this coordinator address and token?";
    return conclude(std::move(late));
  }
  if (now < nextProgress)
    return;
  nextProgress = now + progressInterval;
  broadcast(NoticeMessage{
      {Notice::Level::Info, "waiting for " + describeProcesses(missing) + count + " to join (" +
                                std::to_string(millisecondsBetween(start, now) / 1000) + " s of " +
                                std::to_string((millisecondsBetween(start, joinDeadline) + 500) / 1000) + " s)"}});
}

void StateMachine::beginRunning() {
  stage = Stage::Running;
  TopologyMessage message;
  for (auto &[process, member] : members) {
    ProcessInfo info;
    info.index = process;
    info.host = member.hello.host;
    info.bootId = member.hello.bootId;
    info.address = member.address;
    info.pid = member.hello.pid;
    info.localDeviceIds = member.hello.localDeviceIds;
    message.topology.processes.push_back(std::move(info));
    member.hello.columns.clear();
  }
  broadcast(message);
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

void StateMachine::onProgramDetails(int32_t process, ProgramDetails details) {
  const std::string &digest = members.at(process).hello.programDigest;
  if (auto asked = detailsAskedOf.find(process); asked != detailsAskedOf.end()) {
    detailsAskedOf.erase(asked);
    programDetails[digest] = std::move(details.items);
  }
}

/// Asks one process of each program what it was compiled from. Returns whether to wait for the answers.
bool StateMachine::askForDetails(const std::map<int32_t, Hello> &hellos, TimePoint now) {
  if (hasAskedForDetails)
    return !detailsAskedOf.empty() && now < mismatchDeadline;
  for (int32_t process : findDifferentPrograms(hellos))
    if (const Member &member = members.at(process); member.connected) {
      send(member.connection, ProgramDetailsRequest{});
      detailsAskedOf.insert(process);
    }
  hasAskedForDetails = true;
  if (detailsAskedOf.empty())
    return false;
  mismatchDeadline = now + detailsTimeout;
  return true;
}

void StateMachine::decideMismatch(TimePoint now) {
  if (mismatchDeadline == never || (now < mismatchDeadline && !haveAllJoined()))
    return;
  std::map<int32_t, Hello> hellos;
  for (const auto &[process, member] : members) {
    if (!member.hello.failure.empty())
      continue;
    Hello &hello = hellos[process] = member.hello;
    if (member.likeReference)
      hello.columns = members.at(reference).hello.columns;
  }
  bool isLate = now >= mismatchDeadline;
  if (askForDetails(hellos, now))
    return;
  if (std::optional<Verdict> mismatch = compareHellos(hellos, programDetails))
    return conclude(std::move(*mismatch));
  // All hellos agree with one another, but not with process 0, which has not said hello yet.
  if (!isLate)
    return;
  const Hello &hello = hellos.begin()->second;
  Verdict count = blame(hello.processId, Verdict::Cause::Mismatch);
  count.text = "the processes were started with different options: num_processes differs: `" +
               std::to_string(options.numProcesses) + "` on " + describeProcess(0, options.host, options.pid) + "; `" +
               std::to_string(hello.numProcesses) + "` on " + describe(hello.processId);
  conclude(std::move(count));
}

} // namespace spmd::coordinator
