//===- FakeNccl.h - NCCL between emulated GPUs ------------------*- C++ -*-===//
//
// Ranks are threads of this process or other processes of this machine (FakeLinks.h). It behaves like the non-blocking
// NCCL: a communicator is connected once all ranks have joined. The calls of a group are queued in their stream only
// some time after GroupEnd; if two ranks exchange data for the first time, only once both have called. A send is done
// when its peer has received it. Calls on a communicator that is still working, a send and a receive of different
// sizes, and memory that is not on a GPU are errors. CommAbort ends the transfers in flight: it leaves memory
// unchanged, and peers keep waiting, as they do for a process that was killed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/nccl/Nccl.h"
#include "tests/runtime/device/cuda/doubles/FakeDriver.h"
#include "tests/runtime/device/cuda/doubles/FakeLinks.h"

#include <set>

namespace spmd::cuda {

inline constexpr NcclResult kNcclInternalError = 3, kNcclInvalidArgument = 4, kNcclInvalidUsage = 5,
                            kNcclRemoteError = 6;

/// At most one exists in a process; `driver` outlives it. Thread-safe.
class FakeNccl {
public:
  /// `version` as NCCL counts: 22700 is 2.27.0.
  explicit FakeNccl(FakeDriver &driver, int version = 22700);
  ~FakeNccl();
  FakeNccl(const FakeNccl &) = delete;
  FakeNccl &operator=(const FakeNccl &) = delete;

  const std::shared_ptr<const Nccl> &getNccl() const { return nccl; }

  /// The `number`-th group of this rank from now on fails when it is queued.
  void failGroup(int rank, int64_t number);
  /// The `number`-th group of this rank from now on fails while it runs: it ends, and its memory is unchanged.
  void failTransfer(int rank, int64_t number);
  /// The `number`-th send of any rank from now on is refused.
  void failSend(int64_t number);
  /// Returns the bytes received so far by all ranks of this process.
  int64_t countBytes() const;

private:
  friend struct FakeNcclEntries;
  struct Transfer {
    bool isSend = false, isDone = false;
    int peer = 0;
    char *data = nullptr;
    size_t bytes = 0;
  };
  struct Comm;
  /// The calls between GroupStart and GroupEnd.
  struct Group {
    Comm *comm = nullptr;
    Stream stream = nullptr;
    std::vector<Transfer> transfers;
    bool isActive = false; ///< Its stream has reached it.
  };
  struct Comm {
    Comm(const std::string &name, int size, int rank, int gpu) : links(name, size, rank), rank(rank), gpu(gpu) {}
    FakeLinks links;
    int rank = 0, gpu = 0;
    bool isAborted = false, isConnected = false;
    NcclResult state = kNcclInProgress;
    int patience = 0; ///< Number of queries until the current work is done.
    std::shared_ptr<Group> queueing;
    /// Peers that know that its groups send to them, or receive from them.
    std::set<int> announced;
    int64_t groupsToFailure = 0, transfersToFailure = 0;
  };

  Comm *find(NcclComm comm);
  std::vector<Comm *> findRank(int rank);
  void advance(Comm &comm);
  bool step(Group &group);
  bool tryToEnd(Comm &comm, Transfer &transfer);
  NcclResult add(bool isSend, void *data, size_t bytes, int type, int peer, NcclComm comm, Stream stream);
  NcclResult endGroup();

  FakeDriver &driver;
  std::shared_ptr<const Nccl> nccl;
  // Guarded by the driver's lock.
  std::vector<std::unique_ptr<Comm>> comms;          ///< Also those that were aborted.
  std::map<int, int64_t> failures, transferFailures; ///< By rank, for future communicators.
  int64_t sendsToFailure = 0;
  int64_t receivedBytes = 0;
  const int version;
};

} // namespace spmd::cuda
