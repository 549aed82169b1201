//===- FakeNcclHelper.cpp - NCCL between emulated GPUs --------------------===//

#include "tests/runtime/exec/cuda/FakeNcclHelper.h"

#include "tests/runtime/exec/cuda/FakeEntriesHelper.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace spmd::cuda {

struct FakeNcclEntries {
  static FakeNccl *fake;
  /// For this thread: the number of open groups, one for each communicator.
  static thread_local int depth;
  static thread_local std::vector<std::shared_ptr<FakeNccl::Group>> open;

  static NcclResult getVersion(int *version) {
    *version = 21800;
    return kNcclSuccess;
  }
  static NcclResult getUniqueId(NcclId *id) {
    std::lock_guard lock(fake->driver.mutex);
    id->bytes.fill(0);
    uint64_t number = fake->nextId++;
    std::memcpy(id->bytes.data(), &number, sizeof(number));
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

FakeNccl::FakeNccl(FakeDriver &given) : driver(given) {
  EXPECT_EQ(FakeNcclEntries::fake, nullptr) << "there is another FakeNccl";
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
  for (auto &[id, clique] : cliques)
    if (rank < static_cast<int>(clique.ranks.size()) && clique.ranks[static_cast<size_t>(rank)])
      found.push_back(clique.ranks[static_cast<size_t>(rank)].get());
  return found;
}

int64_t FakeNccl::countBytes() const {
  std::lock_guard lock(driver.mutex);
  return sentBytes;
}

/// Returns null if it was aborted, or never existed.
FakeNccl::Comm *FakeNccl::find(NcclComm comm) {
  for (auto &[id, clique] : cliques)
    for (std::unique_ptr<Comm> &rank : clique.ranks)
      if (rank && reinterpret_cast<NcclComm>(rank.get()) == comm)
        return rank->isAborted ? nullptr : rank.get();
  return nullptr;
}

NcclResult FakeNcclEntries::initialize(NcclComm *comm, int size, NcclId id, int rank, NcclConfig *config) {
  std::lock_guard lock(fake->driver.mutex);
  int gpu = FakeEntries::currentGpu();
  if (gpu < 0 || rank < 0 || rank >= size || config->blocking != 0 || config->size != sizeof(NcclConfig))
    return kNcclInvalidArgument;
  FakeNccl::Clique &clique = fake->cliques[std::string(id.bytes.data(), id.bytes.size())];
  clique.ranks.resize(static_cast<size_t>(size));
  std::unique_ptr<FakeNccl::Comm> &made = clique.ranks[static_cast<size_t>(rank)];
  if (made)
    return kNcclInvalidUsage;
  made = std::make_unique<FakeNccl::Comm>();
  made->clique = &clique;
  made->rank = rank;
  made->gpu = gpu;
  made->patience = static_cast<int>(fake->driver.streams.draw(kMostPatience));
  if (auto failure = fake->failures.find(rank); failure != fake->failures.end())
    made->groupsToFailure = failure->second;
  if (auto failure = fake->transferFailures.find(rank); failure != fake->transferFailures.end())
    made->transfersToFailure = failure->second;
  *comm = reinterpret_cast<NcclComm>(made.get());
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
  EXPECT_EQ(depth, 0) << "a communicator is aborted inside of a group, which NCCL does at the group's end";
  comm->isAborted = true;
  comm->queueing = nullptr;
  comm->unfinished.clear();
  return kNcclSuccess;
}

/// Simulates the work of NCCL's own threads.
void FakeNccl::advance(Comm &comm) {
  if (comm.state != kNcclInProgress)
    return;
  const auto &ranks = comm.clique->ranks;
  bool isAlone = false;
  if (!comm.isConnected)
    isAlone = std::any_of(ranks.begin(), ranks.end(), [](const auto &rank) { return !rank; });
  else
    for (const Transfer &transfer : comm.queueing->transfers)
      isAlone |= !ranks[static_cast<size_t>(transfer.peer)]->named.contains(comm.rank);
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
  comm.unfinished.push_back(group);
  driver.streams.queue(*stream, [this, group] { return step(group); });
}

/// Runs on the stream; returns true once all transfers are done.
bool FakeNccl::step(const std::shared_ptr<Group> &group) {
  Comm &comm = *group->comm;
  if (comm.isAborted)
    return true;
  if (!group->isActive && comm.transfersToFailure > 0 && --comm.transfersToFailure == 0)
    comm.state = kNcclRemoteError;
  if (comm.state == kNcclRemoteError)
    return true;
  group->isActive = true;
  bool isDone = true;
  for (Transfer &mine : group->transfers) {
    if (mine.isDone)
      continue;
    Transfer *theirs = nullptr;
    for (const auto &other : comm.clique->ranks[static_cast<size_t>(mine.peer)]->unfinished) {
      if (!other->isActive || theirs)
        break;
      for (Transfer &candidate : other->transfers)
        if (!theirs && !candidate.isDone && candidate.isSend != mine.isSend && candidate.peer == comm.rank)
          theirs = &candidate;
    }
    if (!theirs) {
      isDone = false;
      continue;
    }
    EXPECT_EQ(mine.bytes, theirs->bytes) << "a send and its receive";
    size_t bytes = std::min(mine.bytes, theirs->bytes);
    int peerGpu = comm.clique->ranks[static_cast<size_t>(mine.peer)]->gpu;
    if (!driver.memory.contains(comm.gpu, reinterpret_cast<DevicePointer>(mine.data), bytes) ||
        !driver.memory.contains(peerGpu, reinterpret_cast<DevicePointer>(theirs->data), bytes)) {
      ADD_FAILURE() << "a transfer of memory that was freed before it ran";
      return true;
    }
    std::memcpy(mine.isSend ? theirs->data : mine.data, mine.isSend ? mine.data : theirs->data, bytes);
    sentBytes += static_cast<int64_t>(bytes);
    mine.isDone = theirs->isDone = true;
  }
  if (isDone)
    comm.unfinished.erase(std::find(comm.unfinished.begin(), comm.unfinished.end(), group));
  return isDone;
}

NcclResult FakeNccl::add(bool isSend, void *data, size_t bytes, int type, int peer, NcclComm handle, Stream stream) {
  std::lock_guard lock(driver.mutex);
  Comm *comm = find(handle);
  if (FakeNcclEntries::depth == 0 || !comm || type != kNcclBytes || bytes == 0 || peer == comm->rank || peer < 0 ||
      peer >= static_cast<int>(comm->clique->ranks.size()) ||
      !driver.memory.contains(comm->gpu, reinterpret_cast<DevicePointer>(data), bytes))
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
      comm.named.insert(transfer.peer);
    comm.queueing = std::move(group);
    comm.state = kNcclInProgress;
    comm.patience = static_cast<int>(driver.streams.draw(kMostPatience));
  }
  FakeNcclEntries::open.clear();
  return kNcclInProgress;
}

} // namespace spmd::cuda
