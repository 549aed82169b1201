//===- GuardedCopy.cpp - reads of memory that may be missing --------------===//

#include "runtime/support/GuardedCopy.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace spmd {
namespace {

/// Where this thread's copy continues after a SIGBUS; null: no copy is running.
thread_local sigjmp_buf *volatile resume = nullptr;
struct sigaction previous;

void onBusError(int number, siginfo_t *info, void *context) {
  if (resume) {
    // A jump out of the handler leaves the signal blocked. Unblocking it here is cheaper than saving the mask in
    // sigsetjmp, which would cost each copy a system call.
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    siglongjmp(*resume, 1);
  }
  if (previous.sa_flags & SA_SIGINFO)
    previous.sa_sigaction(number, info, context);
  else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)
    sigaction(number, &previous, nullptr); // The instruction runs again, and ends the process.
  else
    previous.sa_handler(number);
}

bool install() {
  struct sigaction action{};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  return sigaction(SIGBUS, &action, &previous) == 0;
}

} // namespace

bool copyGuarded(void *target, const void *source, size_t size) {
  static const bool isInstalled = install();
  (void)isInstalled;
  sigjmp_buf here;
  if (sigsetjmp(here, /*savemask=*/0) != 0) {
    resume = nullptr;
    return false;
  }
  resume = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(target, source, size);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  resume = nullptr;
  return true;
}

} // namespace spmd
