//===- NcclGroup.cpp - the GPUs of a mesh, connected by NCCL --------------===//

#include "runtime/collective/nccl/NcclGroup.h"

#include "runtime/support/CountText.h"
#include "runtime/support/Error.h"

#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace spmd::cuda {

NcclGroup::NcclGroup(std::shared_ptr<const Nccl> nccl, Health *health, const NcclId &id, int64_t size)
    : nccl(std::move(nccl)), health(health), id(id), size(size), comms(static_cast<size_t>(size), nullptr) {}

NcclComm NcclGroup::join(int64_t rank, std::chrono::milliseconds timeout) {
  {
    std::lock_guard lock(mutex);
    if (isAborted.load(std::memory_order_relaxed))
      throw Error(cause);
    if (NcclComm known = comms[static_cast<size_t>(rank)])
      return known;
  }
  try {
    NcclComm comm = connect(rank, timeout);
    std::lock_guard lock(mutex);
    return comms[static_cast<size_t>(rank)] = comm;
  } catch (const std::exception &error) {
    abort(error.what()); // This process's other devices wait for this one.
    throw;
  }
}

NcclComm NcclGroup::connect(int64_t rank, std::chrono::milliseconds timeout) const {
  NcclComm comm = nullptr;
  NcclConfig config;
  nccl->check(nccl->CommInitRankConfig(&comm, static_cast<int>(size), id, static_cast<int>(rank), &config),
              "connecting GPUs by NCCL");
  auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    NcclResult state = kNcclSuccess;
    NcclResult asked = nccl->CommGetAsyncError(comm, &state);
    if (asked == kNcclSuccess && state == kNcclSuccess)
      return comm;
    bool isGivenUp = isAborted.load(std::memory_order_acquire);
    bool isOver = health && health->isOver(), isLate = std::chrono::steady_clock::now() > deadline;
    bool goesOn = asked == kNcclSuccess && state == kNcclInProgress;
    if (goesOn && !isOver && !isLate && !isGivenUp) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1)); // Connecting takes about 100 ms.
      continue;
    }
    end(comm);
    if (isOver)
      health->throwVerdict();
    if (isGivenUp)
      throw Error(cause);
    if (goesOn)
      throw Error("NCCL has not connected " + countText(size, "GPU") + " in " + std::to_string(timeout.count()) +
                  " ms; NCCL_DEBUG=INFO shows what it waits for");
    nccl->check(asked != kNcclSuccess ? asked : state, "connecting GPUs by NCCL (NCCL_DEBUG=INFO shows more)");
  }
}

void NcclGroup::end(NcclComm comm) const noexcept {
  constexpr std::chrono::seconds kLongest(2);
  try {
    auto promise = std::make_shared<std::promise<void>>();
    std::future<void> isEnded = promise->get_future();
    std::thread([nccl = nccl, comm, promise] {
      nccl->CommAbort(comm);
      promise->set_value();
    }).detach();
    isEnded.wait_for(kLongest);
  } catch (const std::exception &) { // There is no further thread.
    nccl->CommAbort(comm);
  }
}

NcclResult NcclGroup::ask(NcclComm comm) const {
  // Another thread may end the communicator, and NCCL completes a group when it is asked.
  std::lock_guard lock(mutex);
  if (isAborted.load(std::memory_order_relaxed))
    throw Error(cause);
  NcclResult state = kNcclSuccess;
  nccl->check(nccl->CommGetAsyncError(comm, &state), "NCCL");
  return state;
}

void NcclGroup::check(NcclComm comm) const { nccl->check(ask(comm), "NCCL"); }

void NcclGroup::waitUntilQueued(NcclComm comm) const {
  for (;;) {
    NcclResult state = ask(comm);
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
  NcclComm comm = nullptr;
  {
    std::lock_guard lock(mutex);
    comm = std::exchange(comms[static_cast<size_t>(rank)], nullptr);
  }
  if (comm)
    end(comm);
}

} // namespace spmd::cuda
