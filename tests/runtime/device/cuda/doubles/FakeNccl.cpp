//===- FakeNccl.cpp - NCCL between emulated GPUs --------------------------===//

#include "tests/runtime/device/cuda/doubles/FakeNccl.h"

#include "runtime/device/cuda/CuptiEntries.h"
#include "tests/runtime/device/cuda/doubles/FakeEntries.h"
#include "tests/runtime/device/cuda/doubles/Mistakes.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace spmd::cuda {

/// Enough that no two communicators have the same id.
static constexpr size_t kIdLetters = 24;

struct FakeNcclEntries {
  static FakeNccl *fake;
  /// For this thread: the number of open groups, one for each communicator.
  static thread_local int depth;
  static thread_local std::vector<std::shared_ptr<FakeNccl::Group>> open;

  static NcclResult getVersion(int *version) {
    *version = fake->version;
    return kNcclSuccess;
  }
  static NcclResult getUniqueId(NcclId *id) {
    // Other processes may run the same test with the same seed.
    std::random_device random;
    id->bytes.fill(0);
    for (size_t i = 0; i < kIdLetters; ++i)
      id->bytes[i] = static_cast<char>('a' + random() % 16);
    return kNcclSuccess;
  }
  static NcclResult initialize(NcclComm *comm, int size, NcclId id, int rank, NcclConfig *config);
  static NcclResult getAsyncError(NcclComm comm, NcclResult *state);
  static NcclResult abort(NcclComm comm);
  static NcclResult startGroup() {
    ++depth;
    return kNcclSuccess;
  }
  static NcclResult endGroup() {
    if (depth == 0)
      return kNcclInvalidUsage;
    return --depth > 0 ? kNcclSuccess : fake->endGroup();
  }
  static NcclResult send(const void *data, size_t bytes, int type, int peer, NcclComm comm, Stream stream) {
    return fake->add(true, const_cast<void *>(data), bytes, type, peer, comm, stream);
  }
  static NcclResult receive(void *data, size_t bytes, int type, int peer, NcclComm comm, Stream stream) {
    return fake->add(false, data, bytes, type, peer, comm, stream);
  }
  static const char *getErrorString(NcclResult result) {
    return result == kNcclInvalidUsage      ? "invalid usage"
           : result == kNcclInvalidArgument ? "invalid argument"
           : result == kNcclRemoteError     ? "remote process exited or there was a network error"
                                            : "an error of the double";
  }
};

FakeNccl *FakeNcclEntries::fake = nullptr;
thread_local int FakeNcclEntries::depth = 0;
thread_local std::vector<std::shared_ptr<FakeNccl::Group>> FakeNcclEntries::open;

/// Largest number of queries before the work of a communicator is done.
static constexpr uint32_t kMostPatience = 3;

FakeNccl::FakeNccl(FakeDriver &given, int version) : driver(given), version(version) {
  if (FakeNcclEntries::fake)
    reportMistake("there is another FakeNccl");
  FakeNcclEntries::fake = this;
  FakeNcclEntries::depth = 0;
  FakeNcclEntries::open.clear();
  NcclEntries entries;
  entries.GetVersion = FakeNcclEntries::getVersion;
  entries.GetUniqueId = FakeNcclEntries::getUniqueId;
  entries.CommInitRankConfig = FakeNcclEntries::initialize;
  entries.CommGetAsyncError = FakeNcclEntries::getAsyncError;
  entries.CommAbort = FakeNcclEntries::abort;
  entries.GroupStart = FakeNcclEntries::startGroup;
  entries.GroupEnd = FakeNcclEntries::endGroup;
  entries.Send = FakeNcclEntries::send;
  entries.Recv = FakeNcclEntries::receive;
  entries.GetErrorString = FakeNcclEntries::getErrorString;
  nccl = Nccl::of(entries);
}

FakeNccl::~FakeNccl() { FakeNcclEntries::fake = nullptr; }

void FakeNccl::failGroup(int rank, int64_t number) {
  std::lock_guard lock(driver.mutex);
  failures[rank] = number;
  for (Comm *comm : findRank(rank))
    comm->groupsToFailure = number;
}

