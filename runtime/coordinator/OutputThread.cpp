#include "runtime/coordinator/OutputThread.h"

#include <cerrno>
#include <string_view>

#include <poll.h>
#include <unistd.h>

namespace spmd::coordinator {

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

OutputThread::OutputThread(int target)
    : texts("spmd-output", [this, target](const std::string &bytes) {
        writeAll(target, bytes);
        unwrittenBytes -= bytes.size();
      }) {}

void OutputThread::add(std::string bytes) {
  unwrittenBytes += bytes.size();
  texts.add(std::move(bytes));
}

} // namespace spmd::coordinator
