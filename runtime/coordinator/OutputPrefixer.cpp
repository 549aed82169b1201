#include "runtime/coordinator/OutputPrefixer.h"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace spmd::coordinator {

constexpr size_t maxLine = 65536;

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

void OutputPrefixer::flush(std::string_view piece) {
  writeAll(target, (atLineStart ? prefix : "") + std::string(piece));
  atLineStart = piece.back() == '\n';
}

void OutputPrefixer::add(std::string_view bytes) {
  for (;;) {
    size_t end = bytes.find('\n');
    if (end == std::string_view::npos)
      break;
    line += bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
    flush(line);
    line.clear();
  }
  line += bytes;
  if (line.size() >= maxLine) {
    flush(line);
    line.clear();
  }
}

void OutputPrefixer::finish() {
  if (!line.empty())
    flush(line + "\n");
  else if (!atLineStart)
    flush("\n");
  line.clear();
}

} // namespace spmd::coordinator