void FakeNccl::failTransfer(int rank, int64_t number) {
  std::lock_guard lock(driver.mutex);
  transferFailures[rank] = number;
  for (Comm *comm : findRank(rank))
    comm->transfersToFailure = number;
}

void FakeNccl::failSend(int64_t number) {
  std::lock_guard lock(driver.mutex);
  sendsToFailure = number;
}

std::vector<FakeNccl::Comm *> FakeNccl::findRank(int rank) {
  std::vector<Comm *> found;
  for (std::unique_ptr<Comm> &comm : comms)
    if (comm->rank == rank)
      found.push_back(comm.get());
  return found;
}

int64_t FakeNccl::countBytes() const {
  std::lock_guard lock(driver.mutex);
  return receivedBytes;
}

/// Returns null if it was aborted, or never existed.
FakeNccl::Comm *FakeNccl::find(NcclComm handle) {
  for (std::unique_ptr<Comm> &comm : comms)
    if (reinterpret_cast<NcclComm>(comm.get()) == handle)
      return comm->isAborted ? nullptr : comm.get();
  return nullptr;
}

NcclResult FakeNcclEntries::initialize(NcclComm *comm, int size, NcclId id, int rank, NcclConfig *config) {
  std::lock_guard lock(fake->driver.mutex);
  int gpu = FakeEntries::currentGpu();
  if (gpu < 0 || rank < 0 || rank >= size || config->blocking != 0 || config->size != sizeof(NcclConfig))
    return kNcclInvalidArgument;
  std::string name = "spmd-test-nccl-" + std::string(id.bytes.data(), kIdLetters);
  auto made = std::make_unique<FakeNccl::Comm>(name, size, rank, gpu);
  if (!made->links.isUnique())
    return kNcclInvalidUsage;
  made->patience = static_cast<int>(fake->driver.streams.draw(kMostPatience));
  if (auto failure = fake->failures.find(rank); failure != fake->failures.end())
    made->groupsToFailure = failure->second;
  if (auto failure = fake->transferFailures.find(rank); failure != fake->transferFailures.end())
    made->transfersToFailure = failure->second;
  *comm = reinterpret_cast<NcclComm>(made.get());
  fake->comms.push_back(std::move(made));
  return kNcclInProgress;
}

NcclResult FakeNcclEntries::getAsyncError(NcclComm handle, NcclResult *state) {
  std::lock_guard lock(fake->driver.mutex);
  FakeNccl::Comm *comm = fake->find(handle);
  if (!comm)
    return kNcclInvalidArgument;
  fake->advance(*comm);
  *state = comm->state;
  return kNcclSuccess;
}

NcclResult FakeNcclEntries::abort(NcclComm handle) {
  std::lock_guard lock(fake->driver.mutex);
  FakeNccl::Comm *comm = fake->find(handle);
  if (!comm)
    return kNcclInvalidArgument;
  if (depth > 0)
    reportMistake("a communicator is aborted inside of a group, which NCCL does at the group's end");
  comm->isAborted = true;
  comm->queueing = nullptr;
  return kNcclSuccess;
}

/// Simulates the work of NCCL's own threads.
void FakeNccl::advance(Comm &comm) {
  comm.links.pump();
  if (comm.state != kNcclInProgress)
    return;
  bool isAlone = !comm.links.isConnected();
  if (comm.isConnected)
    for (const Transfer &transfer : comm.queueing->transfers)
      isAlone |= !comm.links.isAnnounced(transfer.peer);
  if (isAlone || comm.patience-- > 0)
    return;
  comm.isConnected = true;
  comm.state = kNcclSuccess;
  std::shared_ptr<Group> group = std::exchange(comm.queueing, nullptr);
  if (!group)
    return;
  if (comm.groupsToFailure > 0 && --comm.groupsToFailure == 0) {
    comm.state = kNcclRemoteError;
    return;
  }
  FakeStream *stream = driver.streams.find(group->stream);
  if (!stream || stream->gpu != comm.gpu) {
    comm.state = kNcclInvalidArgument;
    return;
  }
  driver.noteCall(kCuptiRuntime, /*isInRegion=*/false);
  driver.queueWork(*stream, kCuptiKernel, [this, group] { return step(*group); });
}

