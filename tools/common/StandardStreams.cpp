#include "tools/common/StandardStreams.h"

#include <csignal>
#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

namespace spmdc {

void prepareWriting() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) // open takes the lowest number; the wrong mode makes every use an error (EBADF).
      (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

} // namespace spmdc
