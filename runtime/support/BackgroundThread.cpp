//===- BackgroundThread.cpp - a thread of the runtime's own ---------------===//

#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Error.h"
#include "runtime/support/FloatEnvironment.h"

#include <csignal>
#include <pthread.h>
#include <system_error>
#include <utility>

namespace spmd {
namespace {

constexpr size_t kMaxName = 15; ///< Longest name of a thread on Linux.

/// While it lives, all signals of the calling thread are blocked. A thread that starts meanwhile inherits that forever.
class NoSignals {
public:
  NoSignals() {
    sigset_t taken;
    sigfillset(&taken);
    // A blocked fault would kill the process before a debugger's or a sanitizer's handler sees it.
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
      sigdelset(&taken, fault);
    pthread_sigmask(SIG_BLOCK, &taken, &old);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &old, nullptr); }
  NoSignals(const NoSignals &) = delete;
  NoSignals &operator=(const NoSignals &) = delete;

private:
  sigset_t old;
};

} // namespace

BackgroundThread::BackgroundThread(const std::string &name, std::function<void()> body) {
  NoSignals noSignals;
  try {
    thread = std::thread([shown = name.substr(0, kMaxName), body = std::move(body)] {
      pthread_setname_np(pthread_self(), shown.c_str());
      DefaultFloatEnvironment environment; // A thread inherits the environment of the one that starts it.
      body();
    });
  } catch (const std::system_error &error) {
    throw Error("cannot start the thread " + name + ": " + error.code().message() +
                "; `ulimit -u`, the container's limit of processes, or memory may be used up");
  }
}

BackgroundThread &BackgroundThread::operator=(BackgroundThread &&other) noexcept {
  join();
  thread = std::move(other.thread);
  return *this;
}

void BackgroundThread::join() {
  if (thread.joinable())
    thread.join();
}

} // namespace spmd