/// Runs on the stream; returns true once all transfers are done.
bool FakeNccl::step(Group &group) {
  Comm &comm = *group.comm;
  if (comm.isAborted)
    return true;
  if (!group.isActive && comm.transfersToFailure > 0 && --comm.transfersToFailure == 0)
    comm.state = kNcclRemoteError;
  if (comm.state == kNcclRemoteError)
    return true;
  if (!std::exchange(group.isActive, true))
    for (const Transfer &transfer : group.transfers) {
      if (!driver.memory.contains(comm.gpu, reinterpret_cast<DevicePointer>(transfer.data), transfer.bytes))
        reportMistake("a transfer of memory that was freed before it ran");
      else if (transfer.isSend)
        comm.links.send(transfer.peer, transfer.data, transfer.bytes);
    }
  comm.links.pump();
  bool isDone = true;
  for (Transfer &transfer : group.transfers)
    isDone &= transfer.isDone || tryToEnd(comm, transfer);
  comm.links.pump(); // The acknowledgements.
  return isDone;
}

/// Returns true, once, when a transfer is done.
bool FakeNccl::tryToEnd(Comm &comm, Transfer &transfer) {
  if (transfer.isSend)
    return transfer.isDone = comm.links.takeAcknowledgement(transfer.peer);
  std::string message;
  if (!comm.links.receive(transfer.peer, message))
    return false;
  if (message.size() != transfer.bytes)
    reportMistake("a send of " + std::to_string(message.size()) + " bytes and its receive of " +
                  std::to_string(transfer.bytes));
  message.resize(std::min(message.size(), transfer.bytes));
  if (driver.memory.contains(comm.gpu, reinterpret_cast<DevicePointer>(transfer.data), message.size()))
    std::memcpy(transfer.data, message.data(), message.size());
  else
    reportMistake("a transfer to memory that was freed while it ran");
  receivedBytes += static_cast<int64_t>(message.size());
  comm.links.acknowledge(transfer.peer);
  return transfer.isDone = true;
}

NcclResult FakeNccl::add(bool isSend, void *data, size_t bytes, int type, int peer, NcclComm handle, Stream stream) {
  std::lock_guard lock(driver.mutex);
  Comm *comm = find(handle);
  if (FakeNcclEntries::depth == 0 || !comm || type != kNcclBytes || bytes == 0 || peer == comm->rank || peer < 0 ||
      peer >= comm->links.size() || !driver.memory.contains(comm->gpu, reinterpret_cast<DevicePointer>(data), bytes))
    return kNcclInvalidArgument;
  // NCCL answers with the communicator's asynchronous error, or that it is still busy (ncclCommEnsureReady).
  if (comm->state != kNcclSuccess)
    return comm->state == kNcclInProgress ? kNcclInvalidArgument : comm->state;
  if (isSend && sendsToFailure > 0 && --sendsToFailure == 0)
    return kNcclInternalError;
  auto &open = FakeNcclEntries::open;
  auto group = std::find_if(open.begin(), open.end(), [&](const auto &known) { return known->comm == comm; });
  if (group == open.end())
    group = open.insert(open.end(), std::make_shared<Group>(Group{comm, stream, {}, false}));
  if ((*group)->stream != stream)
    return kNcclInvalidArgument;
  (*group)->transfers.push_back({isSend, false, peer, static_cast<char *>(data), bytes});
  return kNcclSuccess;
}

NcclResult FakeNccl::endGroup() {
  std::lock_guard lock(driver.mutex);
  for (std::shared_ptr<Group> &group : FakeNcclEntries::open) {
    Comm &comm = *group->comm;
    if (comm.state != kNcclSuccess) // A transfer has failed since the group's calls: its error stays.
      continue;
    for (const Transfer &transfer : group->transfers)
      if (comm.announced.insert(transfer.peer).second)
        comm.links.announce(transfer.peer);
    comm.links.pump();
    comm.queueing = std::move(group);
    comm.state = kNcclInProgress;
    comm.patience = static_cast<int>(driver.streams.draw(kMostPatience));
  }
  FakeNcclEntries::open.clear();
  return kNcclInProgress;
}

} // namespace spmd::cuda
