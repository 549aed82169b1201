//===- SignalWatch.h - signals that a thread waits for ----------*- C++ -*-===//
#pragma once

#include "runtime/support/BackgroundThread.h"
#include "runtime/support/SignalInlet.h"

#include <functional>

namespace spmd {

/// While it lives, a thread of its own takes these signals and calls `onSignal`. To be made on the main thread before
/// there are others: those that come later inherit that they take none.
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

/// Ends this process as the signal does that nobody takes.
[[noreturn]] void endBy(int signal);

} // namespace spmd
