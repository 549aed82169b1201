//===- FakeNcclHelper.h - NCCL between emulated GPUs ------------*- C++ -*-===//
//
// Ranks are threads of this process. It behaves like the non-blocking NCCL: a communicator is connected once all ranks
// have joined. The calls of a group are queued in their stream only some time after GroupEnd; if two ranks exchange
// data for the first time, only once both have called. A transfer happens when both sides have reached it in their
// streams. Calls on a communicator that is still working, a send and a receive of different sizes, and memory that is
// not on a GPU are errors. CommAbort ends the transfers in flight: it leaves memory unchanged, and peers keep waiting.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/nccl/Nccl.h"
#include "tests/runtime/exec/cuda/FakeDriverHelper.h"

#include <set>

namespace spmd::cuda {

inline constexpr NcclResult kNcclInternalError = 3, kNcclInvalidArgument = 4, kNcclInvalidUsage = 5,
                            kNcclRemoteError = 6;

/// At most one exists in a process; `driver` outlives it. Thread-safe.
class FakeNccl {
public:
  explicit FakeNccl(FakeDriver &driver);
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
  /// Returns the bytes sent so far by all ranks.
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
  struct Clique;
  struct Comm {
    Clique *clique = nullptr;
    int rank = 0, gpu = 0;
    bool isAborted = false, isConnected = false;
    NcclResult state = kNcclInProgress;
    int patience = 0; ///< Number of queries until the current work is done.
    std::shared_ptr<Group> queueing;
    std::vector<std::shared_ptr<Group>> unfinished; ///< In order.
    /// Peers to which its groups have sent, or from which they have received.
    std::set<int> named;
    int64_t groupsToFailure = 0, transfersToFailure = 0;
  };
  struct Clique {
    std::vector<std::unique_ptr<Comm>> ranks;
  };

  Comm *find(NcclComm comm);
  std::vector<Comm *> findRank(int rank);
  void advance(Comm &comm);
  bool step(const std::shared_ptr<Group> &group);
  NcclResult add(bool isSend, void *data, size_t bytes, int type, int peer, NcclComm comm, Stream stream);
  NcclResult endGroup();

  FakeDriver &driver;
  std::shared_ptr<const Nccl> nccl;
  // Guarded by the driver's lock.
  std::map<std::string, Clique> cliques;             ///< By id.
  std::map<int, int64_t> failures, transferFailures; ///< By rank, for future communicators.
  int64_t sendsToFailure = 0;
  uint64_t nextId = 1;
  int64_t sentBytes = 0;
};

} // namespace spmd::cuda
