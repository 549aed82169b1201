//===- SignalInlet.cpp - signals as a file descriptor ---------------------===//

#include "runtime/support/SignalInlet.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <cerrno>
#include <cstring>

#include <sys/signalfd.h>
#include <unistd.h>

namespace spmd {

SignalInlet::SignalInlet(const std::vector<int> &numbers) {
  sigset_t taken;
  sigemptyset(&taken);
  for (int number : numbers) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&taken, number);
  }
  fd = UniqueFd(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd)
    throw Error(std::string("cannot watch for signals: ") + systemErrorText(errno));
  pthread_sigmask(SIG_BLOCK, &taken, &old);
}

SignalInlet::~SignalInlet() { pthread_sigmask(SIG_SETMASK, &old, nullptr); }

int SignalInlet::take() {
  signalfd_siginfo info = {};
  return ::read(fd.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

} // namespace spmd
