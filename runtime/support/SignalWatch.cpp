//===- SignalWatch.cpp - a thread that handles signals --------------------===//

#include "runtime/support/SignalWatch.h"
#include "runtime/support/Error.h"

#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace spmd {

SignalWatch::SignalWatch(const std::vector<int> &numbers, std::function<void(int)> onSignal)
    : inlet(numbers), stop(eventfd(0, EFD_CLOEXEC)) {
  if (!stop)
    throw Error(std::string("cannot watch for signals: ") + systemErrorText(errno));
  thread = BackgroundThread("spmd-signals", [this, onSignal = std::move(onSignal)] {
    for (;;) {
      pollfd polled[] = {{stop.get(), POLLIN, 0}, {inlet.get(), POLLIN, 0}};
      if (::poll(polled, 2, -1) < 0)
        continue;
      if (polled[0].revents != 0)
        return;
      if (int number = inlet.take())
        onSignal(number);
    }
  });
}

void endBy(int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  ::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

SignalWatch::~SignalWatch() {
  uint64_t one = 1;
  (void)!::write(stop.get(), &one, sizeof one);
  thread.join();
}

} // namespace spmd
