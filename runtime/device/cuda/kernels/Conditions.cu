//===- Conditions.cu - the conditions of a graph's loops and branches -----===//
//
// A conditional node of a CUDA graph runs its own graph depending on a number, which a kernel before it sets: see "CUDA
// Graphs: Conditional Graph Nodes" of the CUDA C++ Programming Guide. Each kernel takes one block, of which one thread
// works. `stop` ends every loop when it is not 0: nothing else can end one that does not end by itself. It is in the
// host's memory (LoopStop.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Intrinsics.h"

/// Provided by the driver, which translates this module.
extern "C" __attribute__((device)) void cudaGraphSetConditional(unsigned long long condition, unsigned value);

namespace spmd::cuda {

/// A read of the host's memory takes about a microsecond, an iteration of a short loop some: such a loop looks at
/// `stop` rarely. `looked` is when a loop has looked last, in nanoseconds.
constexpr uint64_t kLookNs = 100'000;
SPMD_DEVICE bool isStopped(const volatile uint32_t *stop, uint64_t *looked) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (now - *looked < kLookNs)
    return false;
  if (*stop != 0) // The loop around this one looks, too.
    return true;
  *looked = now;
  return false;
}

/// The condition of a `while`.
SPMD_KERNEL(1)
spmd_set_while(uint64_t condition, const uint8_t *predicate, const volatile uint32_t *stop, uint64_t *looked) {
  if (threadIndex() == 0)
    cudaGraphSetConditional(condition, *predicate != 0 && !isStopped(stop, looked));
}

/// The condition of one branch of an `if`: that the predicate is `wanted`, 0 or 1.
SPMD_KERNEL(1) spmd_set_if(uint64_t condition, const uint8_t *predicate, uint64_t wanted) {
  if (threadIndex() == 0)
    cudaGraphSetConditional(condition, (*predicate != 0) == (wanted != 0));
}

/// The condition of a `for` over [lower, upper). `number` holds the current iteration's number, and so does `counter`,
/// if it is not null; `counter` is not written behind the last iteration, where its memory may hold another value.
SPMD_KERNEL(1)
spmd_set_for(uint64_t condition, int32_t *number, int32_t *counter, uint64_t isFirst, int64_t lower, int64_t upper,
             const volatile uint32_t *stop, uint64_t *looked) {
  if (threadIndex() != 0)
    return;
  int64_t next = isFirst ? lower : static_cast<int64_t>(*number) + 1;
  bool enters = next < upper && !isStopped(stop, looked);
  if (enters) {
    *number = static_cast<int32_t>(next);
    if (counter)
      *counter = static_cast<int32_t>(next);
  }
  cudaGraphSetConditional(condition, enters);
}

} // namespace spmd::cuda
