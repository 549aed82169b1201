//===- NcclGroup.cpp - the GPUs of a mesh, connected by NCCL --------------===//

#include "runtime/collective/nccl/NcclGroup.h"

#include "runtime/support/CountText.h"
#include "runtime/support/Error.h"

#include <thread>

namespace spmd::cuda {

NcclGroup::NcclGroup(std::shared_ptr<const Nccl> nccl, Health *health, const NcclId &id, int64_t size)
    : nccl(std::move(nccl)), health(health), id(id), size(size), comms(static_cast<size_t>(size), nullptr) {}

NcclComm NcclGroup::join(int64_t rank, std::chrono::milliseconds timeout) {
  {
    std::lock_guard lock(mutex);
    if (NcclComm known = comms[static_cast<size_t>(rank)])
      return known;
  }
  NcclComm comm = nullptr;
  NcclConfig config;
  nccl->check(nccl->CommInitRankConfig(&comm, static_cast<int>(size), id, static_cast<int>(rank), &config),
              "connecting GPUs by NCCL");
  auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    NcclResult state = kNcclSuccess;
    NcclResult asked = nccl->CommGetAsyncError(comm, &state);
    if (asked == kNcclSuccess && state == kNcclSuccess)
      break;
    bool isOver = health && health->isOver(), isLate = std::chrono::steady_clock::now() > deadline;
    bool goesOn = asked == kNcclSuccess && state == kNcclInProgress;
    if (goesOn && !isOver && !isLate) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1)); // Connecting takes about 100 ms.
      continue;
    }
    nccl->CommAbort(comm);
    if (isOver)
      health->throwVerdict();
    if (goesOn)
      throw Error("NCCL has not connected " + countText(size, "GPU") + " in " + std::to_string(timeout.count()) +
                  " ms; NCCL_DEBUG=INFO shows what it waits for");
    nccl->check(asked != kNcclSuccess ? asked : state, "connecting GPUs by NCCL (NCCL_DEBUG=INFO shows more)");
  }
  std::lock_guard lock(mutex);
  comms[static_cast<size_t>(rank)] = comm;
  return comm;
}

void NcclGroup::check(NcclComm comm) const {
  // Another thread may end the communicator.
  std::lock_guard lock(mutex);
  if (isAborted.load(std::memory_order_relaxed))
    throw Error(cause);
  NcclResult state = kNcclSuccess;
  nccl->check(nccl->CommGetAsyncError(comm, &state), "NCCL");
  nccl->check(state, "NCCL");
}

void NcclGroup::waitUntilQueued(NcclComm comm) const {
  for (;;) {
    if (isAborted.load(std::memory_order_acquire))
      check(comm);
    NcclResult state = kNcclSuccess;
    nccl->check(nccl->CommGetAsyncError(comm, &state), "NCCL");
    if (state == kNcclSuccess)
      return;
    nccl->check(state, "NCCL");
    if (health && health->isOver())
      health->throwVerdict();
    std::this_thread::yield();
  }
}

void NcclGroup::abort(const std::string &why) {
  std::lock_guard lock(mutex);
  if (isAborted.load())
    return;
  cause = why;
  isAborted.store(true, std::memory_order_release);
}

void NcclGroup::abortRank(int64_t rank) noexcept {
  std::lock_guard lock(mutex);
  NcclComm &comm = comms[static_cast<size_t>(rank)];
  if (comm)
    nccl->CommAbort(comm);
  comm = nullptr;
}

} // namespace spmd::cuda
