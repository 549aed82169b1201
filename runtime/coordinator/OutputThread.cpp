#include "runtime/coordinator/OutputThread.h"

#include <cerrno>
#include <string_view>

#include <poll.h>
#include <unistd.h>

namespace spmd::coordinator {

constexpr size_t capacity = size_t(1) << 20;

/// Errors are dropped: who reads our output is gone, but the children go on.
static void writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
    } else if (errno == EAGAIN) {
      pollfd wait = {fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

OutputThread::~OutputThread() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  thread.join();
}

void OutputThread::add(std::string bytes) {
  {
    std::lock_guard lock(mutex);
    waitingBytes += bytes.size();
    waiting.push_back(std::move(bytes));
  }
  changed.notify_all();
  if (!thread.joinable())
    thread = BackgroundThread("spmd-output", [this] { run(); });
}

bool OutputThread::isFull() const {
  std::lock_guard lock(mutex);
  return waitingBytes >= capacity;
}

void OutputThread::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ending || !waiting.empty(); });
    if (waiting.empty())
      return;
    std::string bytes = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    writeAll(target, bytes);
    lock.lock();
    waitingBytes -= bytes.size();
  }
}

} // namespace spmd::coordinator
