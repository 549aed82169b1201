//===- FakeNcclHelper.h - NCCL between emulated GPUs ------------*- C++ -*-===//
//
// Ranks are threads of this process. It behaves as the non-blocking NCCL does: a communicator is connected once all
// ranks have joined; the calls of a group stand in their stream only some time after GroupEnd, and where two ranks
// exchange something for the first time only once both have called; a transfer happens when both sides have come to it
// in their streams. Calls on a communicator that is still at work, a send and a receive of different sizes, and memory
// that is no GPU's are errors. CommAbort ends what is under way: it leaves memory as it is, and peers wait on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/nccl/Nccl.h"
#include "tests/runtime/exec/cuda/FakeDriverHelper.h"

#include <set>

namespace spmd::cuda {

inline constexpr NcclResult kNcclInternalError = 3, kNcclInvalidArgument = 4, kNcclInvalidUsage = 5,
                            kNcclRemoteError = 6;

/// One at a time in a process; `driver` outlives it. May be used from any thread.
class FakeNccl {
public:
  explicit FakeNccl(FakeDriver &driver);
  ~FakeNccl();
  FakeNccl(const FakeNccl &) = delete;
  FakeNccl &operator=(const FakeNccl &) = delete;

  const std::shared_ptr<const Nccl> &getNccl() const { return nccl; }

  /// The `number`-th group of this rank from now on meets an error when it is queued.
  void failGroup(int rank, int64_t number);
  /// The `number`-th group of this rank from now on meets an error while it runs: it ends, and its memory is as it was.
  void failTransfer(int rank, int64_t number);
  /// The `number`-th send of any rank from now on is refused.
  void failSend(int64_t number);
  /// Bytes sent so far, by all ranks.
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
    bool isActive = false; ///< Its stream has come to it.
  };
  struct Clique;
  struct Comm {
    Clique *clique = nullptr;
    int rank = 0, gpu = 0;
    bool isAborted = false, isConnected = false;
    NcclResult state = kNcclInProgress;
    int patience = 0; ///< Questions until what is under way is done.
    std::shared_ptr<Group> queueing;
    std::vector<std::shared_ptr<Group>> unfinished; ///< In order.
    std::set<int> named;                            ///< Peers that its groups have named.
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
  std::map<int, int64_t> failures, transferFailures; ///< By rank, for communicators to come.
  int64_t sendsToFailure = 0;
  uint64_t nextId = 1;
  int64_t sentBytes = 0;
};

} // namespace spmd::cuda
