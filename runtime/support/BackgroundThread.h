//===- BackgroundThread.h - a thread of the runtime's own -------*- C++ -*-===//
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace spmd {

/// A thread that the application knows nothing of. It takes no signals, for they are for the application's threads
/// (what a fault of its own raises is no such signal); it bears a name that debuggers and `top -H` show; and it has
/// ended when its owner goes. The owner asks the body to return before that, and declares the thread after what the
/// body uses.
class BackgroundThread {
public:
  /// No thread yet.
  BackgroundThread() = default;
  /// Starts `body`, which must not throw. Of the name the system shows the first 15 bytes. Throws spmd::Error where the
  /// system gives no thread; the caller's signals are as before in either case.
  BackgroundThread(const std::string &name, std::function<void()> body);
  BackgroundThread(BackgroundThread &&) noexcept = default;
  /// Joins the thread that it has.
  BackgroundThread &operator=(BackgroundThread &&other) noexcept;
  ~BackgroundThread() { join(); }

  /// Whether there is a thread, at its end or not, that has not been joined.
  bool joinable() const { return thread.joinable(); }
  /// Returns when the body has; at once where there is no thread.
  void join();
  /// Whether it is the thread that asks.
  bool isCurrent() const { return thread.get_id() == std::this_thread::get_id(); }
  /// From now on nobody waits for it.
  void detach() { thread.detach(); }

private:
  std::thread thread;
};

} // namespace spmd
