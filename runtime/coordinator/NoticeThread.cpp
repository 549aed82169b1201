#include "runtime/coordinator/NoticeThread.h"

#include "runtime/support/Error.h"

namespace spmd::coordinator {

void NoticeThread::add(Notice notice) {
  if (!isHeard || notices.countWaiting() >= capacity)
    return;
  try {
    notices.add(std::move(notice));
  } catch (const Error &) {
    // There is no thread to be had, and a notice is not worth the job.
  }
}

} // namespace spmd::coordinator
