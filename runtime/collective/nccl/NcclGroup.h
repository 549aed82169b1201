//===- NcclGroup.h - the GPUs of a mesh, connected by NCCL ------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Health.h"
#include "runtime/collective/nccl/Nccl.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace spmd::cuda {

/// One NCCL communicator per local device. A rank is a position of the device list.
class NcclGroup {
public:
  /// `health` may be null.
  NcclGroup(std::shared_ptr<const Nccl> nccl, Health *health, const NcclId &id, int64_t size);
  NcclGroup(const NcclGroup &) = delete;
  NcclGroup &operator=(const NcclGroup &) = delete;

  const Nccl &getNccl() const { return *nccl; }

  /// Returns the communicator of a rank. The first call of each rank waits for all other ranks; call it on that
  /// device's thread, with its GPU current. Throws spmd::Error at the limit, or the verdict when the job is over; then
  /// all local devices give up.
  NcclComm join(int64_t rank, std::chrono::milliseconds timeout);

  /// Returns when all calls so far are queued in their streams: work that the caller queues there next comes after
  /// them. Throws as `check`, and the verdict when the job is over.
  void waitUntilQueued(NcclComm comm) const;

  /// Throws an error that NCCL reported since the last call, or the reason why a device of this process gave up. Any
  /// thread may call it.
  void check(NcclComm comm) const;

  /// Makes all local devices give up; each aborts its own communicator.
  void abort(const std::string &cause);
  /// Ends all transfers of a rank; its communicator cannot be used any more. Call it on that device's thread.
  void abortRank(int64_t rank) noexcept;

private:
  NcclComm connect(int64_t rank, std::chrono::milliseconds timeout) const;
  /// The state of a communicator. Throws if it has none any more.
  NcclResult ask(NcclComm comm) const;
  /// Ends a communicator. NCCL waits for what the GPU does, without a limit; this returns after two seconds, and leaves
  /// the rest to a thread.
  void end(NcclComm comm) const noexcept;

  std::shared_ptr<const Nccl> nccl;
  Health *const health;
  const NcclId id;
  const int64_t size;
  mutable std::mutex mutex;
  std::vector<NcclComm> comms; ///< By rank; null: not local, or not joined.
  std::atomic<bool> isAborted{false};
  std::string cause;
};

} // namespace spmd::cuda
