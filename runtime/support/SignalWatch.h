//===- SignalWatch.h - a thread that handles signals ------------*- C++ -*-===//
#pragma once

#include "runtime/support/BackgroundThread.h"
#include "runtime/support/SignalInlet.h"

#include <functional>

namespace spmd {

/// While it lives, a thread of its own receives these signals and calls `onSignal`. Create it on the main thread before
/// other threads: later threads inherit the blocked signals.
class SignalWatch {
public:
  SignalWatch(const std::vector<int> &numbers, std::function<void(int)> onSignal);
  ~SignalWatch();
  SignalWatch(const SignalWatch &) = delete;
  SignalWatch &operator=(const SignalWatch &) = delete;

private:
  SignalInlet inlet;
  UniqueFd stop; ///< Readable when the thread should end.
  BackgroundThread thread;
};

/// Ends this process with the default action of the signal.
[[noreturn]] void endBy(int signal);

} // namespace spmd
