//===- ShmCommunicator.cpp - communicators of one host --------------------===//

#include "runtime/collective/shm/ShmCommunicator.h"
#include "runtime/collective/CollectiveIdentity.h"
#include "runtime/collective/shm/ShmCall.h"
#include "runtime/support/Error.h"
#include "runtime/support/LeaveCore.h"

#include <algorithm>
#include <cstring>

namespace spmd::shm {
namespace {

/// How often a sleeping waiter checks the health of the job.
constexpr std::chrono::milliseconds pollInterval(20);

uint64_t hashMembers(const std::vector<int64_t> &members, BarrierUse use) {
  uint64_t hash = 0xcbf29ce484222325u;
  auto add = [&](uint64_t word) {
    for (int byte = 0; byte < 8; ++byte)
      hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3u;
  };
  add(static_cast<uint64_t>(use));
  for (int64_t member : members)
    add(static_cast<uint64_t>(member));
  return hash == 0 ? 1 : hash;
}

/// The arrivals at which a barrier is complete, modulo 2^32: a job of some days has more of them.
uint32_t targetOf(const GroupState &group, uint64_t barrier) {
  return static_cast<uint32_t>(group.members.size() * (barrier / barrierRing + 1));
}

bool isComplete(const GroupState &group, uint64_t barrier) {
  uint32_t arrived = group.shared->arrived[barrier % barrierRing].load(std::memory_order_acquire);
  return static_cast<int32_t>(arrived - targetOf(group, barrier)) >= 0;
}

} // namespace

void addCall(std::vector<AwaitedCall> &calls, AwaitedCall call) {
  auto isSame = [&](const AwaitedCall &known) { return known.process == call.process; };
  if (std::none_of(calls.begin(), calls.end(), isSame))
    calls.push_back(std::move(call));
}

std::string describeCall(const CollectiveDesc &desc, const CallSite &site) {
  std::string text = (site.name.empty() ? describeCollective(desc) : site.name) + " at " + site.location.str();
  return site.step < 0 ? text : text + " (step " + std::to_string(site.step) + ")";
}

uint64_t fingerprintCall(const MeshShape &mesh, const CollectiveDesc &desc, const CallSite &site) {
  return fingerprintCollective(mesh, desc) ^ (site.program * 0x9e3779b97f4a7c15u) ^
         (static_cast<uint64_t>(site.step) * 0xd6e8feb86659fd93u);
}

void setText(Record &record, const std::string &text) {
  size_t length = std::min(text.size(), static_cast<size_t>(textBytes - 1));
  // Long texts are cropped at the front, because the source location is at their end.
  std::memcpy(record.text, text.data() + (text.size() - length), length);
  record.text[length] = 0;
}

//===----------------------------------------------------------------------===//
// Communicator
//===----------------------------------------------------------------------===//

ShmCommunicator::ShmCommunicator(Backend &backend, std::vector<int64_t> devices, const ControlPage &page)
    : backend(backend), devices(std::move(devices)), page(page) {
  for (int64_t position = 0; position < static_cast<int64_t>(this->devices.size()); ++position)
    if (backend.isLocal(this->devices[position]))
      endpoints[position] = std::make_unique<ShmEndpoint>(*this, position);
}

CommunicatorEndpoint &ShmCommunicator::getEndpoint(int64_t position) {
  auto endpoint = endpoints.find(position);
  if (endpoint == endpoints.end())
    throw Error("mesh position " + std::to_string(position) + " is not on this process");
  return *endpoint->second;
}

void ShmCommunicator::abort(const std::string &cause) {
  Header &header = page.header();
  uint32_t expected = 0;
  if (!header.aborted.compare_exchange_strong(expected, 1))
    return;
  size_t length = std::min(cause.size(), sizeof header.cause - 1);
  std::memcpy(header.cause, cause.data(), length);
  header.cause[length] = 0;
  header.aborted.store(2, std::memory_order_release);
}

void ShmCommunicator::addAwaitedCalls(std::vector<AwaitedCall> &calls) const {
  for (const auto &[position, endpoint] : endpoints) {
    uint64_t next = page.slot(position).announced.load(std::memory_order_acquire);
    for (int64_t member = 0; member != static_cast<int64_t>(devices.size()); ++member)
      if (!endpoints.count(member))
        if (PeerState state = page.stateOf(member, next); state.announced > next && state.isKnown)
          addCall(calls, {processOf(member), state.text});
  }
}

//===----------------------------------------------------------------------===//
// Endpoint
//===----------------------------------------------------------------------===//

ShmEndpoint::ShmEndpoint(ShmCommunicator &communicator, int64_t position)
    : communicator(communicator), position(position),
      device(communicator.getBackend().getLocalDevice(communicator.getDevices()[position])),
      slot(communicator.getPage().slot(position)), memory(communicator) {}

std::unique_ptr<CollectiveCall> ShmEndpoint::prepare(const MeshShape &mesh, const CollectiveDesc &desc,
                                                     const CallSite &site) {
  if (mesh.deviceCount() != static_cast<int64_t>(communicator.getDevices().size()))
    throw Error("a mesh of " + std::to_string(mesh.deviceCount()) + " devices cannot use a communicator of " +
                std::to_string(communicator.getDevices().size()));
  Movement movement = computeMovement(mesh, desc, position);
  GroupState &group = groupFor(movement.group);
  return std::make_unique<ShmCall>(*this, group, mesh, desc, std::move(movement), site);
}

GroupState &ShmEndpoint::groupFor(const std::vector<int64_t> &members, BarrierUse use) {
  auto known = groups.find({use, members});
  if (known != groups.end())
    return known->second;
  // The first member takes a free entry for the group; all others find it by its key.
  uint64_t key = hashMembers(members, use);
  for (int64_t probe = 0; probe < groupCapacity; ++probe) {
    Group &entry = communicator.getPage().group(static_cast<int64_t>((key + probe) % groupCapacity));
    uint64_t found = 0;
    if (entry.key.compare_exchange_strong(found, key) || found == key)
      return groups.emplace(std::pair(use, members), GroupState{&entry, members, 0}).first->second;
  }
  throw Error("a job uses more than " + std::to_string(groupCapacity) + " different groups of devices");
}

void ShmEndpoint::beginLaunch(std::function<void()> check) {
  if (communicator.getPage().header().aborted.load(std::memory_order_acquire))
    throwAborted();
  checkDevice = std::move(check);
  slot.launchesBegun.store(++launches, std::memory_order_release);
}

void ShmEndpoint::endLaunch() {
  slot.launchesEnded.store(launches, std::memory_order_release);
  checkDevice = nullptr;
}

Record &ShmEndpoint::recordOf(int64_t member, uint64_t number) {
  return communicator.getPage().slot(member).ring[number % ringSize];
}

Record &ShmEndpoint::nextRecord(const AnnouncedCall &call, uint64_t &number) {
  number = sequence++;
  InFlight &old = inFlight[number % ringSize];
  if (AnnouncedCall *before = old.call.load(std::memory_order_acquire))
    before->finish();
  // Other devices may still read the old operand.
  if (old.group)
    for (int64_t member : old.group->members) {
      if (member == position)
        continue;
      Slot &theirs = communicator.getPage().slot(member);
      std::atomic<uint64_t> &consumed = theirs.ring[number % ringSize].consumed;
      waitOn(theirs.progress, theirs.progressSleepers, nullptr, call, number,
             [&] { return consumed.load(std::memory_order_acquire) > old.sequence; });
    }
  return slot.ring[number % ringSize];
}

void ShmEndpoint::announce(AnnouncedCall &call, GroupState &group, uint64_t number) {
  InFlight &entry = inFlight[number % ringSize];
  entry.group = &group;
  entry.sequence = number;
  entry.call.store(&call, std::memory_order_release);
  Record &record = recordOf(position, number);
  record.launch.store(launches, std::memory_order_relaxed);
  record.sequence.store(number + 1, std::memory_order_relaxed);
  slot.announced.store(number + 1, std::memory_order_release);
}

void ShmEndpoint::markConsumed(uint64_t number) {
  inFlight[number % ringSize].call.store(nullptr, std::memory_order_release);
  recordOf(position, number).consumed.store(number + 1);
  slot.progress.fetch_add(1);
  if (slot.progressSleepers.load() != 0)
    futexWakeAll(slot.progress);
}

void ShmEndpoint::forget(const AnnouncedCall &call) {
  for (InFlight &entry : inFlight)
    if (entry.call.load() == &call)
      entry.call.store(nullptr);
}

PeerMemory::PeerMemory(ShmCommunicator &communicator)
    : communicator(communicator), bases(communicator.getDevices().size()) {}

const char *PeerMemory::addressOf(int64_t member, const MemoryLocation &location) {
  auto &known = bases[member];
  auto segment = static_cast<size_t>(location.segment);
  if (segment >= known.size())
    known.resize(segment + 1, nullptr);
  if (!known[segment]) {
    auto mapped = communicator.getBackend().mapSegment(communicator.getDevices()[member], location.segment);
    if (!mapped)
      throw Error(communicator.nameOf(member) + " announces memory that it does not have");
    known[segment] = mapped->data();
  }
  return known[segment] + location.offset;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

template <typename IsReady>
void ShmEndpoint::waitOn(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers, const GroupState *group,
                         const AnnouncedCall &call, uint64_t number, IsReady &&isReady) {
  if (spinUntil(isReady, spinTime))
    return;
  const CollectiveTimeouts &limits = communicator.getBackend().getOptions().timeouts;
  auto deadline = std::chrono::steady_clock::time_point::max();
  if (limits.collective.count() > 0)
    deadline = std::chrono::steady_clock::now() + limits.collective +
               (communicator.spansProcesses() ? limits.grace : std::chrono::milliseconds(0));
  for (;;) {
    sleepers.fetch_add(1);
    uint32_t seen = word.load();
    if (!isReady())
      futexWait(word, seen, pollInterval);
    sleepers.fetch_sub(1);
    if (isReady())
      return;
    checkWait(group, call, number, deadline);
  }
}

void ShmEndpoint::arrive(GroupState &group, uint64_t barrier) {
  uint32_t arrived = group.shared->arrived[barrier % barrierRing].fetch_add(1) + 1;
  if (arrived != targetOf(group, barrier))
    return;
  group.shared->last.store(static_cast<int32_t>(position), std::memory_order_relaxed);
  group.shared->core.store(sched_getcpu(), std::memory_order_relaxed);
  group.shared->wake.fetch_add(1);
  if (group.shared->sleepers.load() != 0)
    futexWakeAll(group.shared->wake);
}

void ShmEndpoint::wait(GroupState &group, uint64_t barrier, const AnnouncedCall &call, uint64_t number) {
  auto isReady = [&] { return isComplete(group, barrier); };
  if (isReady())
    return;
  waitOn(group.shared->wake, group.shared->sleepers, &group, call, number, isReady);
  // This thread gave its core away to the device that it waited for, if they share one. Devices of one process part
  // when work is queued; if both threads moved, they would meet again.
  int32_t last = group.shared->last.load(std::memory_order_relaxed);
  bool isPeer = last >= 0 && static_cast<size_t>(last) < communicator.getDevices().size();
  if (device.hasOwnCore() && isPeer && communicator.processOf(last) != communicator.processOf(position))
    leaveCore(group.shared->core.load(std::memory_order_relaxed));
}

void ShmEndpoint::checkWait(const GroupState *group, const AnnouncedCall &call, uint64_t number,
                            std::chrono::steady_clock::time_point deadline) {
  checkJob();
  if (group)
    checkMembers(*group, call, number);
  if (std::chrono::steady_clock::now() < deadline)
    return;
  std::vector<int64_t> missing;
  if (group)
    for (int64_t member : group->members)
      if (member != position && communicator.getPage().slot(member).announced.load() <= number)
        missing.push_back(member);
  for (int64_t member : missing)
    if (communicator.processOf(member) != communicator.processOf(position))
      reportMissing(communicator.processOf(member), describeTimeout(call, missing));
  throwTimeout(call, missing);
}

void ShmEndpoint::checkJob() {
  Health *health = communicator.getBackend().getOptions().health;
  if (health && health->isOver())
    health->throwVerdict();
  if (communicator.getPage().header().aborted.load(std::memory_order_acquire) == 2)
    throwAborted();
  if (checkDevice)
    checkDevice();
}

/// The device that waits is not to blame. The coordinator is told which process is missing, and the call throws.
void ShmEndpoint::reportMissing(int32_t process, const std::string &cause) {
  Health *health = communicator.getBackend().getOptions().health;
  if (!health)
    return;
  health->reportMissing(process, cause);
  checkJob();
}

std::string ShmEndpoint::describeTimeout(const AnnouncedCall &call, const std::vector<int64_t> &missing) const {
  std::string names;
  for (int64_t member : missing)
    names += (names.empty() ? "" : ", ") + nameOf(member);
  return call.describe() + " on " + nameOf(position) + " waited for " +
         std::to_string(communicator.getBackend().getOptions().timeouts.collective.count() / 1000.0).substr(0, 6) +
         " s" + (names.empty() ? "" : " for " + names);
}

void ShmEndpoint::throwTimeout(const AnnouncedCall &call, const std::vector<int64_t> &missing,
                               const std::string &reason) {
  std::string cause = describeTimeout(call, missing) + "; " + reason;
  communicator.abort(cause);
  throw Error(cause);
}

void ShmEndpoint::checkMembers(const GroupState &group, const AnnouncedCall &call, uint64_t number) {
  for (int64_t member : group.members) {
    if (member == position)
      continue;
    if (communicator.getPage().makesCall(member, number, call.getFingerprint(), launches))
      continue;
    // Asked first: all calls of a process that has left are in the state that is read afterwards.
    bool isGone = hasProcessLeft(member);
    PeerState state = communicator.getPage().stateOf(member, number);
    if (isGone)
      state.launchesEnded = hasLeft;
    checkPeer(member, state, call, number);
  }
}

/// Whether the process of a device has left the job. A process marks its devices itself, but only in the communicators
/// that it has.
bool ShmEndpoint::hasProcessLeft(int64_t member) const {
  Health *health = communicator.getBackend().getOptions().health;
  return health && health->hasLeft(communicator.processOf(member));
}

void ShmEndpoint::checkPeer(int64_t member, const PeerState &state, const AnnouncedCall &call, uint64_t number) {
  if (state.announced <= number) {
    // The call is not there yet; if the peer's run is over, it never will be.
    if (state.launchesEnded == hasLeft || (state.launchesEnded >= launches && launches > 0))
      throwDivergence(member,
                      state.launchesEnded == hasLeft ? "has made its last run and left the job without it"
                                                     : "has finished its run of the program without it",
                      call.describe());
    return;
  }
  if (state.isKnown && state.fingerprint == call.getFingerprint() && state.launch == launches)
    return;
  std::string itsCall = "calls " + state.text, ourCall = call.describe();
  if (state.launch != launches) {
    itsCall += " in its run " + std::to_string(state.launch);
    ourCall += " in its run " + std::to_string(launches);
  }
  throwDivergence(member, itsCall, ourCall);
}

std::string ShmEndpoint::nameOf(int64_t member) const { return communicator.nameOf(member); }

std::string ShmCommunicator::nameOf(int64_t member) const {
  int64_t id = devices[member];
  return "process " + std::to_string(backend.processOf(id)) + " device " + std::to_string(id);
}

void ShmEndpoint::throwAborted() {
  // The coordinator's verdict has precedence, so that all processes print the same.
  Health *health = communicator.getBackend().getOptions().health;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (health && !health->isOver() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (health && health->isOver())
    health->throwVerdict();
  throw Error(communicator.getPage().header().cause);
}

void ShmEndpoint::throwDivergence(int64_t member, const std::string &theirs, const std::string &ours) {
  // Named in the order of positions, so that both sides print the same.
  std::string mine = nameOf(position) + " calls " + ours, other = nameOf(member) + " " + theirs;
  std::string cause = "the processes do not run the same program: " + (position < member ? mine : other) + ", but " +
                      (position < member ? other : mine) + "; all processes must make the same calls in the same order";
  communicator.abort(cause);
  throw Error(cause);
}

} // namespace spmd::shm
