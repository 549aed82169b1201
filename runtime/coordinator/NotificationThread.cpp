#include "runtime/coordinator/NotificationThread.h"

#include "runtime/support/Error.h"

namespace spmd::coordinator {

void NotificationThread::add(Notice notice) {
  if (!isHeard || notices.countWaiting() >= capacity)
    return;
  try {
    notices.add(std::move(notice));
  } catch (const Error &) {
    // No thread is available, and a notification is not worth ending the job.
  }
}

} // namespace spmd::coordinator
