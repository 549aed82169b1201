#include "runtime/coordinator/OutputThread.h"

#include <cerrno>
#include <string_view>

#include <poll.h>
#include <unistd.h>

namespace spmd::coordinator {

/// Writes all bytes. Returns 0, or the errno of the failure: children go on even if the reader of our output is gone.
static int writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
    } else if (errno == EAGAIN) {
      pollfd wait = {fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno == EPIPE ? 0 : errno;
    }
  }
  return 0;
}

OutputThread::OutputThread(int target)
    : texts("spmd-output", [this, target](const std::string &bytes) {
        if (int reason = writeAll(target, bytes))
          problem = reason;
        unwrittenBytes -= bytes.size();
      }) {}

void OutputThread::add(std::string bytes) {
  unwrittenBytes += bytes.size();
  texts.add(std::move(bytes));
}

} // namespace spmd::coordinator
