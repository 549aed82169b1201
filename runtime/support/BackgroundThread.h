//===- BackgroundThread.h - a thread of the runtime's own -------*- C++ -*-===//
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace spmd {

/// A thread of the runtime that the application does not see. It handles no signals except its own faults, because
/// signals are for the application's threads. Its name is visible in debuggers and `top -H`. It is joined before its
/// owner is destroyed: the owner asks the body to return, and declares the thread after the members that the body uses.
class BackgroundThread {
public:
  /// No thread yet.
  BackgroundThread() = default;
  /// Starts `body`, which must not throw. The system shows the first 15 bytes of the name. Throws spmd::Error if the
  /// system cannot start a thread; the caller's signal mask is unchanged in either case.
  BackgroundThread(const std::string &name, std::function<void()> body);
  BackgroundThread(BackgroundThread &&) noexcept = default;
  /// Joins the thread that it holds.
  BackgroundThread &operator=(BackgroundThread &&other) noexcept;
  ~BackgroundThread() { join(); }

  /// Whether there is a thread that has not been joined, whether it has ended or not.
  bool joinable() const { return thread.joinable(); }
  /// Returns when the body has returned; at once if there is no thread.
  void join();
  /// Whether the calling thread is this thread.
  bool isCurrent() const { return thread.get_id() == std::this_thread::get_id(); }
  /// Lets the thread run without an owner; join is not possible any more.
  void detach() { thread.detach(); }

private:
  std::thread thread;
};

} // namespace spmd
