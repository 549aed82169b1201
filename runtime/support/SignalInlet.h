//===- SignalInlet.h - signals as a file descriptor -------------*- C++ -*-===//
#pragma once

#include "runtime/support/Process.h"

#include <csignal>
#include <initializer_list>
#include <vector>

namespace spmd {

/// While it lives, these signals do not interrupt the calling thread but are queued here. Signals that are ignored
/// (nohup, background jobs) stay ignored. All other threads must have them blocked.
class SignalInlet {
public:
  explicit SignalInlet(const std::vector<int> &numbers);
  SignalInlet(std::initializer_list<int> numbers) : SignalInlet(std::vector<int>(numbers)) {}
  ~SignalInlet();
  SignalInlet(const SignalInlet &) = delete;
  SignalInlet &operator=(const SignalInlet &) = delete;

  /// Readable when a signal has arrived.
  int get() const { return fd.get(); }
  /// Returns the next signal, or 0.
  int take();

private:
  UniqueFd fd;
  sigset_t old;
};

} // namespace spmd
