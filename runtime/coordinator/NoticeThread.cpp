#include "runtime/coordinator/NoticeThread.h"

#include "runtime/support/Error.h"

namespace spmd::coordinator {

NoticeThread::~NoticeThread() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  thread.join();
}

void NoticeThread::add(Notice notice) {
  if (!tell)
    return;
  {
    std::lock_guard lock(mutex);
    if (waiting.size() == capacity)
      return;
    waiting.push_back(std::move(notice));
  }
  changed.notify_all();
  if (thread.joinable())
    return;
  try {
    thread = BackgroundThread("spmd-notices", [this] { run(); });
  } catch (const Error &) {
    // There is no thread to be had, and a notice is not worth the job.
  }
}

void NoticeThread::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ending || !waiting.empty(); });
    if (waiting.empty())
      return;
    Notice notice = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    tell(notice);
    lock.lock();
  }
}

} // namespace spmd::coordinator
